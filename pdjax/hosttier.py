"""Names of pages that a prefix cache has evicted and host memory still has.

Of limited size; what has been unused for longest goes first. A page that comes
back stays here too, so that evicting it again costs nothing. Which pages these
are is the cache's business (`pdjax.prefixcache`), what moving them costs the
backend's.
"""

from collections import OrderedDict
from collections.abc import Iterable


class HostTier:
  """The second tier of one worker's prefix cache."""

  def __init__(self, num_pages: int):
    self.num_pages = num_pages
    self._names: OrderedDict[int, None] = OrderedDict()
    """The one unused for longest is first."""

  def __len__(self) -> int:
    return len(self._names)

  def put(self, name: int) -> None:
    """Takes a page that has been evicted."""
    self._names[name] = None
    self._names.move_to_end(name)
    if len(self._names) > self.num_pages:
      self._names.popitem(last=False)

  def leading(self, names: Iterable[int]) -> list[int]:
    """The first of `names` that are here, up to one that is not."""
    found = []
    for name in names:
      if name not in self._names:
        break
      found.append(name)
    return found

  def use(self, names: Iterable[int]) -> None:
    """These are needed now; they go last."""
    for name in names:
      self._names.move_to_end(name)

  def forget(self, names: Iterable[int]) -> None:
    """Nobody will ask for these names again."""
    for name in names:
      self._names.pop(name, None)
