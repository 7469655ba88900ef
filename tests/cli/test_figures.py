"""Figures are drawn when what they show has changed, and only then."""

import os

import pytest

from pdjax.cli import figures

RATES = "--sweep=workload.rate=10,20"


@pytest.fixture
def drawn(command, folder, monkeypatch):
  """Runs the command; the folder of figures, and whether it was drawn."""
  count = []
  draw = figures._draw
  monkeypatch.setattr(
      figures, "_draw", lambda *words: count.append(1) or draw(*words)
  )

  def run(*arguments):
    before = len(count)
    status, _, errors = command(*arguments)
    assert (status, errors) == (0, [])
    return len(count) > before

  return run


def test_figures_of_the_same_runs_stay(drawn, folder):
  place = folder / "results/x/figures"
  assert drawn() and not drawn()
  assert sorted(os.listdir(place)) == [
      "latency.png", "latency.svg", "made_from.json",
  ]
  assert drawn(RATES) and not drawn(RATES) and drawn()
  assert "latency_1.png" not in os.listdir(place)


@pytest.mark.parametrize("name", ["latency.svg", "made_from.json"])
def test_figures_that_are_damaged_are_drawn_again(drawn, folder, name):
  path = folder / "results/x/figures" / name
  assert drawn()
  whole = path.read_bytes()
  path.write_bytes(whole[:-30])
  assert drawn() and path.read_bytes() == whole
  path.unlink()
  assert drawn() and path.read_bytes() == whole


def test_figures_that_cannot_be_drawn_leave_the_old_ones(
    command, folder, monkeypatch
):
  command("--config.workload.rate=10")
  place = folder / "results/x/figures"
  before = {path.name: path.read_bytes() for path in place.iterdir()}

  def full(name, finished, folder):
    (folder / "latency.png").write_text("half")
    raise OSError("no space")

  monkeypatch.setattr(figures, "_draw", full)
  status, out, _ = command(RATES)
  assert status == 1 and "x: OSError: no space" in out
  after = {path.name: path.read_bytes() for path in place.iterdir()}
  assert after == before
