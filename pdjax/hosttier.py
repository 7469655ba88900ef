"""Names of pages that a prefix cache has evicted and host memory still has.

Of limited size; what has been unused for longest goes first. A page that comes
back stays here too, so that evicting it again costs nothing. Which pages these
are is the cache's business (`pdjax.prefixcache`), moving them and what that
costs the backend's: it may ask for a list of all moves.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

Move = tuple[str, int, int]
"""(`out`, page, name), (`back`, page, name), or (`drop`, 0, name)."""


class HostTier:
  """The second tier of one worker's prefix cache."""

  def __init__(self, num_pages: int):
    self.num_pages = num_pages
    self.moves: list[Move] | None = None
    """In order; whoever wants them puts a list here and empties it."""
    self._names: OrderedDict[int, None] = OrderedDict()
    """The one unused for longest is first."""
    self._coming: frozenset[int] = frozenset()
    """On their way back: they are not dropped."""

  def __len__(self) -> int:
    return len(self._names)

  def put(self, page: int, name: int) -> None:
    """Takes what a page holds, which is evicted."""
    if name not in self._names:
      self._note("out", page, name)
    self._names[name] = None
    self._names.move_to_end(name)
    while len(self._names) > self.num_pages:
      oldest = next(iter(self._names))
      if oldest in self._coming:
        return
      self._drop(oldest)

  def leading(self, names: Iterable[int]) -> list[int]:
    """The first of `names` that are here, up to one that is not."""
    found = []
    for name in names:
      if name not in self._names:
        break
      found.append(name)
    return found

  def call(self, names: Sequence[int]) -> None:
    """These are to come back, and must still be here when they do."""
    for name in names:
      self._names.move_to_end(name)
    self._coming = frozenset(names)

  def bring(self, pages: Iterable[int], names: Iterable[int]) -> None:
    """What was called is in these pages now."""
    for page, name in zip(pages, names, strict=False):
      self._note("back", page, name)
    self._coming = frozenset()

  def forget(self, name: int) -> None:
    """Nobody will ask for it again."""
    if name in self._names:
      self._drop(name)

  def _drop(self, name: int) -> None:
    del self._names[name]
    self._note("drop", 0, name)

  def _note(self, kind: str, page: int, name: int) -> None:
    if self.moves is not None:
      self.moves.append((kind, page, name))
