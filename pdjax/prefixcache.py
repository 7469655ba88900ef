"""A page pool that remembers what its pages hold, and lends them again.

A full page is named by what it holds and all that comes before it
(`PageNames`). Given back, it stays where it is until its place is needed: the
page unused for longest goes first, the end of a prefix before its beginning.
Requests with equal prefixes hold the same pages; a page goes back when the last
of them lets go. Paging with reference counts: Kwon et al., SOSP'23; the order
of eviction is that of vLLM's and SGLang's caches (Zheng et al., NeurIPS'24).
"""

import itertools
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence

from pdjax.pages import PageAllocator
from pdjax.request import Request

_BITS = 32
"""Of a page's number in its name."""


class PrefixCache(PageAllocator):
  """A `PageAllocator` whose free pages may still hold something."""

  def __init__(self, num_pages: int):
    super().__init__(num_pages)
    self._unheld: OrderedDict[int, None] = OrderedDict()
    """Nobody holds them; the one unused for longest is first."""
    self._page_of: dict[int, int] = {}
    self._name_of: dict[int, int] = {}
    self._sharers: dict[int, int] = {}
    """Holders beyond the first, of pages that have more than one."""

  @property
  def _idle(self) -> Collection[int]:
    return self._unheld

  def take(self, pages: int) -> list[int]:
    """As `PageAllocator.take`; what the pages held is forgotten."""
    if not 0 <= pages <= self.free_pages:
      raise ValueError(f"{pages=} of {self.free_pages} free")
    self.free_pages -= pages
    taken = self._fresh(min(pages, self.num_pages + 1 - self._next))
    for _ in range(pages - len(taken)):
      page, _ = self._unheld.popitem(last=False)
      self._unname(page)
      taken.append(page)
    return taken

  def give(self, pages: Sequence[int]) -> None:
    """One holder lets go of pages, in the order of its context.

    Raises:
      ValueError: more pages would be free than there are.
    """
    for page in reversed(pages):
      if page in self._sharers:
        self._sharers[page] -= 1
        if not self._sharers[page]:
          del self._sharers[page]
      elif page in self._unheld or self.free_pages == self.num_pages:
        raise ValueError(f"{page=} given back to a pool that has it")
      else:
        self._unheld[page] = None
        self.free_pages += 1

  def put_back(self, pages: Sequence[int]) -> None:
    """Takes back what was taken and not written: it is the next to go."""
    self.free_pages += len(pages)
    for page in reversed(pages):
      self._unheld[page] = None
      self._unheld.move_to_end(page, last=False)

  def leading_unnamed(self, most: int) -> int:
    """How many of the next `most` pages to be taken cannot be found."""
    fresh = self.num_pages + 1 - self._next
    if fresh >= most:
      return most
    unnamed = itertools.takewhile(
        lambda page: page not in self._name_of, self._unheld
    )
    return fresh + sum(1 for _ in itertools.islice(unnamed, most - fresh))

  def remember(self, page: int, name: int) -> None:
    """Names a held page by what it holds; the first of equal pages counts."""
    if name not in self._page_of and page not in self._name_of:
      self._page_of[name], self._name_of[page] = page, name

  def forget(self, names: Iterable[int]) -> None:
    """Nobody will ask for these names again."""
    for name in names:
      page = self._page_of.pop(name, None)
      if page is not None:
        del self._name_of[page]

  def found(self, names: Iterable[int]) -> list[int]:
    """Pages that hold the first of `names`, up to one that none holds."""
    pages = []
    for name in names:
      page = self._page_of.get(name)
      if page is None:
        break
      pages.append(page)
    return pages

  def held_among(self, pages: Iterable[int]) -> int:
    """How many of them somebody holds."""
    return sum(page not in self._unheld for page in pages)

  def share(self, pages: Sequence[int]) -> None:
    """One more holder of pages that were `found`."""
    for page in pages:
      if page in self._unheld:
        del self._unheld[page]
        self.free_pages -= 1
      else:
        self._sharers[page] = self._sharers.get(page, 0) + 1

  def check(self, held: Sequence[int]) -> None:
    """Law 2: every page is free, or held by as many as it was lent to."""
    holders = Counter(held)
    for page, count in holders.items():
      if count != 1 + self._sharers.get(page, 0):
        raise ValueError(f"{page=} has {count} holders, not as many as noted")
    super().check([*holders])

  def _unname(self, page: int) -> None:
    name = self._name_of.pop(page, None)
    if name is not None:
      del self._page_of[name]


class PageNames:
  """Names of the pages of requests; equal where all tokens up to there are.

  A page that ends inside a full block of `Request.prefix_ids` is named by the
  chain of blocks up to that one and its number. Any other is named by its
  request, which alone may find it again, after a preemption.
  """

  def __init__(self, page_tokens: int):
    self._page_tokens = page_tokens
    self._chains: dict[tuple[int, int], int] = {}
    self._chains_of: dict[int, tuple[int, ...]] = {}

  def of(self, request: Request, first: int, end: int) -> Iterator[int]:
    """Names of a request's pages `first` up to `end`."""
    chains = self._chains_of.get(request.id)
    if chains is None:
      chains = self._chains_of[request.id] = tuple(self._chain(request))
    C, block_tokens = self._page_tokens, request.prefix_block_tokens
    common = len(chains) * block_tokens // C
    for page in range(first, min(end, common)):
      yield chains[((page + 1) * C - 1) // block_tokens] << _BITS | page
    yield from _own(request, max(first, common), end)

  def own(self, request: Request, end: int) -> Iterator[int]:
    """Those up to `end` that no other request has."""
    chains = self._chains_of.get(request.id, ())
    common = len(chains) * request.prefix_block_tokens // self._page_tokens
    return _own(request, common, end)

  def drop(self, request: Request) -> None:
    """A request that has ended asks no more."""
    self._chains_of.pop(request.id, None)

  def _chain(self, request: Request) -> Iterator[int]:
    """A number for every full block and all blocks before it."""
    if not request.prefix_ids:
      return
    chain = 0
    full = request.prompt_tokens // request.prefix_block_tokens
    for block in request.prefix_ids[:full]:
      link = (chain, block)
      chain = self._chains.setdefault(link, len(self._chains) + 1)
      yield chain


def _own(request: Request, first: int, end: int) -> Iterator[int]:
  base = -1 - request.id << _BITS
  return (base | page for page in range(first, end))
