"""The real backend: orders to workers on their meshes, events by wall clock.

The caller's thread is the scheduler's: it starts commands, and takes one report
after the other from the threads that do the work, stamped when it is taken.

Units: `_ps` integer picoseconds from the start of the run.
"""

import dataclasses
from collections.abc import Callable, Sequence

import jax
import numpy as np

from pdjax import config, events, tracks
from pdjax.engine import capacity, compiles, conditions, outcomes, setup
from pdjax.engine.agenda import Agenda
from pdjax.engine.answers import Answers
from pdjax.engine.clock import Clock
from pdjax.engine.control import RunControl
from pdjax.engine.crew import Crew, Progress
from pdjax.engine.orders import (
    Gone,
    HostOrder,
    Landed,
    Passed,
    Report,
    RunOver,
    Said,
    StepOrder,
    There,
    Undone,
)
from pdjax.engine.replica import Replica
from pdjax.engine.sampling import fits, own
from pdjax.engine.slowlink import slow_link
from pdjax.engine.steps import Padding
from pdjax.engine.stopping import stops_of
from pdjax.engine.strikes import Strikes
from pdjax.engine.transit import Transit
from pdjax.faults import FaultPlan, plan_of
from pdjax.mesh import Device
from pdjax.models.sizes import spec_of
from pdjax.schedule.worker import Run
from pdjax.schedule.world import World
from pdjax.transfer import Put
from pdjax.workload.workload import Workload


class EngineBackend:
  """Implements `pdjax.schedule.loop.Backend` on real devices.

  The constructor loads weights and compiles everything; the clock starts with
  the first `next_event`. Use it as a context manager, or `close` it. After a
  run, `reset` makes it ready for another one.

  Args:
    run: the config.
    workload: what arrives; it also bounds the shapes that are compiled.
    prompts: int32 token ids of each request.
    end_ids: tokens that end an answer where `workload.stop` is `eos`.
    token_bytes: what each token spells; stop strings need it.
    heard: told each token as soon as it is on the host, as (request, token id),
      by the thread that calls `next_event`.
    devices: to use; all of JAX's by default.
    progress: told a line for each program compiled.
    max_programs: most compiled programs a worker; the config's by default.
    poison: fills all pages with NaN first, so that reading a cell that nobody
      has written shows in the tokens. For tests.
    put: moves arrays between meshes. For tests.

  Raises:
    ConfigError: the run does not fit this engine or this machine.
  """

  def __init__(
      self,
      run: config.Run,
      workload: Workload,
      prompts: Sequence[np.ndarray],
      *,
      end_ids: Sequence[int] = (),
      token_bytes: Sequence[bytes] | None = None,
      heard: Callable[[int, int], None] | None = None,
      devices: Sequence[Device] | None = None,
      progress: Progress = lambda line: None,
      max_programs: int | None = None,
      poison: bool = False,
      put: Put = jax.device_put,
  ):
    self.run, self._poison = run, poison
    self._spec = spec_of(run.model)
    capacity.check(run, self._spec, workload)
    self._limits = capacity.limits_of(run, self._spec, workload)
    stop_ids = capacity.end_ids_of(run, end_ids)
    self._stops, self._heard = stops_of(run, token_bytes), heard
    self._devices = list(devices or jax.devices())
    settings = setup.build(
        run, self._spec, self._limits, self._devices, stop_ids,
        max_programs or run.engine.max_programs,
    )
    self.model = settings[0][0]
    """Worker 0's, for checks of its tokens."""
    self._clock = Clock()
    replicas = [replica for _, replica in settings]
    self._crew = Crew(
        replicas, tracks.worker_names(run), self._clock,
        run.engine.dispatch_ahead, put, self._stops, tells=heard is not None,
        slow=slow_link(run.cluster.link),
    )
    self._controls: dict[int, RunControl] = {}
    self._strikes = Strikes(None, self._crew)
    self._transit = Transit()
    self._held: dict[int, StepOrder] = {}
    """Of steps whose pages may leave them, until the next event is asked for.
    """
    self._running = 0
    try:
      self._crew.prepare(progress)
      self.reset(workload, prompts)
    except BaseException:
      self.close()
      raise

  def __enter__(self) -> "EngineBackend":
    return self

  def __exit__(self, *_) -> None:
    self.close()

  def close(self) -> None:
    """Ends all threads, a run under way at its next step."""
    for control in self._controls.values():
      control.resume(0)
    self._crew.close()

  def reset(
      self,
      workload: Workload,
      prompts: Sequence[np.ndarray],
      sampling: Sequence[config.Sampling] | None = None,
      plan: FaultPlan | None = None,
  ) -> None:
    """Makes ready for a run: another workload, no answers, stopped clock.

    Args:
      workload: what arrives.
      prompts: int32 token ids of each request.
      sampling: of each request, its seed taken as it is; None: the run's, with
        a seed of each request's own.
      plan: of faults; None: the config's.

    Raises:
      RuntimeError: the last run is not over.
      ValueError: a request is longer than what has been compiled for, or drawn
        in a way that has not been.
    """
    if self._strikes.any:
      self._come_to_rest()
    if self._running or self._transit:
      raise RuntimeError("the last run is not over")
    limits = capacity.limits_of(self.run, self._spec, workload)
    for new, old in zip(limits, self._limits, strict=True):
      if new.M > old.M:
        raise ValueError(f"a request needs {new.M} pages, compiled for {old.M}")
    self._clock.stop()
    common = self.run.sampling
    each = sampling or [own(common, r.id) for r in workload.requests]
    if not all(fits(common, one) for one in each):
      raise ValueError(f"a request draws in ways unlike the run's {common}")
    self._answers = Answers(
        prompts, workload.output_tokens, each, self._stops
    )
    self._agenda = Agenda(workload.clients())
    self._strikes = Strikes(
        plan or plan_of(self.run.faults, len(self._crew.workers)), self._crew
    )
    self._compiles = 0
    for _ in self._crew.errand(lambda worker: self._wipe):
      pass
    for worker in self._crew.workers:
      worker.padding = Padding()
      worker.host.clear()

  def _come_to_rest(self) -> None:
    """Hears out what nobody waits for any more; lost workers come back."""
    while self._running or self._transit or self._strikes.pending:
      if report := self._crew.next_report():
        self._event(report)
    self._strikes.recall()
    while self._strikes.pending:
      if report := self._crew.next_report():
        self._event(report)

  def _wipe(self, replica: Replica) -> None:
    if self._poison:
      replica.fill(float("nan"))
    replica.wait()

  # What the scheduler calls. -------------------------------------------------

  @property
  def arriving(self) -> bool:
    return self._agenda.arriving

  def next_event(self) -> events.Event | None:
    """The next arrival, timer or report; None if nothing is pending.

    Raises:
      EngineError: a thread of the engine has died.
    """
    self._begin_held()
    if not self._clock.started:
      self._compiles_before = compiles.count()
      self._clock.start()
    event = self._next_event()
    self._compiles = compiles.count() - self._compiles_before
    return event

  def _next_event(self) -> events.Event | None:
    while True:
      self._strikes.look(self._clock.now_ps())
      due_ps = _earliest(self._agenda.due_ps, self._strikes.due_ps)
      if due_ps is None and not self._under_way:
        return None
      wait_s = None
      if due_ps is not None:
        wait_s = (due_ps - self._clock.now_ps()) / 1e12
      if wait_s is not None and wait_s <= 0:
        event = self._take_due()
      else:
        event = self._take_report(wait_s)
      if event is not None:
        return event

  @property
  def _under_way(self) -> bool:
    return bool(self._running or self._transit or self._strikes.pending)

  def _take_due(self) -> events.Event | None:
    """What is due by the clock: a fault before anything else of its time."""
    now_ps, due_ps = self._clock.now_ps(), self._agenda.due_ps
    strike_ps = self._strikes.due_ps
    if strike_ps is not None and (due_ps is None or strike_ps <= due_ps):
      return self._strikes.take(now_ps, self._controls)
    event = self._agenda.take(now_ps)
    if isinstance(event, events.Arrived):
      self._answers.arrive(event.request)
    return event

  def _take_report(self, wait_s: float | None) -> events.Event | None:
    report = self._crew.next_report(wait_s)
    if isinstance(report, Said):
      self._tell(report)
      return None
    return self._event(report) if report else None

  def _tell(self, said: Said) -> None:
    if self._heard:
      for request, token in said.tokens:
        self._heard(request, token)

  def start(self, command: events.Command, world: World) -> None:
    """Begins the work of a command; most commands mean none.

    Raises:
      ConfigError: the world's worker has more than one lane.
    """
    self._strikes.see(world)
    match command:
      case events.Reserve():
        self._move_hosted(command.worker, world)
      case events.Step():
        self._move_hosted(command.worker, world)
        self._start_run(world.workers[command.worker].runs, command.worker)
      case events.Transfer():
        self._start_transfer(command, world)
      case events.Wake():
        self._agenda.wake(command.at_ps)
      case events.Reject() | events.Abort() | events.Fail():
        self._answers.give_up(command.request)
        self._agenda.ended(command.request, self._clock.now_ps())

  def _move_hosted(self, index: int, world: World) -> None:
    """What a cache has evicted, and what has come back, before it is used."""
    cache = world.workers[index].cache
    if cache is None or cache.host is None:
      return
    moves, cache.host.moves = cache.host.moves, []
    if moves:
      worker = self._crew.workers[index]
      worker.submit(HostOrder(tuple(moves), worker.life))

  def _start_transfer(self, command: events.Transfer, world: World) -> None:
    workers = self._crew.workers
    source, target = workers[command.source], workers[command.target]
    harm = self._strikes.harm_to(command.request, self._clock.now_ps())
    order = self._transit.start(
        command, world, (source.life, target.life), harm
    )
    if not command.group_layers:
      source.submit(order)
      return
    held = self._held[command.source]
    self._held[command.source] = dataclasses.replace(
        held, gathers=(*held.gathers, order)
    )

  def _begin_held(self) -> None:
    """Lets steps begin that waited to be told which pages leave them."""
    for worker, order in self._held.items():
      self._crew.workers[worker].submit(order)
    self._held.clear()

  def _start_run(self, lanes: list[Run | None], worker: int) -> None:
    if len(lanes) > 1:
      raise config.ConfigError([
          f"worker {worker} has {len(lanes)} lanes; lanes are simulated only,"
          " backend.kind='jax' needs one"
      ])
    (run,) = lanes
    assert run is not None
    control = RunControl(run.repeats)
    self._controls[worker] = control
    self._running += 1
    does = self._crew.workers[worker]
    order = self._answers.order(run, worker, control, does.life)
    if run.prompts and does.replica.stages:
      self._held[worker] = order
    else:
      does.submit(order)

  def settle(self, worker: int, lane: int) -> int:
    """Steps of the worker's run that are issued; it is held there."""
    return self._controls[worker].settle()

  def resume(self, worker: int, lane: int, repeats: int) -> None:
    self._controls[worker].resume(repeats)

  # What came of it. ----------------------------------------------------------

  @property
  def tokens(self) -> dict[int, list[int]]:
    """Token ids of each request's answer so far."""
    return self._answers.tokens

  @property
  def gaps(self) -> dict[int, list[float]]:
    """By how much each token's score led the second."""
    return self._answers.gaps

  @property
  def sampling(self) -> Sequence[config.Sampling]:
    """How each request's tokens were drawn, with its own seed."""
    return self._answers.sampling

  @property
  def compiles_in_window(self) -> int:
    """Compilations between the first and the last event of the run."""
    return self._compiles

  @property
  def replicas(self) -> list[Replica]:
    """Of each worker."""
    return [worker.replica for worker in self._crew.workers]

  @property
  def num_programs(self) -> list[int]:
    """Compiled programs of each worker."""
    return [replica.num_programs for replica in self.replicas]

  @property
  def padding(self) -> list[Padding]:
    """Of each worker's passes in this run."""
    return [worker.padding for worker in self._crew.workers]

  @property
  def padded_token_fraction(self) -> float:
    """Of all workers' passes in this run."""
    return Padding.sum(self.padding).fraction

  @property
  def conditions(self) -> dict:
    """What the run ran on, fit for JSON."""
    return conditions.of(self.run, self._devices)

  def sequence(self, request: int) -> np.ndarray:
    """Prompt and answer so far, int32 token ids."""
    return self._answers.sequence(request)

  # Events. -------------------------------------------------------------------

  def _event(self, report: Report) -> events.Event | None:
    """What a report tells the scheduler; None where that is nothing."""
    now_ps = self._clock.now_ps()
    match report:
      case RunOver():
        self._running -= 1
        believed = self._strikes.believed(report)
        return self._end_run(believed, now_ps) if believed else None
      case Undone():
        self._running -= 1
        return None
      case Gone():
        return self._strikes.gone(report, now_ps)
      case There():
        return self._strikes.there(report, now_ps)
      case Passed():
        return self._transit.passed(now_ps, report)
      case Landed():
        source = self._crew.workers[self._transit.source(report)].replica
        return self._transit.land(now_ps, report, source.sent_page_bytes)
    raise ValueError(f"no event for {report}")

  def _end_run(self, over: RunOver, now_ps: int) -> events.StepEnded:
    finished = self._answers.take(over.made)
    for request, _ in finished:
      self._agenda.ended(request, now_ps)
    return outcomes.step_ended(now_ps, over, finished)


def _earliest(*times_ps: int | None) -> int | None:
  return min((at_ps for at_ps in times_ps if at_ps is not None), default=None)
