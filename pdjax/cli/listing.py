"""`--list_configs`: the configs there are, and the question each answers."""

import textwrap
from pathlib import Path

from pdjax.cli import configfile


def listing() -> str:
  """Configs of the current folder's `configs/`, then the package's own."""
  folders = [Path("configs"), *configfile.packaged_folders()]
  parts, seen = [], set()
  for folder in folders:
    if not folder.is_dir() or folder.resolve() in seen:
      continue
    seen.add(folder.resolve())
    parts += [_entry(path) for path in configfile.configs_in(folder)]
  return "\n\n".join(parts) if parts else "no configs found"


def _entry(path: Path) -> str:
  text = configfile.question(path) or "(no docstring)"
  return f"{path.stem}\n{textwrap.indent(text, '  ')}"
