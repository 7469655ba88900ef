"""The noise floor is a repeat's largest difference, either way."""

from pdjax.report.groups import ReportedRun
from pdjax.report.noise import noise


def _run(label, config, kind="measured", chips=1, **figures) -> ReportedRun:
  return ReportedRun(
      label=label,
      summary={"kind": kind, **figures},
      conditions={"contract": {"chips": chips}},
      config={"is": config},
  )


def test_each_run_is_held_to_the_largest_difference_of_a_repeat():
  runs = [
      _run("base", 1, p50_ttft_ms=100.0, p99_itl_ms=10.0),
      _run("again", 1, p50_ttft_ms=80.0, p99_itl_ms=11.0),
      _run("near", 2, p50_ttft_ms=81.0, p99_itl_ms=12.0),
      _run("far", 3, p50_ttft_ms=50.0, p99_itl_ms=None),
      _run("other", 4, chips=2, p50_ttft_ms=1.0),
  ]
  assert noise(runs).splitlines() == [
      "noise: again differs from base by up to 25% (TTFT p50)",
      "against base: near within the noise; far beyond it in TTFT p50 -50%",
  ]


def test_without_a_measured_repeat_there_is_no_floor():
  figures = {"p50_ttft_ms": 1.0}
  assert noise([_run("a", 1, **figures), _run("b", 2, **figures)]) == ""
  twice = [_run(name, 1, "simulated", **figures) for name in "ab"]
  assert noise(twice) == ""
