"""The matrix of compiled cases as a table in Markdown.

A row holds the types and head widths whose cells say the same; a cell the
pages that are sound, those that are not with the reason, and the largest share
of the cache that temporaries take.
"""

from collections.abc import Iterable, Mapping

from benchmarks import aot
from benchmarks.cases import Case
from pdjax.aot.compile import Compiled

BEGIN, END = "<!-- aot_matrix -->", "<!-- /aot_matrix -->"


def replaced(document: str, text: str) -> str:
  """The document with the text between its marks.

  >>> replaced(f"a {BEGIN} old {END} b", "new").split()
  ['a', '<!--', 'aot_matrix', '-->', 'new', '<!--', '/aot_matrix', '-->', 'b']
  """
  before, _, rest = document.partition(BEGIN)
  return f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}"


def table(found: Mapping[Case, Compiled]) -> str:
  """Kernel x types x head width, by target."""
  targets = list(dict.fromkeys(case.target for case in found))
  cells: dict[tuple[str, str, int], tuple[str, ...]] = {}
  for case in found:
    key = (case.kernel, f"{case.dtype} / {case.kv_dtype}", case.head_dim)
    if key not in cells:
      cells[key] = tuple(_cell(found, *key, target) for target in targets)
  lines = [
      f"| kernel | queries / cache | heads | {' | '.join(targets)} |",
      "|---|---|---|" + "---|" * len(targets),
  ]
  for (kernel, widths, says), types in _types_of(_widths_of(cells)).items():
    lines.append(
        f"| `{kernel}` | {', '.join(types)} | {widths} | {' | '.join(says)} |"
    )
  return "\n".join(lines)


def _widths_of(cells) -> dict[tuple[str, str, tuple[str, ...]], list[str]]:
  """Head widths whose cells are alike."""
  alike: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
  for (kernel, types, width), says in cells.items():
    alike.setdefault((kernel, types, says), []).append(str(width))
  return alike


def _types_of(alike) -> dict[tuple[str, str, tuple[str, ...]], list[str]]:
  """Types whose rows are alike."""
  rows: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
  for (kernel, types, says), widths in alike.items():
    rows.setdefault((kernel, ", ".join(widths), says), []).append(types)
  return rows


def _cell(
    found: Mapping[Case, Compiled], kernel: str, types: str, width: int,
    target: str,
) -> str:
  here = {
      case.page_tokens: made for case, made in found.items()
      if (case.kernel, case.target, case.head_dim) == (kernel, target, width)
      and f"{case.dtype} / {case.kv_dtype}" == types
  }
  bad = [f"{page}: {_fault(x)}" for page, x in here.items() if not aot.sound(x)]
  sound = [page for page, made in here.items() if aot.sound(made)]
  return "; ".join([_pages(sound), *bad] if sound else bad)


def _pages(pages: Iterable[int]) -> str:
  return "pages " + " ".join(map(str, pages))


def _fault(made: Compiled) -> str:
  if made.refused:
    return "does not compile"
  if made.whole_copies:
    return f"{made.whole_copies} copies of the cache"
  return f"temporaries {aot.share(made):.0%} of the cache"
