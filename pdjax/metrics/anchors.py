"""When the first token counts as out, and what follows from it.

Three anchors are kept for every request, because disaggregation can release
the prefill's token at once or hold it until the decode worker has the cache,
and papers differ. A request whose cache never moves has nothing to wait for:
all anchors agree on it.

Units: `_ns` integer nanoseconds.
"""

import numpy as np

ANCHORS = ("prefill_sampled", "kv_landed", "first_decode")
"""When the first token may be said to be out; see docs/metrics.md."""

ANCHOR_OF = {"at_prefill": "prefill_sampled", "at_handoff": "kv_landed"}
"""The anchor that each `strategy.first_token` releases at."""

Column = np.ndarray


def release_ns(columns: dict[str, Column], anchor: str) -> Column:
  """When the first token is out: at an anchor, or when prefill made it.

  A request that never moves has nothing to wait for, so all anchors agree.
  """
  made_ns = columns["prefill_sampled_ns"]
  if anchor == "prefill_sampled":
    return made_ns
  landed_ns, second_ns = columns["kv_landed_ns"], columns["first_decode_ns"]
  moved = ~np.ma.getmaskarray(landed_ns)
  if anchor == "first_decode":
    moved &= ~np.ma.getmaskarray(second_ns)
    return np.ma.where(moved, second_ns, made_ns)
  return np.ma.where(moved, np.ma.maximum(landed_ns, made_ns), made_ns)


def anchored(columns: dict[str, Column], anchor: str) -> dict[str, Column]:
  """The columns that depend on when the first token is out."""
  arrival_ns = columns["arrival_ns"]
  first_ns = release_ns(columns, anchor)
  itl_first_ns = columns["first_decode_ns"] - first_ns
  last_ns = columns["e2el_ns"] + arrival_ns
  later = columns["output_tokens"] - 1
  spread = np.ma.masked_array(last_ns - first_ns, later < 1)
  longest = np.ma.filled(columns["itl_later_max_ns"], -1)
  return {
      "first_token_ns": first_ns,
      "ttft_ns": first_ns - arrival_ns,
      **{
          f"ttft_{name}_ns": release_ns(columns, name) - arrival_ns
          for name in ANCHORS
      },
      "itl_first_ns": itl_first_ns,
      "itl_max_ns": np.ma.maximum(itl_first_ns, longest),
      "tpot_ns": spread / np.maximum(later, 1),
  }
