"""Documents name what exists: paths, commands, fields, a rule that runs."""

import ast
import dataclasses
import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdjax import config, ranges
from pdjax.cli.experiment import main
from pdjax.fieldtypes import hints_of, section_of
from pdjax.simulate.chip import Chip
from pdjax.simulate.chips import FIGURES
from pdjax.simulate.cluster import cluster_of
from pdjax.sweep import jsonfile
from pdjax.workload import mistakes

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


# docs/config.md: the schema's fields, each with its default and docstring. ----


@dataclasses.dataclass(frozen=True)
class Field:
  default: object
  docstring: str


def schema_fields(
    section: type, made: object, prefix: str = ""
) -> Iterator[tuple[str, Field]]:
  """Fields by dotted path; `made` is the section with its defaults."""
  docstrings = docstrings_of(section)
  for field in dataclasses.fields(section):
    path, hint = prefix + field.name, hints_of(section)[field.name]
    default = getattr(made, field.name, dataclasses.MISSING)
    inner = section_of(hint)
    if inner is not None:
      yield from schema_fields(inner, default or inner(), path + ".")
      continue
    yield path, Field(default, docstrings[field.name])
    if path == "cluster.pools":
      pool = config.Pool(role="C", count=1)
      yield from schema_fields(config.Pool, pool, path + ".")
    if path == "faults.events":
      fault = config.Fault(kind="cancelled")
      yield from schema_fields(config.Fault, fault, path + ".")


def docstrings_of(section: type) -> dict[str, str]:
  """The strings below a dataclass's fields, in one line each."""
  body = ast.parse(inspect.getsource(section)).body[0].body
  return {
      field.target.id: " ".join(ast.literal_eval(below.value).split())
      for field, below in zip(body, body[1:], strict=False)
      if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr)
  } | {
      # A section is described by its own fields.
      name: "" for name, hint in hints_of(section).items() if section_of(hint)
  }


def shown(path: str, default: object) -> str:
  """A default as the table has it."""
  if path in (
      "cluster.pools.role", "cluster.pools.count", "faults.events.kind"
  ):
    return "must be said"
  if isinstance(default, str):
    return f"`{default}`"
  if isinstance(default, float):
    return f"{default:g}"
  return str(default).lower()


@pytest.fixture(scope="module")
def fields():
  return dict(schema_fields(config.Run, config.Run()))


@pytest.fixture(scope="module")
def rows():
  """docs/config.md: (default, meaning) by field."""
  lines = (ROOT / "docs" / "config.md").read_text().splitlines()
  table = [line[2:-2].split(" | ") for line in lines if line.startswith("| `")]
  assert {len(row) for row in table} == {5}
  return {row[0].strip("`"): (row[2], row[3]) for row in table}


def test_config_md_has_every_field_and_no_other(fields, rows):
  assert sorted(rows) == sorted(fields)


def test_config_md_says_what_the_schema_says(fields, rows):
  assert rows == {
      path: (shown(path, field.default), field.docstring)
      for path, field in fields.items()
  }


def test_config_md_says_the_ranges():
  lines = (ROOT / "docs" / "config.md").read_text().splitlines()
  table = [line[2:-2].split(" | ") for line in lines if line.startswith("| `")]
  values = {row[0].strip("`"): row[1] for row in table}
  ends = {path: (r.low, r.high) for path, r in ranges.RANGES.items()}
  for part in (mistakes._COUNTS, mistakes._SCALES):
    ends |= {f"workload.{name}": pair for name, pair in part.items()}
  for path, pair in ends.items():
    numbers = re.findall(r"\d[\d.e+-]*", values[path].replace(",", ""))
    assert [float(number) for number in numbers] == pytest.approx(pair), path


# docs/chips.md: what a config may say of a chip. ------------------------------


@pytest.fixture(scope="module")
def figures():
  """docs/chips.md: (unit, meaning, needed for) by figure."""
  lines = (ROOT / "docs" / "chips.md").read_text().splitlines()
  table = [line[2:-2].split(" | ") for line in lines if line.startswith("| `")]
  return {row[0].strip("`"): row[1:] for row in table}


UNITS = {
    "_flops": "FLOP/s", "_ops": "operations/s", "_bytes": "bytes", "_w": "W",
    "hbm_bytes_per_s": "bytes/s", "_bytes_per_s": "bytes/s, one direction",
    "_chips": "chips", "_usd_per_hour": "USD an hour",
}


def test_chips_md_has_every_figure_with_its_unit_and_meaning(figures):
  assert list(figures) == list(FIGURES)
  docstrings = docstrings_of(Chip)
  for name, (unit, meaning, _) in figures.items():
    assert meaning == docstrings[name]
    ends = [end for end in UNITS if name.endswith(end)]
    assert [unit] == [UNITS[end] for end in ends[:1]] or not ends, name


def test_chips_md_says_what_is_always_needed(figures):
  always = [n for n, row in figures.items() if row[2].startswith("always")]
  said = {name: 10**13 for name in always}

  def serve(told):
    cluster = config.Cluster(chip="mine", chips={"mine": told})
    return cluster_of(config.Run(cluster=cluster))

  assert serve(said).pool_pages
  for name in always:
    rest = {other: said[other] for other in always if other != name}
    with pytest.raises(config.ConfigError, match=f"mine.{name}: needed"):
      serve(rest)


def test_the_example_of_chips_md_is_well_described():
  text = (ROOT / "docs" / "chips.md").read_text()
  (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
  told = ast.literal_eval(f"{{{block}}}")["cluster"]
  for name in told["chips"]:
    chips = {"mine": told["chips"][name]}
    for tp in (1, 4):
      cluster = config.Cluster(chip="mine", chips=chips, split="1P1D", tp=tp)
      strategy = config.Strategy(kind="disaggregated")
      assert cluster_of(config.Run(cluster=cluster, strategy=strategy))


# docs/policies.md: the rule in the text. --------------------------------------

RULE_CONFIG = """
def get_config():
  return {
      "cluster": {"chip": "h100-sxm", "split": "2C"},
      "strategy": {
          "kind": "my_rule:WholePrompts", "options": {"max_prompts": 3},
      },
      "workload": {
          "rate": 40.0,
          "num_requests": 40,
          "prompt": {"kind": "lognormal", "mean": 600},
          "output": {"mean": 12.0},
      },
  }
"""


def blocks(name: str, mark: str) -> list[str]:
  """The fenced blocks of a document that stand below `<!-- mark -->`."""
  fenced = rf"<!-- {mark} -->\n```\w+\n(.*?)```"
  return re.findall(fenced, (ROOT / name).read_text(), re.DOTALL)


def test_the_rule_of_policies_md_serves(tmp_path, monkeypatch, capsys):
  (rule,) = blocks("docs/policies.md", "rule")
  assert rule.count("\n") <= 40
  (tmp_path / "my_rule.py").write_text(rule)
  (tmp_path / "mine.py").write_text(RULE_CONFIG)
  monkeypatch.chdir(tmp_path)
  monkeypatch.syspath_prepend(str(tmp_path))

  status = main(["--config=mine"])

  assert (status, capsys.readouterr().err) == (0, "")
  (row,) = jsonfile.read(tmp_path / "results" / "mine" / "summary.json")
  assert row["completed"] == 40
