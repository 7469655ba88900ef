"""Worlds of a few workers, driven by hand without a backend."""

from pdjax.events import Arrived, Log, StepEnded
from pdjax.request import Request
from pdjax.schedule.worker import WorkerSpec
from pdjax.schedule.world import World
from pdjax.segments import Segment


def world_of(roles: str = "C", *, pages: int = 20, settled: int = 1, **spec):
  """Workers of 4-token pages; every run claims `settled` steps past recall."""
  settings = {"page_tokens": 4, "max_num_seqs": 8, **spec}
  world = World([
      WorkerSpec(id=index, role=role, pool_pages=pages, **settings)
      for index, role in enumerate(roles)
  ])
  log = Log()
  world.attach(lambda worker, lane: settled, log)
  return world, log


def arrive(world, request: int, prompt: int, most: int = 10, at_ps: int = 0):
  asked = Request(
      id=request, arrival_ps=at_ps, prompt_tokens=prompt, max_tokens=most
  )
  world.apply(Arrived(max(at_ps, world.now_ps), asked))
  return world.progress[request]


def end_step(world, run: int, *, worker=0, steps=1, finished=(), at_ps=None):
  at_ps = world.now_ps + 10 if at_ps is None else at_ps
  segments = (Segment(steps, 10),)
  world.apply(StepEnded(at_ps, worker, 0, run, 0, steps, segments, finished))
