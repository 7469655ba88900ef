"""One worker as the scheduler sees it: its queue, its pages, its runs.

A worker is a replica of the model on some chips. Everything here is counted,
nothing is timed: the backend knows how long a step takes.
"""

import bisect
import dataclasses
from collections import deque
from collections.abc import Iterator

from pdjax.config import WHOLE_PROMPT_TOKENS, pages_for
from pdjax.events import Step
from pdjax.pages import PageAllocator
from pdjax.request import Progress, Request


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class WorkerSpec:
  """What does not change about a worker."""

  id: int
  role: str
  """P, D or C at the start; a label."""
  pool_pages: int
  """Usable pages, the sentinel not counted."""
  page_tokens: int
  max_num_seqs: int
  reserve_pages: int = 1
  chunk_size: int | None = None
  max_num_batched_tokens: int = WHOLE_PROMPT_TOKENS
  lanes: int = 1


@dataclasses.dataclass(slots=True, eq=False)
class Run:
  """A step, or a row of decode steps, that is being worked on.

  The pages for all `repeats` steps are at the end of each request's page list
  from the start; those no step has reached yet can be taken back.
  """

  step: Step
  repeats: int
  decodes: list[Progress]
  prompts: list[Progress]
  context_tokens: list[int]
  """Tokens in the cache of each decode when the run starts."""
  base_pages: list[int]
  """Pages each decode held before the run."""
  settled: int | None = None
  """Steps past recall, while the backend holds the run for the scheduler."""
  interrupted: bool = False

  @property
  def id(self) -> int:
    return self.step.run

  @property
  def interruptible(self) -> bool:
    return self.repeats > 1 and not self.interrupted

  @property
  def chunks(self) -> list[int]:
    """Tokens computed of each prompt."""
    return [tokens for _, tokens in self.step.prefill]


@dataclasses.dataclass(slots=True, eq=False)
class Worker:
  """The world's account of one worker. Only the world writes it."""

  spec: WorkerSpec
  role: str
  pool: PageAllocator
  waiting: deque[Progress]
  prefilling: dict[int, Progress]
  """Hold pages, prompt not complete; in order of admission."""
  decoding: dict[int, Progress]
  """Cache complete here; includes those in a run."""
  leaving: dict[int, Progress]
  """Prefilled here and on their way elsewhere."""
  inbound: dict[int, Progress]
  """Pages reserved here, cache still elsewhere."""
  runs: list[Run | None]
  outstanding_tokens: int = 0
  """Prompt and answer tokens, so far, of all requests waiting or held here."""

  @classmethod
  def of(cls, spec: WorkerSpec) -> "Worker":
    pool = PageAllocator(spec.pool_pages)
    return cls(
        spec, spec.role, pool, deque(), {}, {}, {}, {}, [None] * spec.lanes
    )

  @property
  def id(self) -> int:
    return self.spec.id

  @property
  def free_lane(self) -> int | None:
    return self.runs.index(None) if None in self.runs else None

  @property
  def interruptible(self) -> bool:
    """Whether a run here has steps that can still be recalled."""
    return any(run is not None and run.interruptible for run in self.runs)

  @property
  def num_seqs(self) -> int:
    """Requests that hold pages here."""
    return sum(map(len, self.groups))

  @property
  def groups(self) -> tuple[dict[int, Progress], ...]:
    """Requests with pages here, each in exactly one group."""
    return (self.prefilling, self.decoding, self.leaving, self.inbound)

  def pages_for(self, tokens: int) -> int:
    return pages_for(tokens, self.spec.page_tokens)

  def held(self, progress: Progress) -> int:
    return len(progress.pages.get(self.id, ()))

  def need_pages(self, progress: Progress) -> int:
    """Pages to admit a request: its tokens and, unless P, a first decode."""
    return self.pages_for(progress.target_tokens + (self.role != "P"))

  def most_pages(self, request: Request) -> int:
    """Pages of a request with the longest answer it declares; on P without."""
    answer_tokens = request.max_tokens if self.role != "P" else 0
    return self.pages_for(request.prompt_tokens + answer_tokens)

  def cached_prefix_tokens(self, request: Request) -> int:
    """Leading prompt tokens whose keys and values are kept here already.

    None: no worker keeps pages beyond the end of their request.
    """
    return 0

  def missing_pages(self, progress: Progress) -> int:
    """Pages a decode lacks for its next step: one or none."""
    capacity_tokens = len(progress.pages[self.id]) * self.spec.page_tokens
    return int(progress.computed_tokens >= capacity_tokens)

  def next_step_pages(self) -> int:
    """Pages all decodes here lack for one step more."""
    return sum(map(self.missing_pages, self.decoding.values()))

  def margin_pages(self) -> int:
    """Pages admission leaves free for the requests already here."""
    if not self.num_seqs or self.role == "P":
      return 0
    reserve = self.spec.reserve_pages * (self.num_seqs + 1)
    return reserve or self.next_step_pages()

  def held_pages(self) -> Iterator[int]:
    """Every page held by a request, for law 2."""
    for group in self.groups:
      for progress in group.values():
        yield from progress.pages.get(self.id, ())

  def enqueue(self, progress: Progress) -> None:
    """Puts a request into the queue at its priority."""
    self.outstanding_tokens += progress.target_tokens
    queue = self.waiting
    if not queue or queue[-1].priority < progress.priority:
      queue.append(progress)
    else:
      at = bisect.bisect(queue, progress.priority, key=lambda p: p.priority)
      queue.insert(at, progress)

  def dequeue(self, progress: Progress) -> None:
    self.outstanding_tokens -= progress.target_tokens
    self.waiting.remove(progress)

  def grant(self, run: Run, asked: int) -> int:
    """Takes the pages of as many of `asked` steps as the free pages cover.

    Returns:
      The steps granted, perhaps 0; `run.repeats` says so too.
    """
    free = self.pool.free_pages
    steps = asked
    if self._grant_pages(run, asked) > free:
      steps = bisect.bisect_left(
          range(1, asked + 1),
          True,
          key=lambda steps: self._grant_pages(run, steps) > free,
      )
    run.repeats = steps
    C = self.spec.page_tokens
    for decode, context, base in zip(
        run.decodes, run.context_tokens, run.base_pages, strict=True
    ):
      if context + steps > base * C:
        missing = pages_for(context + steps, C) - base
        decode.pages[self.id] += self.pool.take(missing)
    return steps

  def _grant_pages(self, run: Run, steps: int) -> int:
    """Pages that `steps` steps take beyond those held before the run."""
    C = self.spec.page_tokens
    return sum(
        -(-(context + steps) // C) - base
        for context, base in zip(
            run.context_tokens, run.base_pages, strict=True
        )
        if context + steps > base * C
    )

  def unreached_pages(self, run: Run, steps: int) -> int:
    """Granted pages that the first `steps` steps of a run do not need."""
    return self._grant_pages(run, run.repeats) - self._grant_pages(run, steps)

  def shorten(self, run: Run, steps: int) -> None:
    """Cuts a run to `steps` steps and takes back the pages beyond."""
    if steps >= run.repeats:
      return
    run.repeats = steps
    C = self.spec.page_tokens
    for decode, context, base in zip(
        run.decodes, run.context_tokens, run.base_pages, strict=True
    ):
      pages = decode.pages[self.id]
      keep = max(base, pages_for(context + steps, C))
      if keep < len(pages):
        self.pool.give(pages[keep:])
        del pages[keep:]
