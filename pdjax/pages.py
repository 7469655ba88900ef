"""The free list of one worker's page pool. Host integers only.

A page holds the keys and values of `page_tokens` tokens in every layer. Page 0
is never handed out: it is the sentinel that masked rows write to. Who holds
which page is written in each request's `Progress`; the allocator knows only
which pages nobody holds.
"""

from collections.abc import Collection, Sequence

SENTINEL_PAGE = 0


class PageAllocator:
  """Hands out pages 1..num_pages; raises rather than lose or double one."""

  def __init__(self, num_pages: int):
    if num_pages < 1:
      raise ValueError(f"{num_pages=} must be at least 1")
    self.num_pages = self.free_pages = num_pages
    self._returned: list[int] = []
    """Handed out once and given back; the last one goes first."""
    self._next = SENTINEL_PAGE + 1
    """From here on no page was ever handed out: a pool costs what it uses."""

  @property
  def _idle(self) -> Collection[int]:
    """Pages handed out once that nobody holds now."""
    return self._returned

  def take(self, pages: int) -> list[int]:
    """Removes `pages` pages from the free list.

    Raises:
      ValueError: fewer are free, or `pages` is negative.
    """
    if not 0 <= pages <= self.free_pages:
      raise ValueError(f"{pages=} of {self.free_pages} free")
    self.free_pages -= pages
    returned = self._returned
    keep = max(0, len(returned) - pages)
    taken = returned[keep:]
    del returned[keep:]
    taken.reverse()
    if len(taken) < pages:
      taken += self._fresh(pages - len(taken))
    return taken

  def _fresh(self, pages: int) -> list[int]:
    """Pages that were never handed out."""
    self._next += pages
    return [*range(self._next - pages, self._next)]

  def give(self, pages: Sequence[int]) -> None:
    """Returns pages to the free list.

    Raises:
      ValueError: more pages would be free than there are.
    """
    if self.free_pages + len(pages) > self.num_pages:
      raise ValueError(f"{len(pages)} pages given back to a full pool")
    self.free_pages += len(pages)
    self._returned.extend(reversed(pages))

  def put_back(self, pages: Sequence[int]) -> None:
    """Returns pages that were taken and never written."""
    self.give(pages)

  def check(self, held: Sequence[int]) -> None:
    """Law 2: free and held pages together are each page exactly once.

    Raises:
      ValueError: a page is lost, doubled, or not of this pool.
    """
    out = sorted([*self._idle, *held])
    unused = self.num_pages + 1 - self._next
    if (
        out != list(range(SENTINEL_PAGE + 1, self._next))
        or self.free_pages != len(self._idle) + unused
    ):
      raise ValueError(
          f"{self.free_pages} free and {len(held)} held pages are not the"
          f" {self.num_pages} of the pool"
      )
