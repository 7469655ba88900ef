"""One process at a time, on file systems that have locks."""

import contextlib
import errno
import fcntl
from collections.abc import Iterator
from pathlib import Path

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
LOCK, REPORT_LOCK = ".lock", ".lock-report"
"""The second for the report, which takes longer to make."""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
  """While this process alone does what the lock at `path` is for."""
  with open(path, "w") as file:
    try:
      fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
      if error.errno not in _NO_LOCKS:  # the file system has none
        raise
    yield
