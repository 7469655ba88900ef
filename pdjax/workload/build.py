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
from pdjax.request import Request
from pdjax.workload import arrivals, conditions, lengths, traces
from pdjax.workload.columns import Columns
from pdjax.workload.mistakes import arrival_of, mistakes
from pdjax.workload.traces import Trace
from pdjax.workload.workload import Workload, content_sha256

SYNTHETIC_REQUESTS = 100

_ARRIVALS, _PROMPTS, _OUTPUTS = range(3)


def build(workload: config.Workload) -> Workload:
  """The requests that `workload` describes.

  Raises:
    ConfigError: every mistake in the configuration and in the trace.
  """
  errors = mistakes(workload)
  trace = None
  if workload.kind != "synthetic":
    try:
      trace = traces.read(workload.kind, workload.path)
      errors += [line for fit in FITS for line in fit(workload, trace)]
    except ConfigError as error:
      errors += error.errors
  if errors:
    raise ConfigError(errors)
  if trace:
    return _from_trace(workload, trace)
  return _synthetic(workload)


def _too_few(workload: config.Workload, trace: Trace) -> Iterator[str]:
  skip, wanted = workload.skip_requests, workload.num_requests
  count = len(trace.columns)
  left = count - skip
  has = f"{trace.source} has {count} requests"
  if left < 1:
    yield f"workload.skip_requests={skip}: {has}, none would be left"
  elif wanted is not None and wanted > left:
    after = f", {left} after skipping {skip}" if skip else ""
    yield f"workload.num_requests={wanted}: {has}{after}"


def _too_slow(workload: config.Workload, trace: Trace) -> Iterator[str]:
  if arrival_of(workload) != "trace":
    return
  if trace.columns.arrival_ps[-1] * workload.time_scale > arrivals.LIMIT_PS:
    yield (
        f"workload.time_scale={workload.time_scale!r}: the trace would last"
        f" longer than the limit of {arrivals.LIMIT_TEXT}"
    )


FITS = (_too_few, _too_slow)
"""What is asked of a trace that it does not have, a line each."""


def _synthetic(workload: config.Workload) -> Workload:
  count = workload.num_requests or SYNTHETIC_REQUESTS
  prompt = lengths.draw(workload.prompt, count, _rng(workload, _PROMPTS))
  output = lengths.draw(workload.output, count, _rng(workload, _OUTPUTS))
  columns = Columns(
      arrival_ps=_drawn_arrivals(workload, count),
      prompt_tokens=prompt.tokens,
      output_tokens=output.tokens,
  )
  source = conditions.of_synthetic(workload, prompt, output)
  return _declared(workload, columns, source)


def _from_trace(workload: config.Workload, trace: Trace) -> Workload:
  columns = trace.columns.part(workload.skip_requests, workload.num_requests)
  if arrival_of(workload) == "trace":
    columns = columns.stretched(workload.time_scale)
  else:
    columns = dataclasses.replace(
        columns, arrival_ps=_drawn_arrivals(workload, len(columns))
    )
  source = conditions.of_trace(workload, trace, columns)
  return _declared(workload, columns.scaled(workload.length_scale), source)


def _drawn_arrivals(workload: config.Workload, count: int) -> np.ndarray:
  rng, rate = _rng(workload, _ARRIVALS), workload.rate or 0.0
  match arrival_of(workload):
    case "poisson":
      return arrivals.poisson(count, rate, rng)
    case "gamma":
      return arrivals.gamma(count, rate, workload.arrival_cv, rng)
    case "constant":
      return arrivals.constant(count, rate)
    case _:
      return arrivals.all_at_once(count)


def _rng(workload: config.Workload, stream: int) -> np.random.Generator:
  return np.random.default_rng(
      np.random.SeedSequence(workload.seed, spawn_key=(stream,))
  )


def _declared(
    workload: config.Workload, long: Columns, source: dict
) -> Workload:
  """Cuts lengths, declares them, and writes down what was done."""
  columns = long.cut(workload.max_prompt_tokens, workload.max_output_tokens)
  declared = columns.output_tokens
  if workload.max_tokens is not None:
    declared = np.full(len(columns), workload.max_tokens, dtype=np.int64)
  known = np.minimum(columns.output_tokens, declared)
  if workload.stop == "eos":
    known = declared
  requests = _requests(columns, declared)
  outputs = tuple(known.tolist())
  return Workload(
      requests,
      outputs,
      {
          "content_sha256": content_sha256(requests, outputs),
          **conditions.of_rules(workload, long, columns),
          **source,
      },
  )


def _requests(columns: Columns, declared: np.ndarray) -> tuple[Request, ...]:
  rows = zip(
      columns.arrival_ps.tolist(),
      columns.prompt_tokens.tolist(),
      declared.tolist(),
      columns.prefix_ids or ((),) * len(columns),
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
      )
      for id, (arrival_ps, prompt_tokens, max_tokens, prefix_ids) in enumerate(
          rows
      )
  )
