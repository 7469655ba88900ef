"""Documents name what exists: paths, commands, fields."""

import dataclasses
import importlib.util
import re
from pathlib import Path

import pytest

from pdjax import config

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))
]
SECTIONS = {
    field.name: {inner.name for inner in dataclasses.fields(field.type)}
    for field in dataclasses.fields(config.Run)
}

documents = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=[str(d.relative_to(ROOT)) for d in DOCUMENTS]
)


@documents
def test_paths_exist(document):
  tops = r"(?:tests|docs|pdjax|examples|kernels|\.ci)/"
  named = re.findall(rf"`({tops}[\w./-]+)`", document.read_text())
  assert [path for path in named if not (ROOT / path).exists()] == []


@documents
def test_commands_exist(document):
  modules = set(re.findall(r"python3? -m (pdjax[\w.]*)", document.read_text()))
  modules = {module.rstrip(".") for module in modules}
  assert [m for m in modules if importlib.util.find_spec(m) is None] == []


@documents
def test_config_fields_exist(document):
  sections = "|".join(SECTIONS)
  named = re.findall(
      rf"(?<![\w/.])({sections})\.([a-z_]+)\b(?![./(])", document.read_text()
  )
  files = {"py", "md"}
  assert [
      f"{section}.{name}" for section, name in named
      if name not in SECTIONS[section] | files
  ] == []


def test_the_documents_are_found():
  assert {"README.md", "invariants.md"} <= {d.name for d in DOCUMENTS}
