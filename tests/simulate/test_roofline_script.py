"""experiments/roofline.py: what was asked for is printed and drawn."""

import importlib
import itertools
import re
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture(name="script")
def _script(monkeypatch, tmp_path, capsys):
  """The script by its flags: its status, what it printed, its module."""
  monkeypatch.syspath_prepend(str(EXPERIMENTS))
  module = importlib.import_module("roofline")

  def run(*flags):
    asked = ["roofline.py", f"--out={tmp_path}", *flags]
    monkeypatch.setattr("sys.argv", asked)
    return module.main(), *capsys.readouterr()

  return run


def test_the_textbooks_numbers_stay_and_the_model_asked_for_follows(script):
  status, told, _ = script("--model=llama-3-70b", "--chip=h100-sxm", "--tp=8")
  texts, _, own = told.partition("\n\n")
  assert status == 0 and "ridge of an A100: 153 FLOP/byte" in texts
  assert "llama-3-8b: 268 MB, 10.7 ms over" in texts
  # 8 x 989.5 TFLOP/s over 8 x 3,350 GB/s; 2 x 80 x 8 x 128 values of 2 bytes.
  assert "llama-3-70b on 8 x h100-sxm: 7916 TFLOP/s, 26800 GB/s" in own
  assert "ridge 295 FLOP/byte" in own and "at 327,680 bytes a token" in own
  assert "A100" not in own and "llama-3-8b" not in own


def test_rows_have_bounds_and_times(script):
  """A decode alone: 15.0 GB of weights (no input embedding) and 134 MB of
  cache at 2,039 GB/s are 7.43 ms."""
  _, told, _ = script()
  row = re.compile(
      r"(prefill|decode) (\d+) .*?([\d.]+) +(compute|bandwidth) +([\d.]+) ms"
      r" +([\d.]+) ms  \w"
  )
  rows = [found.groups() for found in map(row.match, told.splitlines())
          if found]
  assert len(rows) == 12
  for phase, count, intensity, bound, least, simulated in rows:
    assert bound == ("compute" if float(intensity) > 153 else "bandwidth")
    assert float(least) < float(simulated)
    if (phase, count) == ("decode", "1"):
      assert float(least) == 7.43 and "floor of a decode step" in told
  assert "does not fit" not in told


@pytest.mark.parametrize(
    ("flags", "stars"),
    [
        (("--model=deepseek-v3", "--chip=rtx-4090"), 12),
        # 16.1 GB of weights in 21.6: no room for 64 x 1024 tokens.
        (("--model=llama-3-8b", "--chip=rtx-4090"), 2),
    ],
)
def test_what_does_not_fit_is_said(script, flags, stars):
  status, told, _ = script(*flags)
  assert status == 0
  assert told.count(" * ") == stars and "*: does not fit in memory." in told
  assert ("! does not fit: deepseek-v3 on 1 x rtx-4090: each chip" in told) == (
      stars == 12
  )


@pytest.mark.parametrize(
    ("flag", "line"),
    [
        ("--tp=5", "--tp: tp 5 does not divide the 32 query heads"),
        ("--model=lama-3-8b", "--model: unknown 'lama-3-8b'; did you mean"),
        ("--model=from_weights", "--model: unknown 'from_weights'; known: "),
        ("--chip=h100", "--chip: unknown 'h100'; did you mean 'h100-sxm'"),
    ],
)
def test_what_cannot_be_is_one_line(script, flag, line):
  status, told, wrong = script(flag)
  assert status == 2 and not told
  assert wrong.startswith(line) and wrong.count("\n") == 1


@pytest.mark.parametrize(
    ("model", "chip"),
    [
        ("llama-3-8b", "a100-80gb-sxm"), ("deepseek-v3", "rtx-4090"),
        ("mixtral-8x7b", "h200-sxm"), ("tiny", "tpu-v5e"),
        ("opt-175b", "a10"),
    ],
)
def test_no_count_lies_on_another_and_the_legend_says_what_counts(
    script, monkeypatch, model, chip
):
  from matplotlib import pyplot

  picture = importlib.import_module("roofline_picture")
  made = []
  monkeypatch.setattr(
      picture, "picture",
      lambda *given, real=picture.picture: made.append(real(*given)) or made[0],
  )
  script(f"--model={model}", f"--chip={chip}")
  (axes,) = made[0].axes
  boxes = [text.get_window_extent() for text in axes.texts]
  assert len(boxes) == 12
  assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
  legend = " ".join(t.get_text() for t in axes.get_legend().get_texts())
  assert "prompt tokens in a step" in legend
  assert "sequences in a step, 1024 tokens each" in legend
  pyplot.close(made[0])
