"""One or more mistakes of a user, a line each."""

_LONGEST_LINE = 800
"""Of a message; what a user typed may be longer."""


class ConfigError(ValueError):
  """One or more mistakes of the user; `errors` holds a line for each."""

  def __init__(self, errors: list[str]):
    self.errors = list(dict.fromkeys(map(_one_line, errors)))
    super().__init__("\n".join(self.errors))

  def __reduce__(self):
    """Made anew of its lines where it comes from another process."""
    return type(self), (self.errors,)


def _one_line(error: str) -> str:
  text = " ".join(error.splitlines())
  return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}..."
