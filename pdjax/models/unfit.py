"""How a file or folder of weights is refused: a line for each reason."""

import pathlib

from pdjax.config import ConfigError


def unfit(path: pathlib.PurePath, *whys: str) -> ConfigError:
  """To be raised; each of `whys` goes on where the path's name ends.

  >>> print(unfit(pathlib.PurePosixPath("a.gguf"), "is no GGUF file"))
  model.weights: 'a.gguf' is no GGUF file
  """
  return ConfigError([f"model.weights: {str(path)!r} {why}" for why in whys])
