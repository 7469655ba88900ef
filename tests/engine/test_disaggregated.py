"""Prefill and decode on different workers: pages move, tokens stay."""

import dataclasses
import threading

import jax
import pytest

from pdjax import events
from pdjax.config import Pool, pages_for
from pdjax.engine.crew import EngineError
from tests.engine.engine_session import (
    check_tokens,
    engine_of,
    run_of,
    serve_on,
    workload,
)


@pytest.fixture(name="truth", scope="module")
def _truth():
  run = run_of("1C", "chunked", chunk_size=32)
  with engine_of(run) as backend:
    yield serve_on(backend, run_of("1C"))


@pytest.fixture(name="engine", scope="module")
def _engine():
  with engine_of(run_of("2P2D", "disaggregated")) as backend:
    yield backend


def test_hand_offs_keep_tokens(engine, truth):
  run = run_of("2P2D", "disaggregated")
  served = serve_on(engine, run, workload(gap_ps=0))
  assert served.same_tokens(truth)
  assert engine.compiles_in_window == 0
  check_tokens(engine, workload())
  assert len({event.target for event in served.log.of(events.Transfer)}) == 2


def test_short_prompts_stay_on_decode_workers_and_keep_tokens(engine):
  run = run_of("2P2D", "conditional")
  strategy = dataclasses.replace(run.strategy, local_prompt_tokens=20)
  run = dataclasses.replace(run, strategy=strategy)
  served = serve_on(engine, run, workload(gap_ps=0))
  check_tokens(engine, workload())
  assert engine.compiles_in_window == 0
  decode_side = {e.request for e in served.log.of(events.Route) if e.worker > 1}
  assert decode_side == {
      r.id for r in workload().requests if r.prompt_tokens <= 20
  }
  assert len(served.log.of(events.Transfer)) == 4


def test_every_transfer_reports_its_stages_and_bytes(engine):
  served = serve_on(engine, run_of("2P2D", "disaggregated"))
  started = served.log.of(events.Transfer)
  assert len(started) == sum(
      request.max_tokens > 1 and served.tokens[request.id][1:] != []
      for request in workload().requests
  )
  for transfer in started:
    story = [
        event for event in served.log.of(
            events.TransferProgressed, events.TransferEnded
        )
        if event.transfer == transfer.transfer
    ]
    gathered, sent, ended = story
    assert (gathered.stage, sent.stage) == ("gathered", "sent")
    assert gathered.at_ps <= sent.at_ps <= ended.at_ps
    prompt_tokens = workload().requests[transfer.request].prompt_tokens
    # A page: 2 layers, keys and values, 2 heads of 16, 8 cells, 4 bytes.
    page_bytes = 2 * 2 * 2 * 16 * 8 * 4
    assert ended.moved_bytes == pages_for(prompt_tokens, 8) * page_bytes
    assert not ended.failure


def test_requests_preempted_on_the_decode_side(truth, monkeypatch):
  """D's first step waits until four requests share its thirteen pages.

  They are 0, 1, 2 and 5: with their next token they take 3 + 6 + 1 + 3 pages,
  so that the first that needs another one finds none.
  """
  run = run_of("1P1D", "disaggregated", reserve_pages=0)
  tight = dataclasses.replace(run, cluster=dataclasses.replace(
      run.cluster, pools=(
          Pool(role="P", count=1, kv_tokens=800),
          Pool(role="D", count=1, kv_tokens=13 * 8),
      )
  ))
  sent, four = set(), threading.Event()
  with engine_of(run, max_programs=5) as backend:
    replica = backend._crew.workers[1].replica
    decode = replica.decode

    def gated(*args):
      assert four.wait(60)
      return decode(*args)

    def watch(event, world):
      if isinstance(event, events.TransferProgressed):
        sent.update([event.request] if event.stage == "sent" else [])
        if len(sent) == 4:
          four.set()

    monkeypatch.setattr(replica, "decode", gated)
    load = workload(gap_ps=0)
    served = serve_on(backend, tight, load, watch=watch)
  assert served.preemptions > 0
  assert served.same_tokens(truth)


@pytest.mark.parametrize("tp", [{"P": 2, "D": 1}, {"P": 1, "D": 2},
                                {"P": 1, "D": 4}, {"P": 4, "D": 1}])
def test_heads_reshard_between_degrees(truth, tp):
  """The tiny model has 2 kv heads: at 4 devices each is stored twice."""
  run = run_of("1P1D", "disaggregated", tp=tp, ahead=1)
  with engine_of(run, max_programs=5) as backend:
    served = serve_on(backend, run)
    check_tokens(backend, workload())
    assert backend.compiles_in_window == 0
  assert served.same_tokens(truth)


def test_workers_on_one_device_in_bfloat16():
  run = run_of("1P1D", "disaggregated", share=True, dtype="bfloat16")
  with engine_of(run, max_programs=5) as backend:
    served = serve_on(backend, run)
    assert backend.conditions["devices_used"] == 1
    assert "isolation is not" in " ".join(backend.conditions["notes"])
  ended = served.log.of(events.TransferEnded)
  assert ended and not any(event.failure for event in ended)


def test_pages_damaged_on_the_way_are_not_decoded(truth):
  """A failed transfer is reported and tried again; no token comes of it."""
  damaged = []

  def put(stagings, shardings):
    if armed and not damaged:
      damaged.append(True)
      first, *others = stagings
      stagings = (first.at[0, 0, 0, 0, 0, 0].add(1.0), *others)
    return jax.device_put(stagings, shardings)

  armed = []
  run = run_of("1P1D", "disaggregated")
  with engine_of(run, max_programs=5, put=put) as backend:
    armed.append(True)
    served = serve_on(backend, run)
  failures = [
      event.failure for event in served.log.of(events.TransferEnded)
      if event.failure
  ]
  assert len(failures) == 1 and "checksums differ on 1 of" in failures[0]
  assert served.same_tokens(truth)


def test_the_transfer_threads_exception_surfaces():
  armed = []

  def put(stagings, shardings):
    if armed:
      raise ConnectionError("cable pulled")
    return jax.device_put(stagings, shardings)

  run = run_of("1P1D", "disaggregated")
  with engine_of(run, max_programs=5, put=put) as backend:
    armed.append(True)
    with pytest.raises(
        EngineError, match="transfer thread failed: ConnectionError: cable"
    ):
      serve_on(backend, run)
