"""Logs whose numbers are known: one by hand, others from the simulator.

`token_times_ns` is the slow reading of a log, token by token, that the
vectorised one is held to.
"""

from pdjax import config
from pdjax import events as ev
from pdjax.request import Request
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.segments import Segment, elapsed_ps
from pdjax.simulate.cluster import cluster_of
from pdjax.workload.build import build

US = 10**6
"""Picoseconds in a microsecond, the unit of the hand-made log."""


class _Script:
  """A log under construction, told in microseconds."""

  def __init__(self):
    self.log = ev.Log()

  def at(self, time_us: float, entry: ev.Entry) -> None:
    self.log.append(round(time_us * US), entry)

  def arrive(
      self, time_us: int, id: int, prompt: int, most: int, sent_us: int = 0
  ) -> None:
    request = Request(
        id=id, arrival_ps=sent_us * US, prompt_tokens=prompt, max_tokens=most
    )
    self.at(time_us, ev.Arrived(time_us * US, request))

  def end(
      self, time_us: float, worker: int, run: int, start_us: int,
      segments: tuple[Segment, ...], finished=(),
  ) -> None:
    steps = sum(segment.steps for segment in segments)
    self.at(time_us, ev.StepEnded(
        round(time_us * US), worker, 0, run, start_us * US, steps, segments,
        finished,
    ))


def hand_made() -> ev.Log:
  """Five requests; all times below in microseconds.

  Request 0, handed off: arrives 0, delivered 1, 10 prompt tokens.
    prefill on worker 0    2..5    token 1 at 5
    transfer to worker 1   6..8
    two decode steps       9..10..11.5  tokens 2, 3; finished (of 5 declared)

  Request 1, preempted on worker 2: arrives 0, 4 prompt tokens.
    chunks of 2            1..3, 4..6   token 1 at 6
    one decode step        7..8    token 2
    preempted at 9 with 4 + 1 tokens in its cache
    recomputes 4 + 2       13..16  token 3
    one decode step        18..20  token 4; finished

  Request 2 is rejected at 3. Request 3 is aborted at 21 after one token, made
  at 16 by the step that recomputes request 1. Request 4 makes its only token
  in that step too.
  """
  script, one = _Script(), Segment
  at, arrive, end = script.at, script.arrive, script.end
  arrive(0, 1, prompt=4, most=6)
  at(0, ev.Route(1, 2))
  arrive(1, 0, prompt=10, most=5)
  at(1, ev.Step(2, ((1, 2),), run=0))
  at(2, ev.Step(0, ((0, 10),), run=1))
  end(3, 2, 0, 1, (one(1, 2 * US),))
  arrive(3, 2, prompt=99, most=1, sent_us=3)
  at(3, ev.Reject(2, "too long"))
  at(4, ev.Step(2, ((1, 2),), run=2))
  end(5, 0, 1, 2, (one(1, 3 * US),))
  at(6, ev.Transfer(0, 0, 1, (0, 1), transfer=0))
  end(6, 2, 2, 4, (one(1, 2 * US),))
  at(7, ev.Step(2, decode=(1,), repeats=1, run=3))
  at(8, ev.TransferEnded(8 * US, 0, 0, moved_bytes=4096))
  end(8, 2, 3, 7, (one(1, US),))
  at(9, ev.Preempt(1))
  at(9, ev.Step(1, decode=(0,), repeats=4, run=4))
  arrive(10, 3, prompt=5, most=9, sent_us=10)
  arrive(12, 4, prompt=3, most=1, sent_us=12)
  end(12, 1, 4, 9, (one(2, US, US // 2),), ((0, 2),))
  at(13, ev.Step(2, ((1, 6), (3, 5), (4, 3)), run=5))
  end(16, 2, 5, 13, (one(1, 3 * US),), ((4, 1),))
  at(18, ev.Step(2, decode=(1,), repeats=1, run=6))
  end(20, 2, 6, 18, (one(1, 2 * US),), ((1, 1),))
  at(21, ev.Abort(3, "gone"))
  return script.log


def simulated(
    split: str,
    kind: str,
    *,
    num_requests: int = 60,
    rate: float = 30.0,
    tight: bool = False,
    seed: int = 0,
    **strategy,
):
  """A simulated run: (config, log, world, workload).

  `tight` makes answers long and pages few, so that requests are preempted.
  """
  prompt, output, kv_tokens = (60, 150, 1600) if tight else (300, 40, 50_000)
  run = config.Run(
      cluster=config.Cluster(split=split, chip="h100-sxm", kv_tokens=kv_tokens),
      strategy=config.Strategy(kind=kind, **strategy),
      workload=config.Workload(
          num_requests=num_requests, rate=rate, seed=seed,
          prompt=config.Lengths(kind="lognormal", mean=prompt, high=800),
          output=config.Lengths(kind="lognormal", mean=output, high=600),
      ),
      slo=config.SLO(ttft_s=0.2, tpot_s=0.012),
  )
  workload = build(run.workload)
  cluster = cluster_of(run)
  world = world_of(run, cluster.pool_pages, cluster.staging_pages)
  backend = cluster.backend(workload.clients(), workload.output_tokens)
  return run, serve(policy_of(run), backend, world), world, workload


def token_times_ns(log: ev.Log) -> dict[int, list[int]]:
  """Every token of every request, read one by one."""
  steps: dict[int, ev.Step] = {}
  prompt, goal, cached, times = {}, {}, {}, {}
  for _, entry in log:
    match entry:
      case ev.Arrived(request=request):
        prompt[request.id] = goal[request.id] = request.prompt_tokens
        cached[request.id] = 0
        times[request.id] = []
      case ev.Step():
        steps[entry.run] = entry
      case ev.Preempt(request=id):
        cached[id] = 0
        goal[id] = prompt[id] + len(times[id])
      case ev.StepEnded():
        ends = [
            (entry.started_ps + elapsed_ps(entry.segments, j + 1)) // 1000
            for j in range(entry.steps)
        ]
        for id, tokens in steps[entry.run].prefill:
          cached[id] += tokens
          if cached[id] == goal[id]:
            times[id].append(ends[0])
        finished = dict(entry.finished)
        for id in steps[entry.run].decode:
          times[id] += ends[: finished.get(id, entry.steps)]
  return times

