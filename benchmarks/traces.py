"""What JAX's profiler saw of compiled programs on a CPU.

XLA's CPU runtime notes a beginning and an end of every operation, with the
number of the execution that it belongs to. From these come the times at which
a program ran, and the time each of its operations took.
"""

import contextlib
import dataclasses
import pathlib
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

PRODUCTS = "products"


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
  """One operation of one execution; nanoseconds since the trace began."""

  module: str
  execution: int
  name: str
  begin_ns: float
  end_ns: float


@contextlib.contextmanager
def traced() -> Iterator[list[Done]]:
  """What is done inside is in the list afterwards, in order of beginning."""
  found: list[Done] = []
  options = jax.profiler.ProfileOptions()
  options.python_tracer_level = 0
  with tempfile.TemporaryDirectory() as name:
    with jax.profiler.trace(name, profiler_options=options):
      yield found
    (file,) = pathlib.Path(name).rglob("*.xplane.pb")
    found += sorted(_read(file), key=lambda done: done.begin_ns)


def _read(file: pathlib.Path) -> Iterator[Done]:
  """An operation's end may be noted by another thread than its beginning."""
  begun: dict[int, tuple[Any, dict[str, Any]]] = {}
  ended: dict[int, float] = {}
  for event in _events(file):
    stats = dict(event.stats)
    if event.name.startswith("end: "):
      ended[stats["_c"]] = event.end_ns
    elif "hlo_op" in stats and "_p" in stats:
      begun[stats["_p"]] = event, stats
  for key, (event, stats) in begun.items():
    yield Done(
        stats["hlo_module"], stats["run_id"], stats["hlo_op"], event.start_ns,
        ended.get(key) or float(event.end_ns),
    )


def _events(file: pathlib.Path) -> Iterator[Any]:
  for plane in jax.profiler.ProfileData.from_file(str(file)).planes:
    for line in plane.lines:
      yield from line.events


def executions(
    found: Iterable[Done], module: str
) -> list[tuple[float, float]]:
  """(first beginning, last end) of each execution of a module, in order."""
  parts = defaultdict(list)
  for done in found:
    if done.module == module:
      parts[done.execution].append(done)
  return sorted(
      (min(d.begin_ns for d in part), max(d.end_ns for d in part))
      for part in parts.values()
  )


def scope_of(program: str, scopes: Iterable[str]) -> Callable[[str], str]:
  """Says which `jax.named_scope` an operation of a program came from.

  A product that XLA has rewritten has lost its path; it is of `PRODUCTS`.

  Args:
    program: the compiled program as text.
    scopes: names of scopes; the last one in an operation's path counts.
  """
  wanted = set(scopes)
  dots = re.findall(r"%([\w.\-]+) = \S+ dot\(", program)
  found = dict.fromkeys(dots, PRODUCTS)
  for name, path in re.findall(
      r"%([\w.\-]+) = .*metadata=\{[^}]*op_name=\"([^\"]*)\"", program
  ):
    inside = [part for part in path.split("/") if part in wanted]
    found[name] = inside[-1] if inside else found.get(name, "")
  return lambda name: found.get(name, "")


def shared_out(
    found: Iterable[Done], kind_of: Callable[[str], str]
) -> dict[str, float]:
  """Nanoseconds by kind of operation; what runs at once shares the time.

  So they add up to the time in which anything ran.

  >>> ops = [Done("m", 0, "a", 0, 4), Done("m", 0, "b", 2, 6)]
  >>> shared_out(ops, str.upper)
  {'A': 3.0, 'B': 3.0}
  """
  ops = list(found)
  turns = [(done.begin_ns, i) for i, done in enumerate(ops)]
  turns += [(done.end_ns, i) for i, done in enumerate(ops)]
  running: set[int] = set()
  total: dict[str, float] = defaultdict(float)
  before_ns = 0.0
  for at_ns, i in sorted(turns):
    for each in running:
      total[kind_of(ops[each].name)] += (at_ns - before_ns) / len(running)
    running ^= {i}
    before_ns = at_ns
  return dict(total)


def loops(program: str) -> set[str]:
  """Operations that stand for others: loops, branches and calls."""
  return set(re.findall(
      r"%([\w.\-]+) = .* (?:while|conditional|call)\(", program
  ))
