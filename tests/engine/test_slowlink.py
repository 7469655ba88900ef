"""Links slower than the real one: what arrives when, by hand."""

import dataclasses

import pytest

from pdjax import config, events, passlimits
from pdjax.engine.slowlink import SlowLink, slow_link
from tests.engine.engine_session import engine_of, run_of, serve_on


def test_what_shares_an_end_goes_one_after_the_other():
  link = SlowLink(100.0, 0.5)  # bytes per second, seconds
  assert link.arrival_s(0, 2, 200, at_s=10.0) == 12.5
  assert link.arrival_s(0, 3, 100, at_s=10.0) == 13.5  # 0's way out is busy
  assert link.arrival_s(1, 2, 100, at_s=10.0) == 13.5  # so is 2's way in
  assert link.arrival_s(1, 0, 100, at_s=20.0) == 21.5
  assert link.arrival_s(4, 5, 100, at_s=10.0) == 11.5  # others are not


def test_a_link_is_slowed_only_where_a_bandwidth_is_said():
  assert slow_link(config.Link(latency_s=1.0)) is None
  slow = slow_link(config.Link(bandwidth_bytes_per_s=2e6, latency_s=0.25))
  assert slow and (slow.bandwidth_bytes_per_s, slow.latency_s) == (2e6, 0.25)


def test_pages_arrive_no_sooner_than_the_link_allows(monkeypatch):
  run = run_of("1P1D", "disaggregated")
  link = config.Link(bandwidth_bytes_per_s=1e6, latency_s=0.03)
  run = dataclasses.replace(
      run, cluster=dataclasses.replace(run.cluster, link=link)
  )
  monkeypatch.setattr(passlimits, "STAGING_RUNGS", 1)
  with engine_of(run, max_programs=4) as backend:
    log = serve_on(backend, run).log
    assert "slowed to 0.001 GB/s" in " ".join(backend.conditions["notes"])
  ended = {e.transfer: e for e in log.of(events.TransferEnded)}
  gathered = {
      e.transfer: e.at_ps for e in log.of(events.TransferProgressed)
      if e.stage == "gathered"
  }
  assert len(ended) == len(gathered) > 1
  # The scheduler may learn of the first stage late, of the last one too.
  first = min(ended.values(), key=lambda e: e.at_ps)
  link_ps = first.moved_bytes * 10**6 + 30 * 10**9
  started = [
      at_ps for at_ps, e in log
      if isinstance(e, events.Transfer) and e.transfer == first.transfer
  ]
  assert first.at_ps - started[0] >= link_ps
  total_bytes = sum(e.moved_bytes for e in ended.values())
  span_ps = max(e.at_ps for e in ended.values()) - started[0]
  assert span_ps >= total_bytes * 10**6 > 0


@pytest.mark.parametrize("said", [True, False])
def test_real_links_are_described_only_to_slow_them(said):
  from pdjax import reads, schema

  link = {"latency_s": 0.1} | (
      {"bandwidth_bytes_per_s": 1e9} if said else {}
  )
  tree = {
      "backend": {"kind": "jax"}, "cluster": {"split": "1P1D", "link": link},
      "strategy": {"kind": "disaggregated"},
  }
  paths = [f"cluster.link.{name}" for name in link]
  vain = reads.vain(schema.run_from_tree(tree), paths)
  assert list(vain) == ([] if said else ["cluster.link.latency_s"])
