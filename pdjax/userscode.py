"""Code that a user wrote, called: whatever it raises is one line."""

import contextlib
from collections.abc import Iterator

from pdjax.config import ConfigError


@contextlib.contextmanager
def users_code(what: str) -> Iterator[None]:
  """Whatever is raised within, exits too, becomes a mistake in `what`.

  Raises:
    ConfigError: something was raised.
  """
  try:
    yield
  except KeyboardInterrupt:
    raise
  except BaseException as error:
    raise ConfigError([f"{what}: {raised(error)}"]) from error


def raised(error: BaseException) -> str:
  """An exception in words."""
  try:
    return f"{type(error).__name__}: {error}"
  except Exception:  # some cannot even say what they are
    return f"{type(error).__name__}: no message"
