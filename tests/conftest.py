"""Severe test session: eight CPU devices, strict dtypes, one data folder.

Nothing here imports JAX; the variables only matter once a test does.
"""

import os
import sys
from pathlib import Path

import hypothesis
import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
_FLAG = "--xla_force_host_platform_device_count"
if _FLAG not in os.environ.get("XLA_FLAGS", ""):
  os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_FLAG}=8"
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")
os.environ.setdefault("MPLBACKEND", "Agg")

# The same examples every time where a failure would only be bad luck; new ones
# on every run at a desk.
# No deadlines: how long an example takes says nothing of what it shows.
hypothesis.settings.register_profile("own", deadline=None)
hypothesis.settings.load_profile("own")
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
  hypothesis.settings.load_profile("ci")


@pytest.fixture(scope="session")
def data_dir() -> Path:
  """Real traces, reference logits and spec sheets, kept beside the checkout."""
  beside = Path(__file__).resolve().parents[2] / "shared" / "data"
  folder = Path(os.environ.get("PDJAX_DATA", beside))
  if not folder.is_dir():
    pytest.skip(f"no data folder at {folder}; set PDJAX_DATA")
  return folder


@pytest.fixture(autouse=True)
def forget_modules(tmp_path_factory):
  """What a test wrote and imported is gone before the next one.

  So is where it was found: the next `mine.py` is another.
  """
  before, path = set(sys.modules), list(sys.path)
  yield
  sys.path[:] = path
  folder = str(tmp_path_factory.getbasetemp())
  for name in set(sys.modules) - before:
    if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
      del sys.modules[name]
