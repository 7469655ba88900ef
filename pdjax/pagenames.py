"""What a page is called: by what it holds and all that comes before it.

Equal names are equal contents, so a cache of pages needs to know nothing else
(`pdjax.prefixcache`).
"""

import bisect
from collections.abc import Iterator

from pdjax.request import Request

_BITS = 32
"""Of a page's number in its name, of a session's, of a branch's."""
_SESSION = 1 << 3 * _BITS
"""Marks the name of a page of a session."""


class PageNames:
  """Names of the pages of requests; equal where all tokens up to there are.

  A page that ends inside a full block of `Request.prefix_ids` is named by the
  chain of blocks up to that one and its number. Any other of a turn is named by
  its session, which goes on for all we know: these names stay. Any other is
  named by its request, which alone may find it again, after a preemption.
  """

  def __init__(self, page_tokens: int):
    self._page_tokens = page_tokens
    self._chains: dict[tuple[int, int], int] = {}
    self._chains_of: dict[int, tuple[int, ...]] = {}
    self._sessions = SessionNames(page_tokens)

  def of(self, request: Request, first: int, end: int) -> Iterator[int]:
    """Names of a request's pages `first` up to `end`."""
    chains = self._chains_of.get(request.id)
    if chains is None:
      chains = self._chains_of[request.id] = tuple(self._chain(request))
    C, block_tokens = self._page_tokens, request.prefix_block_tokens
    common = len(chains) * block_tokens // C
    for page in range(first, min(end, common)):
      yield chains[((page + 1) * C - 1) // block_tokens] << _BITS | page
    if request.session is None:
      yield from _own(request, max(first, common), end)
    else:
      yield from self._sessions.of(request, max(first, common), end)

  def own(self, request: Request, end: int) -> Iterator[int]:
    """Those up to `end` that no other request will ever have."""
    if request.session is not None:
      return iter(())
    chains = self._chains_of.get(request.id, ())
    common = len(chains) * request.prefix_block_tokens // self._page_tokens
    return _own(request, common, end)

  def part(self, request: Request) -> None:
    """What a turn has said is not in the prompts of those after it."""
    if request.session is not None:
      self._sessions.part(request)

  def drop(self, request: Request) -> None:
    """A request that has ended asks no more."""
    self._chains_of.pop(request.id, None)
    self._sessions.drop(request)

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


class SessionNames:
  """Names of pages by the session and the branch of it that they end in.

  All turns of a session read one sequence of tokens, until a turn is given up:
  what it had said by then is in no later prompt, so from the end of its prompt
  on the later turns are another branch.
  """

  def __init__(self, page_tokens: int):
    self._page_tokens = page_tokens
    self._branches: dict[int, tuple[int, ...]] = {}
    """By session: the token at which each branch after the first begins."""
    self._known: dict[int, tuple[int, ...]] = {}
    """Likewise, as a turn found them."""

  def of(self, request: Request, first: int, end: int) -> Iterator[int]:
    """Names of a turn's pages; no page of it has more than one."""
    session, C = request.session, self._page_tokens
    assert session is not None
    begins = self._known.get(request.id)
    if begins is None:
      begins = self._branches.get(session, ())
      self._known[request.id] = begins
    if not begins:
      base = _SESSION | session << _BITS
      yield from range(base | first, (base | first) + max(0, end - first))
      return
    for page in range(first, end):
      branch = bisect.bisect_left(begins, (page + 1) * C)
      yield _SESSION | branch << 2 * _BITS | session << _BITS | page

  def part(self, request: Request) -> None:
    """From the end of a turn's prompt the later ones are another branch."""
    session, tokens = request.session, request.prompt_tokens
    assert session is not None
    begins = self._known.setdefault(
        request.id, self._branches.get(session, ())
    )
    self._branches[session] = (*begins, tokens)

  def drop(self, request: Request) -> None:
    """A turn that has ended asks no more."""
    self._known.pop(request.id, None)


def _own(request: Request, first: int, end: int) -> Iterator[int]:
  base = -1 - request.id << _BITS
  return (base | page for page in range(first, end))
