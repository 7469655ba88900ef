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
from pdjax.hosttier import HostTier
from pdjax.pagenames import PageNames
from pdjax.pages import PageAllocator
from pdjax.prefixcache import PrefixCache
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
  prefix_cache: bool = False
  """Whether pages stay findable after their request."""
  host_pages: int = 0
  """Evicted ones that host memory keeps."""
  staging_pages: int | None = None
  """Most that are on their way from here at a time; None: no bound."""


@dataclasses.dataclass(slots=True, eq=False)
class Run:
  """A step, or a row of decode steps, that is being worked on.

  The pages for all `repeats` steps are at the end of each request's page list
  from the start; those no step has reached yet can be taken back.
  """

  step: Step
  prompts: list[Progress]
  decodes: list[Progress]
  room_tokens: list[int]
  """Tokens for which each decode had pages left when the run starts."""
  repeats: int
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
  cache: PrefixCache | None
  """The pool again, if it keeps prefixes."""
  names: PageNames
  lost: bool = False
  """Gone until it is back with an empty pool; nobody may use it."""
  stopping: bool = False
  """Its `WorkerLost` is about to come; it still has what it has."""
  outstanding_tokens: int = 0
  """Prompt and answer tokens, so far, of all requests waiting or held here."""
  staged_pages: int = 0
  """Of transfers from here that are under way, also from a pool since lost."""
  id: int = dataclasses.field(init=False)
  groups: tuple[dict[int, Progress], ...] = dataclasses.field(init=False)
  """Requests with pages here, each in exactly one group."""

  def __post_init__(self):
    self.id = self.spec.id
    self.groups = (
        self.prefilling, self.decoding, self.leaving, self.inbound
    )

  @classmethod
  def of(cls, spec: WorkerSpec, names: PageNames) -> "Worker":
    """A worker with an empty pool; `names` are those of all workers."""
    pool, cache = _empty_pool(spec)
    return cls(
        spec, spec.role, pool, deque(), {}, {}, {}, {}, [None] * spec.lanes,
        cache, names,
    )

  def clear(self) -> None:
    """Nothing waits, runs or is held here any more; the pool is new."""
    self.pool, self.cache = _empty_pool(self.spec)
    self.waiting.clear()
    for group in self.groups:
      group.clear()
    self.runs = [None] * self.spec.lanes
    self.outstanding_tokens = 0

  @property
  def free_lane(self) -> int | None:
    return self.runs.index(None) if None in self.runs else None

  @property
  def interruptible(self) -> bool:
    """Whether a run here has steps that can still be recalled."""
    for run in self.runs:
      if run is not None and run.interruptible:
        return True
    return False

  @property
  def has_prompts(self) -> bool:
    """Whether anyone here waits for a prefill or is in one."""
    return bool(self.prefilling or self.waiting)

  @property
  def num_seqs(self) -> int:
    """Requests that hold pages here."""
    return (
        len(self.prefilling) + len(self.decoding)
        + len(self.leaving) + len(self.inbound)
    )

  def pages_for(self, tokens: int) -> int:
    return pages_for(tokens, self.spec.page_tokens)

  def held(self, progress: Progress) -> int:
    return len(progress.pages.get(self.id, ()))

  def need_pages(self, progress: Progress) -> int:
    """Pages to admit a request: its tokens and, unless P, a first decode."""
    tokens = progress.target_tokens + (self.role != "P")
    return -(-tokens // self.spec.page_tokens)

  def most_pages(self, request: Request) -> int:
    """Pages of a request with the longest answer it declares; on P without."""
    tokens = request.prompt_tokens
    if self.role != "P":
      tokens += request.max_tokens
    return -(-tokens // self.spec.page_tokens)

  # The prefix cache, if there is one. ----------------------------------------

  def cached_prefix_tokens(self, request: Request) -> int:
    """Leading prompt tokens whose keys and values are kept here already.

    Whole pages, and never the whole prompt: its last token must be computed.
    """
    pages = self.cached_pages(request, request.prompt_tokens)
    hosted = self.hosted(request, request.prompt_tokens, len(pages))
    return (len(pages) + len(hosted)) * self.spec.page_tokens

  def cached_pages(self, request: Request, tokens: int) -> list[int]:
    """Pages here that hold the first of a request's `tokens` tokens."""
    if not self.cache:
      return []
    end = (tokens - 1) // self.spec.page_tokens
    return self.cache.found(self.names.of(request, 0, end))

  def hosted(self, request: Request, tokens: int, first: int) -> list[int]:
    """Names of the pages from `first` on that host memory has."""
    if not self.cache or self.cache.host is None:
      return []
    end = (tokens - 1) // self.spec.page_tokens
    return self.cache.host.leading(self.names.of(request, first, end))

  def ready_pages(self, progress: Progress, in_step: bool = False) -> int:
    """Pages here that can be sent: full ones, or all once its prompt is done.

    With `in_step` those that are so once the step under way is over.
    """
    tokens = progress.computed_tokens
    if in_step:
      tokens += self.tokens_in_step(progress)
    if progress.id in self.prefilling and tokens < progress.target_tokens:
      return tokens // self.spec.page_tokens
    return self.pages_for(tokens)

  def sendable(self, pages: int) -> int:
    """Of so many pages, those that its staging budget has room for now."""
    most_pages = self.spec.staging_pages
    if most_pages is None:
      return pages
    return min(pages, most_pages - self.staged_pages)

  def tokens_in_step(self, progress: Progress) -> int:
    """Prompt tokens of a request that the steps under way compute."""
    return sum(
        tokens for run in self.runs if run
        for request, tokens in run.step.prefill if request == progress.id
    )

  def new_pages(self, progress: Progress, pages: int) -> int:
    """Free pages that a request takes which is to hold `pages` here.

    Those of its prefix that somebody holds already cost nothing.
    """
    if not self.cache:
      return pages
    found = self.cached_pages(progress.request, progress.target_tokens)
    return pages - self.cache.held_among(found)

  def tokens_to_compute(self, progress: Progress) -> int:
    """Tokens a prefill of it would take here now."""
    if progress.id in self.prefilling or not self.cache:
      return progress.remaining_prefill_tokens
    found = len(self.cached_pages(progress.request, progress.target_tokens))
    found += len(self.hosted(progress.request, progress.target_tokens, found))
    return progress.target_tokens - found * self.spec.page_tokens

  def share_cached(self, progress: Progress) -> tuple[list[int], list[int]]:
    """Holds what the cache has of a request's prefix, and says so.

    Returns:
      Pages that are here, and names of those that host memory has after them,
      which `bring_back` puts into pages that have been taken.
    """
    if not self.cache:
      return [], []
    found = self.cached_pages(progress.request, progress.target_tokens)
    hosted = self.hosted(
        progress.request, progress.target_tokens, len(found)
    )
    self.cache.share(found)
    if hosted and self.cache.host is not None:
      self.cache.host.call(hosted)
    progress.reused_pages[self.id] = len(found) + len(hosted)
    return found, hosted

  def bring_back(self, names: list[int], pages: list[int]) -> None:
    """The first of `pages` hold what host memory has under `names`."""
    if not names:
      return
    assert self.cache is not None and self.cache.host is not None
    self.cache.host.bring(pages, names)
    for page, name in zip(pages, names, strict=False):
      self.cache.remember(page, name)

  def remember(self, progress: Progress, before: int, tokens: int) -> None:
    """Names the pages that filled as a request's tokens rose to `tokens`."""
    C = self.spec.page_tokens
    first, end = before // C, tokens // C
    if not self.cache or first == end:
      return
    pages = progress.pages[self.id][first:end]
    names = self.names.of(progress.request, first, end)
    for page, name in zip(pages, names, strict=True):
      self.cache.remember(page, name)

  def forget(self, progress: Progress) -> None:
    """Pages that only this request could find again are of no more use."""
    if self.cache:
      tokens = progress.request.prompt_tokens + progress.generated_tokens
      end = self.pages_for(tokens)
      self.cache.forget(self.names.own(progress.request, end))

  # Pages. ---------------------------------------------------------------------

  def missing_pages(self, progress: Progress) -> int:
    """Pages a decode lacks for its next step: one or none."""
    capacity_tokens = len(progress.pages[self.id]) * self.spec.page_tokens
    return int(progress.computed_tokens >= capacity_tokens)

  def next_step_pages(self) -> int:
    """Pages all decodes here lack for one step more."""
    return sum(map(self.missing_pages, self.decoding.values()))

  def margin_pages(self) -> int:
    """Pages admission leaves free for the requests already here."""
    if self.role == "P" or not (seqs := self.num_seqs):
      return 0
    reserve = self.spec.reserve_pages * (seqs + 1)
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

  def grant(self, run: Run) -> bool:
    """Takes the pages of a run, of as many steps as the free pages cover.

    Returns:
      Whether that is any; `run.repeats` says how many.
    """
    asked, rooms = run.repeats, run.room_tokens
    if not rooms or min(rooms) >= asked:
      return True
    steps, pages = asked, self._grant_pages(run, asked)
    if pages > (free := self._grantable_pages(run, pages)):
      steps = bisect.bisect_left(
          range(1, asked + 1),
          True,
          key=lambda steps: self._grant_pages(run, steps) > free,
      )
      pages = self._grant_pages(run, steps)
    run.repeats = steps
    C, taken, at = self.spec.page_tokens, self.pool.take(pages), 0
    for decode, room in zip(run.decodes, rooms, strict=True):
      if room < steps:
        end = at - (room - steps) // C
        decode.pages[self.id] += taken[at:end]
        at = end
    return steps > 0

  def _grantable_pages(self, run: Run, wanted: int) -> int:
    """Free pages a run may take at once.

    It takes those of later steps before their time, so these must be of no use
    to anybody: what a prefix cache can still find is evicted by the step that
    needs the page, as if each step were a run.
    """
    if not self.cache:
      return self.pool.free_pages
    useless = self.cache.leading_unnamed(wanted)
    return max(useless, min(self._grant_pages(run, 1), self.pool.free_pages))

  def _grant_pages(self, run: Run, steps: int) -> int:
    """Pages that `steps` steps take beyond those held before the run."""
    C, pages = self.spec.page_tokens, 0
    for room in run.room_tokens:
      if room < steps:
        pages -= (room - steps) // C
    return pages

  def unreached_pages(self, run: Run, steps: int) -> int:
    """Granted pages that the first `steps` steps of a run do not need."""
    return self._grant_pages(run, run.repeats) - self._grant_pages(run, steps)

  def shorten(self, run: Run, steps: int) -> None:
    """Cuts a run to `steps` steps and takes back the pages beyond."""
    if steps >= run.repeats:
      return
    longer, run.repeats = run.repeats, steps
    C, unreached = self.spec.page_tokens, []
    # The first decode's pages are to be the next to go.
    for decode, room in zip(run.decodes, run.room_tokens, strict=True):
      if room < longer:
        back = (min(room - steps, 0) // C) - (room - longer) // C
        if back:
          pages = decode.pages[self.id]
          unreached[:0] = pages[-back:]
          del pages[-back:]
    if unreached:
      self.pool.put_back(unreached)


def _empty_pool(spec: WorkerSpec) -> tuple[PageAllocator, PrefixCache | None]:
  cache = None
  if spec.prefix_cache:
    host = HostTier(spec.host_pages) if spec.host_pages else None
    cache = PrefixCache(spec.pool_pages, host)
  return cache or PageAllocator(spec.pool_pages), cache
