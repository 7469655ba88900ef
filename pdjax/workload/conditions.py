"""What a workload says about itself: its part of a run's conditions.

Plain values fit for JSON. Counts say how many requests a rule changed.
"""

import numpy as np

from pdjax import config
from pdjax.reads import arrival_of
from pdjax.window import lasting
from pdjax.workload.columns import Columns
from pdjax.workload.jsonrows import CHARACTERS_A_TOKEN
from pdjax.workload.lengths import Draw
from pdjax.workload.presets import PRESETS
from pdjax.workload.traces import Trace


def of_synthetic(
    workload: config.Workload, prompt: Draw, output: Draw
) -> dict:
  """The two laws of length and what their bounds changed."""
  return {
      "source": "synthetic",
      "prompt": _law(workload.prompt, prompt),
      "output": _law(workload.output, output),
      "lengths": workload.lengths,
      "notes": [PRESETS[workload.lengths].note] if workload.lengths else [],
  }


def of_trace(
    workload: config.Workload, trace: Trace, columns: Columns
) -> dict:
  """The file and how `columns` were taken from it."""
  return {
      "source": trace.source,
      "source_sha256": trace.sha256,
      "sample": workload.path is None,
      "source_requests": trace.rows,
      "late_rows": trace.late_rows,
      "bad_rows": trace.bad_rows,
      "unusable_rows": trace.unusable_rows,
      "notes": [
          *_left_out(trace), *_order(trace), *_guessed(trace),
          *_times(workload, columns),
      ],
  }


def of_rules(
    workload: config.Workload, long: Columns, columns: Columns
) -> dict:
  """Arrival, scales and cuts; `long` becomes `columns` by the cuts."""
  arrival = arrival_of(workload)
  return {
      "kind": workload.kind,
      "num_requests": len(columns),
      "skip_requests": workload.skip_requests,
      "seed": workload.seed,
      "arrival": arrival,
      "rate_per_s": workload.rate,
      "arrival_cv": workload.arrival_cv if arrival == "gamma" else None,
      "users": _users(workload),
      "start_s": workload.start_s,
      "end_s": workload.end_s,
      "jitter_s": workload.jitter_s,
      "time_scale": workload.time_scale,
      "length_scale": workload.length_scale,
      "prefix_block_tokens": columns.prefix_block_tokens,
      "turns": _turns(workload, columns),
      "cuts": _cuts(workload, long, columns),
      "max_tokens": _max_tokens(workload, columns),
      "stop": workload.stop,
      "stop_rule": _stop_rule(workload, columns),
      "protocol": workload.protocol,
      "window": _window(workload),
  }


def _users(workload: config.Workload) -> dict | None:
  """How the users of a loop behave; None where there is no loop."""
  arrival = arrival_of(workload)
  if arrival == "closed":
    who = {"concurrency": workload.concurrency}
  elif arrival == "semi_open":
    who = {"stay_probability": workload.stay_probability}
  else:
    return None
  return who | {"think_time_s": workload.think_time_s}


def _turns(workload: config.Workload, columns: Columns) -> dict | None:
  """Of conversations; None where every request stands alone."""
  if workload.turns is None or columns.session is None:
    return None
  return {
      "kind": workload.turns.kind,
      "conversations": int(np.unique(columns.session).size),
      "mean": len(columns) / int(np.unique(columns.session).size),
      "think_time_s": workload.think_time_s,
      "rule": (
          "the next turn comes after the last has ended, however it ended; the"
          " answer of one that did not finish is replaced by other tokens"
      ),
  }


def _window(workload: config.Workload) -> dict | None:
  """The measured seconds and those before; None where all is measured."""
  if workload.protocol != "steady":
    return None
  duration_s, warmup_s = lasting(workload)
  return {"duration_s": duration_s, "warmup_s": warmup_s}


def _law(law: config.Lengths, drawn: Draw) -> dict:
  if law.kind == "fixed":
    return {"kind": law.kind, "tokens": int(law.mean)}
  if law.kind == "empirical":
    return {"kind": law.kind, "values": len(law.values)}
  return {
      "kind": law.kind,
      "mean": law.mean,
      "cv": law.cv,
      "low": law.low,
      "high": law.high,
      "raised_to_low": drawn.raised_to_low,
      "cut_to_high": drawn.cut_to_high,
  }


def _left_out(trace: Trace) -> list[str]:
  lines = []
  if trace.bad_rows:
    lines.append(f"{trace.bad_rows} malformed rows of the trace skipped")
  if trace.unusable_rows:
    lines.append(
        f"{trace.unusable_rows} rows of the trace are no request (failed, or"
        " without an answer)"
    )
  return lines


def _guessed(trace: Trace) -> list[str]:
  if not trace.texts:
    return []
  return [
      f"lengths of texts are guessed: {CHARACTERS_A_TOKEN} characters a token"
  ]


def _order(trace: Trace) -> list[str]:
  if not trace.late_rows:
    return []
  return [
      f"{trace.late_rows} of {trace.rows} rows of the trace were out of"
      " time order; sorted, equal times in file order"
  ]


def _times(workload: config.Workload, columns: Columns) -> list[str]:
  if arrival_of(workload) != "trace":
    return ["lengths are the trace's, arrival times are not"]
  distinct = np.unique(columns.arrival_ps).size
  if distinct == len(columns):
    return []
  return [
      f"{len(columns)} requests share {distinct} arrival times: the trace's"
      " clock is coarse"
  ]


def _cuts(
    workload: config.Workload, long: Columns, columns: Columns
) -> dict:
  pairs = {
      "max_prompt_tokens": (workload.max_prompt_tokens, long.prompt_tokens),
      "max_output_tokens": (workload.max_output_tokens, long.output_tokens),
  }
  cuts = {
      name: {"limit": limit, "requests_cut": int((tokens > limit).sum())}
      for name, (limit, tokens) in pairs.items()
      if limit is not None
  }
  if workload.turns is not None and "max_prompt_tokens" in cuts:
    cuts["max_prompt_tokens"]["turns_left_out"] = len(long) - len(columns)
  return cuts


def _max_tokens(workload: config.Workload, columns: Columns) -> dict:
  declared = workload.max_tokens
  if declared is None:
    return {"declared": None, "rule": "declared length equals true length"}
  return {
      "declared": declared,
      "rule": f"every request declares {declared} tokens",
      "requests_cut": int((columns.output_tokens > declared).sum()),
  }


def _stop_rule(workload: config.Workload, columns: Columns) -> str:
  if workload.stop == "eos":
    return "answers end at an end token; known lengths are only upper bounds"
  rule = "end tokens are ignored; every answer has its true length"
  cut = _max_tokens(workload, columns).get("requests_cut")
  if not cut:
    return rule
  asked = f"max_tokens={workload.max_tokens}"
  return f"{rule}, but {cut} of {len(columns)} are cut to {asked}"
