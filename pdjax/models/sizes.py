"""Which model a config means, as sizes.

A light module: it reads weights' descriptions only where a config says that
the sizes are theirs.
"""

from pdjax import config
from pdjax.models.presets import preset
from pdjax.models.spec import ModelSpec


def spec_of(model: config.Model) -> ModelSpec:
  """The sizes of a model: a preset's, or those its weights state.

  Raises:
    ConfigError: no such preset, or no weights to ask.
  """
  if model.preset != config.FROM_WEIGHTS:
    return preset(model.preset)
  if model.weights in config.NAMED_WEIGHTS:
    raise config.ConfigError([
        f"model.preset: {config.FROM_WEIGHTS!r} needs model.weights to be a"
        f" file or folder, not {model.weights!r}"
    ])
  from pdjax.models import checkpoint

  path = checkpoint.path_of(model)
  assert path is not None
  return checkpoint.opened(path).spec
