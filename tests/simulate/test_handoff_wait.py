"""What docs/metrics.md says of a hand-off's time beside the link's."""

from pdjax.calibrate.published.simulated import simulated
from pdjax.config import Cluster, Link, Model, Run, Strategy
from pdjax.request import Request
from pdjax.workload.workload import Workload


def test_a_hand_off_waits_for_the_step_under_way_and_joins_after_the_next():
  """Two equal prompts, the second while the first is decoded; no link to
  speak of. Only the second waits, for less than a step, and then for one."""
  times_ps = (0, 500 * 10**9)
  load = Workload(
      tuple(
          Request(id=index, arrival_ps=at_ps, prompt_tokens=512, max_tokens=200)
          for index, at_ps in enumerate(times_ps)
      ),
      (200, 200), {},
  )
  run = Run(
      model=Model(preset="llama-3.1-8b"),
      cluster=Cluster(
          split="1P1D", chip="a100-80gb-sxm",
          link=Link(bandwidth_bytes_per_s=1e15),
      ),
      strategy=Strategy(kind="disaggregated"),
  )
  table = simulated(run, workload=load)
  alone_ns, second_ns = table["transfer_ns"].tolist()
  step_ns = table["tpot_ns"].min()
  assert alone_ns < 0.1 * step_ns
  assert alone_ns < second_ns <= alone_ns + step_ns
  joins = table["queue_decode_ns"].tolist()
  assert joins[0] == 0 and 0.9 * step_ns < joins[1] < 1.1 * step_ns
