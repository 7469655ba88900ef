"""Presets have the published figures, and say where they are from."""

import numpy as np
import pytest

from pdjax import config
from pdjax.config import ConfigError
from pdjax.workload import lengths
from pdjax.workload.build import build
from pdjax.workload.presets import PRESETS


@pytest.mark.parametrize(
    ("name", "prompt", "output"),
    [
        ("openchat-sharegpt4", (1730, 5696), (415, 834)),
        ("arxiv-summarization", (7059, 12985), (208, 371)),
    ],
)
def test_published_percentiles(name, prompt, output):
  preset = PRESETS[name]
  rng = np.random.default_rng(0)
  for law, figures in ((preset.prompt, prompt), (preset.output, output)):
    drawn = lengths.draw(law, 40_000, rng).tokens
    assert np.percentile(drawn, (50, 90)) == pytest.approx(figures, rel=0.03)


def test_uniform_lengths_have_their_mean():
  law = PRESETS["inferencex-1k1k"].prompt
  assert (min(law.values), max(law.values)) == (819, 1024)
  assert np.mean(law.values) == pytest.approx(0.9 * 1024, rel=1e-3)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_builds_and_is_cited(name):
  built = build(config.Workload(rate=1.0, lengths=name))
  (note,) = built.conditions["notes"]
  assert PRESETS[name].source in note
  assert ("UNVERIFIED" in note) == (not PRESETS[name].verified)
  assert built.conditions["lengths"] == name


def test_lengths_fit_the_context_of_the_models_served():
  for name in ("sharegpt", "humaneval", "longbench"):
    preset = PRESETS[name]
    assert preset.prompt.high + preset.output.high <= 2047


def test_an_unknown_name_is_one_line():
  with pytest.raises(ConfigError, match="did you mean 'sharegpt'"):
    build(config.Workload(rate=1.0, lengths="shargpt"))
