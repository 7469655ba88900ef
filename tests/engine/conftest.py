"""One compilation cache for all engines of the session."""

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache


@pytest.fixture(scope="session", autouse=True)
def _compilation_cache(tmp_path_factory):
  """Engines of different tests compile the same programs once."""
  jax.config.update(
      "jax_compilation_cache_dir", str(tmp_path_factory.mktemp("programs"))
  )
  jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
  jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
  compilation_cache.reset_cache()
  yield
  jax.config.update("jax_compilation_cache_dir", None)
  compilation_cache.reset_cache()
