"""A page pool that remembers what its pages hold, and lends them again.

A full page is named by what it holds and all that comes before it
(`pdjax.pagenames`). Given back, it stays where it is until its place is needed:
the page unused for longest goes first, the end of a prefix before its start.
Requests with equal prefixes hold the same pages; a page goes back when the last
of them lets go. Paging with reference counts: Kwon et al., SOSP'23; the order
of eviction is that of vLLM's and SGLang's caches (Zheng et al., NeurIPS'24).
"""

import itertools
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Sequence

from pdjax.hosttier import HostTier
from pdjax.pages import PageAllocator


class PrefixCache(PageAllocator):
  """A `PageAllocator` whose free pages may still hold something.

  `host` takes what is evicted.
  """

  def __init__(self, num_pages: int, host: HostTier | None = None):
    super().__init__(num_pages)
    self.host = host
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
      if self.host is not None:
        self.host.forget(name)

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
      if self.host is not None:
        self.host.put(page, name)
