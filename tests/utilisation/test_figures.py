"""Three figures of utilisation, on simulated logs and without peaks."""

import dataclasses

import numpy as np
import pytest

from pdjax.cli.utilised import utilised, workers_of
from pdjax.metrics.requests import request_table, table_of
from pdjax.metrics.shapes import read_shapes
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.simulate.cluster import cluster_of
from pdjax.utilisation.figures import FIGURES
from pdjax.workload.build import build
from tests.metrics.scripted import hand_made, simulated


@pytest.fixture(scope="module", params=["1P1D", "2C"])
def served(request):
  kind = "disaggregated" if "P" in request.param else "chunked"
  more = {} if "P" in request.param else {"chunk_size": 128}
  run, log, _, _ = simulated(request.param, kind, **more)
  return run, log, table_of(log, run)


def named(row, figure):
  return {k: v for k, v in row.items() if k.startswith(f"{figure}[")}


def test_peaks_that_the_steps_exceed_are_not_theirs(served):
  """As with a calibration of one device priced beside the sheet of another."""
  run, _, table = served
  like = {"like": run.cluster.chip, "hbm_bytes_per_s": 1e7}
  slow = dataclasses.replace(
      run, cluster=dataclasses.replace(
          run.cluster, chip="slow", chips={"slow": like}
      )
  )
  row, true = utilised(slow, table, None), utilised(run, table, None)
  assert named(row, "mfu") == named(true, "mfu")
  assert set(named(row, "mbu").values()) == {None}
  assert None not in named(true, "mbu").values()
  told = row["utilisation_unknown"]
  assert "steps did more than the peaks of 'slow' allow (mbu[" in told
  assert told.endswith("): they are those of other devices")
  assert "utilisation_unknown" not in true


def test_by_hand():
  """Contexts of the log of `scripted.hand_made`, run by run."""
  shapes = read_shapes(request_table(hand_made()).journal)
  # Request 1's chunks, request 0's prompt, a decode, request 0's decodes, a
  # recomputation with two prompts beside it, a decode.
  assert shapes.tokens.tolist() == [2, 10, 2, 1, 1, 14, 1]
  assert shapes.rows.tolist() == [1, 1, 1, 1, 1, 3, 1]
  assert shapes.phase.tolist() == [
      "prefill", "prefill", "prefill", "decode", "decode", "prefill", "decode"
  ]
  order = np.argsort(shapes.chunks.run, kind="stable")
  assert shapes.chunks.context_tokens[order].tolist() == [0, 0, 2, 0, 0, 0]
  order = np.argsort(shapes.decodes.run, kind="stable")
  assert shapes.decodes.context_tokens[order].tolist() == [5, 11, 7]


def test_shapes_are_what_the_simulator_priced():
  """Each shape as the backend asked its cost model for it."""
  run, _, _, _ = simulated("1C", "continuous", tight=True)
  workload, cluster = build(run.workload), cluster_of(run)
  priced = []
  step = cluster.costs[0].step
  cluster.costs[0].step = lambda shape: priced.append(shape) or step(shape)
  log = serve(
      policy_of(run),
      cluster.backend(workload.clients(), workload.output_tokens),
      world_of(run, cluster.pool_pages),
  )
  shapes = read_shapes(table_of(log, run).journal)
  assert len(shapes) == len(priced)
  for i, shape in enumerate(priced):
    mine = shapes.chunks.run == i
    assert sorted(shape.prefill) == sorted(zip(
        shapes.chunks.tokens[mine].tolist(),
        shapes.chunks.context_tokens[mine].tolist(), strict=True,
    ))
    contexts = shapes.decodes.context_tokens[shapes.decodes.run == i]
    assert sorted(contexts.tolist()) == sorted(shape.decode_contexts)
    assert (shape.tokens, shape.rows) == (shapes.tokens[i], shapes.rows[i])
    assert shapes.steps[i] <= shape.repeats


def test_each_pool_and_phase_has_three_figures(served):
  run, _, table = served
  row = utilised(run, table, [])
  keys = {name.partition("[")[2] for name in named(row, "mfu")}
  split = run.cluster.split == "1P1D"
  assert keys == (
      {"P prefill]", "D decode]"} if split
      else {"C prefill]", "C mixed]", "C decode]"}
  )
  for figure in FIGURES:
    values = named(row, figure)
    assert len(values) == len(keys)
    assert all(0 < value < 1 for value in values.values())
  assert "utilisation_unknown" not in row


def test_prefill_is_compute_and_decode_is_memory(served):
  run, _, table = served
  row = utilised(run, table, [])
  role = "P" if run.cluster.split == "1P1D" else "C"
  last = "D" if role == "P" else "C"
  assert row[f"mfu[{role} prefill]"] > 5 * row[f"mfu[{last} decode]"]
  assert row[f"mbu[{last} decode]"] > row[f"mbu[{role} prefill]"]
  for name, mfu in named(row, "mfu").items():
    assert row[name.replace("mfu", "compute_busy")] >= mfu


def test_a_split_repeats_the_weights():
  rows = {}
  for split, kind in (("1C", "continuous"), ("1P1D", "disaggregated")):
    run, log, _, _ = simulated(split, kind)
    rows[split] = utilised(run, table_of(log, run), [])
  one = rows["1C"]["weight_bytes_held"]
  assert one == pytest.approx(16.06e9, rel=0.01)  # Llama-3-8B in bf16
  assert rows["1C"]["weight_bytes_repeated"] == 0
  assert rows["1P1D"]["weight_bytes_held"] == 2 * one
  assert rows["1P1D"]["weight_bytes_repeated"] == one


@pytest.fixture
def as_measured(served):
  """The same log as though real devices had made it."""
  run, _, table = served
  backend = dataclasses.replace(run.backend, kind="jax")
  return dataclasses.replace(run, backend=backend), table


def test_a_cpu_has_no_peaks_and_the_reason_is_said(as_measured):
  run, table = as_measured
  row = utilised(run, table, ["cpu", "cpu"])
  for figure in FIGURES:
    assert set(named(row, figure).values()) == {None}
  assert row["utilisation_unknown"] == (
      "not known: peak operations and bytes a second of 'cpu'"
  )
  assert all(rate > 0 for rate in named(row, "needed_flops_per_s").values())


def test_a_known_device_has_its_data_sheets_peaks(as_measured, served):
  run, table = as_measured
  row = utilised(run, table, ["NVIDIA H100 80GB HBM3"] * 2)
  assert row == utilised(served[0], table, [])


def test_peaks_that_are_given_are_taken(as_measured):
  run, table = as_measured
  engine = dataclasses.replace(run.engine, device_flops_per_s=1e15)
  given = dataclasses.replace(run, engine=engine)
  row = utilised(given, table, ["cpu"])
  for name, mfu in named(row, "mfu").items():
    rate = row[name.replace("mfu", "needed_flops_per_s")]
    assert mfu == pytest.approx(rate / 1e15)
  assert set(named(row, "mbu").values()) == {None}
  assert "peak bytes a second" in row["utilisation_unknown"]


def test_workers_alike_are_one(served):
  workers = workers_of(served[0], [])
  assert len({w.role for w in workers}) == len(set(workers))
