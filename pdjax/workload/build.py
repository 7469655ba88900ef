"""Builds a workload from its configuration.

The result depends on the workload's configuration alone, never on strategy,
cluster or backend, so rivals get the same requests. Arrivals, prompt lengths
and answer lengths are drawn from independent streams of one seed: changing one
law leaves the draws of the others as they were.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from pdjax import config
from pdjax.config import ConfigError
from pdjax.reads import SYNTHETIC_REQUESTS, arrival_of, timed
from pdjax.request import Request
from pdjax.unknown import known
from pdjax.window import window_of
from pdjax.workload import (
  arrivals,
  conditions,
  lengths,
  patience,
  sessions,
  timing,
  traces,
)
from pdjax.workload.arrivals import PS_PER_S
from pdjax.workload.columns import Columns
from pdjax.workload.kept import Ask
from pdjax.workload.mistakes import MAX_SECONDS, mistakes
from pdjax.workload.presets import PRESETS
from pdjax.workload.streams import Stream, rng_of
from pdjax.workload.traces import Trace
from pdjax.workload.workload import Workload, content_sha256


def build(workload: config.Workload) -> Workload:
  """The requests that `workload` describes.

  Raises:
    ConfigError: every mistake in the configuration and in the trace.
  """
  errors = mistakes(workload)
  trace = None
  if workload.kind != "synthetic":
    try:
      trace = traces.read(workload.kind, workload.path, ask_of(workload))
      errors += [line for fit in FITS for line in fit(workload, trace)]
    except ConfigError as error:
      errors += error.errors
  if errors:
    raise ConfigError(errors)
  built = from_trace(workload, trace) if trace else _synthetic(workload)
  if errors := list(_window_errors(workload, built)):
    raise ConfigError(errors)
  return built


def ask_of(workload: config.Workload) -> Ask:
  """What of a trace a workload needs; fields of unknown value ask for all."""
  count, skip = workload.num_requests, workload.skip_requests
  start_s, end_s = workload.start_s, workload.end_s
  if not all(map(known, (count, skip, start_s, end_s))):
    return Ask(skip_bad=workload.skip_bad_rows is True)
  counted = count is not None and count >= 1 and skip >= 0 and not start_s
  return Ask(
      first=skip + (count or 0) if counted else None,
      end_ps=(
          None if end_s is None else round(min(end_s, MAX_SECONDS) * PS_PER_S)
      ),
      skip_bad=workload.skip_bad_rows is True,
  )


def _too_few(workload: config.Workload, trace: Trace) -> Iterator[str]:
  skip, wanted = workload.skip_requests, workload.num_requests
  count, when = trace.rows, _part_of(workload)
  if when:
    arrival_ps = trace.columns.arrival_ps  # up to end_s
    count = int((arrival_ps >= workload.start_s * PS_PER_S).sum())
  left = count - skip
  has = f"{trace.source} has {count} requests{when}"
  if trace.rows and not count:
    yield f"{_emptied_by(workload)}: {has}, of {trace.rows} in all"
  elif left < 1:
    yield f"workload.skip_requests={skip}: {has}, none would be left"
  elif wanted is not None and wanted > left:
    after = f", {left} after skipping {skip}" if skip else ""
    yield f"workload.num_requests={wanted}: {has}{after}"


def _part_of(workload: config.Workload) -> str:
  """The part of a trace that is taken, in words."""
  start_s, end_s = workload.start_s, workload.end_s
  start = f" from start_s={start_s:g}" if start_s else ""
  return start + (f" to end_s={end_s:g}" if end_s is not None else "")


def _emptied_by(workload: config.Workload) -> str:
  """The field that leaves nothing of a trace: its start, where one is said."""
  name = "start_s" if workload.start_s else "end_s"
  return f"workload.{name}={getattr(workload, name):g}"


def _untimed(workload: config.Workload, trace: Trace) -> Iterator[str]:
  if arrival_of(workload) != "trace":
    return
  if not trace.timed:
    yield (
        f"workload.arrival='trace': {trace.source} says no times; allowed:"
        " poisson, gamma, constant, all_at_once, closed, semi_open"
    )
  elif workload.rate is not None and not trace.span_ps:
    yield (
        f"workload.rate={workload.rate!r}: all requests of {trace.source} come"
        " at one time, which no scale spreads"
    )


def _too_slow(workload: config.Workload, trace: Trace) -> Iterator[str]:
  if arrival_of(workload) != "trace":
    return
  if trace.columns.arrival_ps[-1] * workload.time_scale > arrivals.LIMIT_PS:
    yield (
        f"workload.time_scale={workload.time_scale!r}: the trace would last"
        f" longer than the limit of {arrivals.LIMIT_TEXT}"
    )


FITS = (_too_few, _untimed, _too_slow)
"""What is asked of a trace that it does not have, a line each."""


def _window_errors(
    workload: config.Workload, built: Workload
) -> Iterator[str]:
  """What the window asks of requests whose times are known."""
  window = built.window
  if window is None or built.behaviour is not None:
    return
  arrivals_ps = [request.arrival_ps for request in built.requests]
  if workload.kind != "synthetic" and arrivals_ps[-1] < window.end_ps:
    yield (
        f"workload.duration_s: the trace's {len(arrivals_ps)} requests last"
        f" {arrivals_ps[-1] / PS_PER_S:g} s, warm-up and window"
        f" {window.end_ps / PS_PER_S:g} s"
    )
  elif not any(map(window.holds, arrivals_ps)):
    yield (
        "workload.duration_s: no request arrives in the window, from"
        f" {window.begin_ps / PS_PER_S:g} to {window.end_ps / PS_PER_S:g} s"
    )


def _synthetic(workload: config.Workload) -> Workload:
  if workload.lengths is not None:
    preset = PRESETS[workload.lengths]
    workload = dataclasses.replace(
        workload, prompt=preset.prompt, output=preset.output
    )
  arrival_ps, session = _arriving(
      workload, workload.num_requests or SYNTHETIC_REQUESTS
  )
  count = len(arrival_ps)
  prompt, output = (
      lengths.draw(law, count, rng_of(workload, stream))
      for law, stream in (
          (workload.prompt, Stream.PROMPTS), (workload.output, Stream.OUTPUTS),
      )
  )
  columns = Columns(
      arrival_ps=arrival_ps,
      prompt_tokens=prompt.tokens,
      output_tokens=output.tokens,
      session=session,
  )
  source = conditions.of_synthetic(workload, prompt, output)
  return _declared(workload, columns, source)


def _arriving(
    workload: config.Workload, count: int
) -> tuple[np.ndarray, np.ndarray | None]:
  """Times, and the conversation of each request where there are any."""
  if workload.turns is None:
    return _arrivals(workload, count), None
  return sessions.arriving(workload, count, _arrivals)


def _arrivals(
    workload: config.Workload, count: int, at_most: int | None = None
) -> np.ndarray:
  """Times that are drawn: `count` of them, or as many as a window needs."""
  window = window_of(workload)
  if window and timed(workload):
    return timing.drawn_until(workload, window.horizon_ps, at_most)
  return timing.drawn(workload, count)


def from_trace(workload: config.Workload, trace: Trace) -> Workload:
  """The requests of a trace that has been read and fits the config."""
  columns = trace.columns.since(round(workload.start_s * PS_PER_S))
  columns = columns.part(workload.skip_requests, workload.num_requests)
  window = window_of(workload)
  if arrival_of(workload) == "trace":
    columns = _paced(workload, columns)
    if window:
      columns = columns.before(window.horizon_ps)
  else:
    arrival_ps = _arrivals(workload, len(columns), at_most=len(columns))
    columns = dataclasses.replace(
        columns.part(0, len(arrival_ps)), arrival_ps=arrival_ps
    )
  source = conditions.of_trace(workload, trace, columns)
  return _declared(workload, columns.scaled(workload.length_scale), source)


def _paced(workload: config.Workload, columns: Columns) -> Columns:
  """The trace's own arrivals, at the pace that is asked for."""
  if workload.rate is not None:
    columns = columns.at_rate(workload.rate)
  return columns.stretched(workload.time_scale).jittered(
      round(workload.jitter_s * PS_PER_S), rng_of(workload, Stream.JITTER)
  )


def _declared(
    workload: config.Workload, long: Columns, source: dict
) -> Workload:
  """Cuts lengths, declares them, and writes down what was done."""
  columns = long.cut(workload.max_prompt_tokens, workload.max_output_tokens)
  if columns.session is not None:
    columns = sessions.continued(workload, long)
  declared = columns.output_tokens
  if workload.max_tokens is not None:
    declared = np.full(len(columns), workload.max_tokens, dtype=np.int64)
  known = np.minimum(columns.output_tokens, declared)
  cut = np.flatnonzero(known < columns.output_tokens).tolist()
  if workload.stop == "eos":
    known, cut = declared, []
  requests = _requests(
      columns, declared, patience.deadlines_ps(workload, columns)
  )
  outputs = tuple(known.tolist())
  behaviour = timing.behaviour_of(workload, len(columns))
  cancels = patience.cancel_after_ps(workload, columns)
  return Workload(
      requests,
      outputs,
      {
          "content_sha256": content_sha256(
              requests, outputs, behaviour, cancels
          ),
          **conditions.of_rules(workload, long, columns),
          **patience.conditions(workload, requests, cancels),
          **source,
      },
      behaviour,
      window_of(workload),
      cancels,
      frozenset(cut),
  )


def _requests(
    columns: Columns, declared: np.ndarray, deadlines_ps: list[int | None]
) -> tuple[Request, ...]:
  rows = zip(
      columns.arrival_ps.tolist(),
      columns.prompt_tokens.tolist(),
      declared.tolist(),
      columns.prefix_ids or ((),) * len(columns),
      deadlines_ps,
      (None,) * len(columns) if columns.session is None
      else columns.session.tolist(),
      strict=True,
  )
  return tuple(
      Request(
          id=id,
          arrival_ps=arrival_ps,
          prompt_tokens=prompt_tokens,
          max_tokens=max_tokens,
          prefix_ids=prefix_ids,
          prefix_block_tokens=columns.prefix_block_tokens if prefix_ids else 0,
          deadline_ps=deadline_ps,
          session=session,
      )
      for id, (
          arrival_ps, prompt_tokens, max_tokens, prefix_ids, deadline_ps,
          session,
      ) in enumerate(rows)
  )
