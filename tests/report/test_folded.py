"""Seeds of one design are a row of means, and say so."""

from dataclasses import replace

from pdjax.report.folded import folded, told_apart
from pdjax.report.groups import ReportedRun
from pdjax.report.tables import comparison
from tests.report.test_tables import _reported


def seeded(label, seed, ttft_ms=100.0, **said):
  run = _reported(f"{label} seed={seed}")
  contract = {**run.conditions["contract"], "content_sha256": f"of {seed}"}
  return ReportedRun(
      label=run.label,
      summary={**run.summary, "p50_ttft_ms": ttft_ms, **said},
      conditions={**run.conditions, "contract": contract},
      config={"strategy": {"kind": label}, "workload": {"seed": seed}},
  )


def test_seeds_are_one_block_of_means():
  text = comparison([
      seeded(name, seed, 100.0 * (seed + 1))
      for name in "ab" for seed in range(3)
  ])
  assert text.count("SIMULATED") == 1 and "content_sha256" not in text
  assert "means over 3 seeds (0 to 2)" in " ".join(text.split())
  rows = [line.split() for line in text.splitlines()
          if line.startswith(("a ", "b "))]
  assert [row[:2] for row in rows[:2]] == [["a", "200"], ["b", "200"]]
  assert "5 requests" in text and "Over seeds" in text
  assert "one set of costs: 20 draws" in text


def test_a_sentence_says_of_how_many_seeds_it_holds():
  (one,) = folded([
      seeded("a", seed, flags=["late"] * (seed < 2) + ["grew"], notes=[])
      for seed in range(3)
  ])
  assert one.summary["flags"] == ["late (2 of 3 seeds)", "grew"]


def test_what_one_seed_lacks_is_no_mean():
  (one,) = folded([
      seeded("a", 0, None, refused=[]),
      seeded("a", 1, refused=["p99_ttft_ms"]),
  ])
  assert one.summary["p50_ttft_ms"] is None
  assert one.summary["refused"] == ["p99_ttft_ms"]
  assert one.summary["kind"] == "simulated" and one.label == "a"


def test_equal_runs_again_stay_apart():
  runs = [seeded("a", 0), seeded("a", 0), seeded("a", 1)]
  assert folded(runs) == runs
  assert folded(runs[:1]) == runs[:1]


def test_other_seeds_are_told_by_their_name():
  runs = [seeded("a", 0), seeded("b", 1)]
  assert told_apart(runs) == ["workload.seed"]
  text = comparison(runs)
  assert "contracts differ in workload.seed" in text
  same = replace(runs[1], config={**runs[1].config, "workload": {"seed": 0}})
  assert told_apart([runs[0], same]) == ["content_sha256"]
