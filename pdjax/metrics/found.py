"""What prefix caches found in a run, and what that spared.

Found where prompts are computed: those tokens are not computed. Found where
they are handed off to: their pages are not sent. Units: `_tokens` tokens,
`_bytes` bytes.
"""

import numpy as np

from pdjax.metrics.requests import RequestTable


def figures(
    table: RequestTable, page_tokens: int
) -> dict[str, int | float | None]:
  """Flat names for the summary, of the requests in `table`."""
  handed = ~np.ma.getmaskarray(table["kv_landed_ns"])
  prompt_tokens, reused = table["prompt_tokens"], table["reused_tokens"]
  spared_tokens = int(table["spared_tokens"][handed].sum())
  host_tokens = int(table["host_tokens"].sum())
  moves = table.journal.moves
  moved_tokens = int(moves.pages.sum()) * page_tokens
  token_bytes = _ratio(int(moves.moved_bytes.sum()), moved_tokens)
  return {
      "conversations": len(np.unique(np.ma.compressed(table["session"]))),
      "reused_tokens": int(reused.sum()),
      "prefix_hit_rate": _ratio(int(reused.sum()), int(prompt_tokens.sum())),
      "spared_tokens": spared_tokens,
      "spared_bytes": round((token_bytes or 0) * spared_tokens),
      "handoff_prefix_hit_rate": _ratio(
          spared_tokens, int(prompt_tokens[handed].sum())
      ),
      "host_tokens": host_tokens,
      "host_hit_share": _ratio(
          host_tokens, int(reused.sum()) + spared_tokens
      ),
      "repeated_tokens": int(table["repeated_tokens"].sum()),
  }


def _ratio(part: float, whole: float) -> float | None:
  return part / whole if whole else None
