"""Statistics of a workload, one case by hand."""

import json

import pytest

from pdjax import config
from pdjax.request import Request
from pdjax.workload.build import build
from pdjax.workload.statistics import describe
from pdjax.workload.workload import Workload


def test_by_hand():
  def request(id, at_s, prompt_tokens, prefix_ids):
    return Request(
        id=id,
        arrival_ps=at_s * 10**12,
        prompt_tokens=prompt_tokens,
        max_tokens=50,
        prefix_ids=prefix_ids,
        prefix_block_tokens=4,
    )

  workload = Workload(
      (
          request(0, 0, 10, (0, 1, 2)),
          request(1, 1, 10, (0, 1, 2)),  # blocks 0 and 1; 2 is partial: 8
          request(2, 4, 8, (0, 3)),  # block 0: 4
          request(3, 4, 12, (4, 5, 6)),  # nothing
          request(4, 4, 12, (0, 1, 2)),  # 2 is whole here for the first time: 8
      ),
      (10, 20, 30, 40, 50),
      {},
  )
  stats = describe(workload)
  assert stats["num_requests"] == 5
  assert stats["duration_s"] == 4.0
  assert stats["rate_per_s"] == 4 / 4
  assert stats["prompt_tokens"]["total"] == 52
  assert stats["prompt_tokens"]["max"] == 12
  assert stats["output_tokens"]["mean"] == 30.0
  assert stats["output_tokens"]["p50"] == 30.0
  assert stats["prefix_reuse_share"] == 20 / 52


def test_no_rate_when_all_come_at_once():
  workload = build(config.Workload(arrival="all_at_once"))
  stats = json.loads(json.dumps(describe(workload), allow_nan=False))
  assert stats["rate_per_s"] is None
  assert stats["duration_s"] == 0.0


@pytest.mark.data
def test_mooncake_reuse(data_dir):
  path = str(data_dir / "traces" / "mooncake_conversation.jsonl")
  workload = build(config.Workload(kind="mooncake", path=path))
  # Ids are chained, so an id seen before needs no look at those before it.
  ids = [
      id
      for request in workload.requests
      for id in request.prefix_ids[: request.prompt_tokens // 512]
  ]
  prompt_tokens = sum(request.prompt_tokens for request in workload.requests)
  reused = 512 * (len(ids) - len(set(ids))) / prompt_tokens
  share = describe(workload)["prefix_reuse_share"]
  assert share == pytest.approx(reused)
  assert 0.3 < share < 0.5
