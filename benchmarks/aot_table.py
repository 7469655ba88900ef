"""The matrix of compiled cases as a table in Markdown.

A row holds kernels whose cells say the same; a cell the pages of each head
width that are sound, and those that are not with the reason.
"""

from collections.abc import Mapping

from benchmarks import aot
from benchmarks.cases import Case
from pdjax.aot.compile import Compiled

BEGIN, END = "<!-- aot_matrix -->", "<!-- /aot_matrix -->"

MARKS = {
    "tpu": (BEGIN, END),
    "cuda": ("<!-- aot_matrix_gpu -->", "<!-- /aot_matrix_gpu -->"),
}
"""Around the table of each platform."""

Found = Mapping[Case, Compiled]


def replaced(
    document: str, text: str, begin: str = BEGIN, end: str = END
) -> str:
  """The document with the text between its marks.

  >>> replaced(f"a {BEGIN} old {END} b", "new").split()
  ['a', '<!--', 'aot_matrix', '-->', 'new', '<!--', '/aot_matrix', '-->', 'b']
  """
  before, _, rest = document.partition(begin)
  return f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"


def table(found: Found) -> str:
  """Types x kernels, by target, and what takes most temporaries."""
  targets = list(dict.fromkeys(case.target for case in found))
  rows: dict[tuple[str, ...], list[str]] = {}
  for types, kernel in dict.fromkeys((_types(x), x.kernel) for x in found):
    says = tuple(_cell(found, kernel, types, target) for target in targets)
    rows.setdefault((types, *says), []).append(f"`{kernel}`")
  lines = [
      f"| queries / cache | kernels | {' | '.join(targets)} |",
      "|---|---|" + "---|" * len(targets),
  ]
  for (types, *says), kernels in sorted(rows.items()):
    lines.append(f"| {types} | {', '.join(kernels)} | {' | '.join(says)} |")
  return "\n".join([*lines, "", _largest(found)])


def _types(case: Case) -> str:
  return f"{case.dtype} / {case.kv_dtype}"


def _cell(found: Found, kernel: str, types: str, target: str) -> str:
  """`64: 16 32; 128: 16 (64 does not compile)`: pages of each head width."""
  widths: dict[int, dict[int, Compiled]] = {}
  for case, made in found.items():
    if (case.kernel, _types(case), case.target) == (kernel, types, target):
      widths.setdefault(case.head_dim, {})[case.page_tokens] = made
  return "; ".join(
      f"{width}: {_pages(pages)}" for width, pages in sorted(widths.items())
  )


def _pages(pages: Mapping[int, Compiled]) -> str:
  return " ".join(
      str(page) if aot.sound(made) else f"({page} {_fault(made)})"
      for page, made in sorted(pages.items())
  )


def _fault(made: Compiled) -> str:
  if made.refused:
    return "does not compile"
  if made.whole_copies:
    return f"copies the cache {made.whole_copies} times"
  return f"has temporaries of {aot.share(made):.0%}"


def _largest(found: Found) -> str:
  case, made = max(found.items(), key=lambda item: aot.share(item[1]))
  sound = sum(map(aot.sound, found.values()))
  return (
      f"{sound} of {len(found)} sound. Most temporaries: {made.temp_bytes:,}"
      f" bytes, {aot.share(made):.2%} of the cache ({case})."
  )
