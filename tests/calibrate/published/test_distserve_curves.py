"""The experiment on DistServe's curves: crossings, set-ups, one run of each."""

import importlib
from pathlib import Path

import numpy as np
import pytest

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
ROOM = {("opt-13b", tp, 1): 66144 for tp in (1, 2)}


@pytest.fixture(name="sharegpt")
def _sharegpt(monkeypatch):
  monkeypatch.syspath_prepend(str(EXPERIMENTS))
  return importlib.import_module("distserve_sharegpt")


def test_a_crossing_is_where_the_line_passes(sharegpt):
  rates = (*sharegpt.RATES, *sharegpt.MORE_RATES)
  falling = np.interp(rates, [1.0, 1.5], [1.0, 0.8])
  assert sharegpt.crossing(falling) == pytest.approx(1.25)
  assert sharegpt.crossing(np.ones(len(rates))) == rates[-1]
  assert sharegpt.crossing(np.zeros(len(rates))) == rates[0]


def test_each_set_up_serves_and_slower_steps_keep_less(sharegpt):
  """First principles: no file is needed; far beyond what one chip serves."""
  for each in sharegpt.SET_UPS:
    easy, hard = (
        sharegpt.kept(each.run(rate, 0, "analytical", ROOM))
        for rate in (0.25, 10.0)
    )
    assert all(0 <= share <= 1 for share in (*easy, *hard))
    assert easy[0] <= min(easy[1:]) and hard[0] < easy[0]


def test_the_table_holds_published_beside_ours(sharegpt):
  shape = (len(sharegpt.RATES) + len(sharegpt.MORE_RATES), 3, 3)
  shares = np.linspace(1, 0.5, shape[0])[:, None, None] * np.ones(shape)
  curves = {each.name: shares for each in sharegpt.SET_UPS}
  lines = list(sharegpt.tables(curves))
  assert sum(line.startswith("| 0.25 |") for line in lines) == 1
  assert "2 to 4.6, of three models" in lines[-1]
  assert "1.00 (1.00 to 1.00)" in lines[-1]


def test_figure_1_found_what_the_page_shows(monkeypatch):
  """The script's docstring and its page's column of vLLM's fits."""
  monkeypatch.syspath_prepend(str(EXPERIMENTS))
  figure1 = importlib.import_module("distserve_figure1")
  page = (EXPERIMENTS.parent / "docs/fidelity_distserve.md").read_text()
  rows = [line.split("|") for line in page.splitlines() if "|" in line]
  found = [row[3].strip() for row in rows if row[1].strip() in figure1.CASES]
  assert len(found) == len(figure1.CASES)
  words = f"{', '.join(found[:-1])} and {found[-1]}"
  assert words in " ".join((figure1.__doc__ or "").split())
