"""Runs of several seeds: means with intervals, ratios paired by seed."""

from dataclasses import replace

from pdjax.report.groups import ReportedRun
from pdjax.report.seeds import over_seeds


def run(label, seed, goodput, attainment=0.9, protocol="steady"):
  strategy = label.split()[0]
  return ReportedRun(
      label=label,
      summary={
          "kind": "simulated", "sent": 500, "aborted": 0,
          "slo_attainment": attainment,
          "request_goodput_per_chip": goodput,
      },
      conditions={"contract": {"protocol": protocol, "content_sha256": seed}},
      config={"workload": {"seed": seed}, "strategy": {"kind": strategy}},
  )


def test_one_seed_says_nothing():
  assert over_seeds([run("a", 0, 1.0), run("b", 0, 2.0)]) == ""


def test_a_clear_difference_is_a_ratio():
  runs = [
      run(f"{name} seed={seed}", seed, factor * (1 + 0.3 * seed))
      for name, factor in (("a", 1.0), ("b", 1.2)) for seed in range(8)
  ]
  head, first, second = over_seeds(runs).splitlines()
  assert "Student's t" in head
  assert first.startswith("a: 8 seeds; SLO 90.0 % [") and "goodput" not in first
  assert second.endswith(
      "goodput a chip against a: 1.20x [1.20, 1.20]"
  )


def test_where_both_serve_all_no_ratio_decides():
  runs = [
      run(name, seed, goodput, attainment=1.0)
      for name, goodput in (("a", 1.0), ("b", 1.2)) for seed in range(8)
  ]
  for each in runs:
    each.summary["offered_rate"] = 2.0
  assert "(both serve all that is offered" in over_seeds(runs)
  for each in runs:
    each.summary["offered_rate"] = None  # all came at once
  assert "both serve all" not in over_seeds(runs)


def test_noise_is_not_significant():
  runs = [run(f"a seed={seed}", seed, 1.0) for seed in range(4)]
  runs += [
      run(f"b seed={seed}", seed, value)
      for seed, value in enumerate((0.8, 1.3, 1.1, 0.9))
  ]
  assert over_seeds(runs).endswith("not significant")


def test_steady_and_count_form_no_ratio():
  runs = [run(f"a seed={seed}", seed, 1.0) for seed in range(3)]
  runs += [
      run(f"b seed={seed}", seed, 2.0, protocol="count") for seed in range(3)
  ]
  last = over_seeds(runs).splitlines()[-1]
  assert last.startswith("b: 3 seeds") and "against" not in last


def lines_of(*runs):
  return over_seeds(runs).splitlines()[1:]


def test_a_design_is_named_without_its_seed():
  (line,) = lines_of(
      *(replace(run("continuous", s, 1.0), label=f"seed={s}") for s in (0, 1))
  )
  assert line.startswith("continuous: 2 seeds")
  (line,) = lines_of(*(
      replace(run("a", s, 1.0), label=f"P workload.seed={s} model.seed=1 x")
      for s in (0, 1)
  ))
  assert line.startswith("P model.seed=1 x: 2 seeds")


def test_cases_named_after_seeds_name_none_of_them():
  (line,) = lines_of(
      replace(run("chunked", 3, 1.0), label="first"),
      replace(run("chunked", 4, 1.0), label="second"),
  )
  assert line.startswith("chunked: 2 seeds")
