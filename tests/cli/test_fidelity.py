"""`pdjax.fidelity` and `pdjax.calibrate`: what they refuse, and say."""

import dataclasses
import json

import pytest

from pdjax import schema
from pdjax.calibrate.fidelity import Compared, middle, noise_floor
from pdjax.cli import arguments as arguments_module
from pdjax.cli import (
  calibrate,
  calibrating,
  calibrating_report,
  fidelity,
  fidelity_page,
  fidelity_report,
)
from pdjax.cli import flags as experiment_flags
from pdjax.cli.cell import run_cell
from pdjax.cli.compiled import finest, paddings_of
from pdjax.cli.fidelity_choice import Choice
from pdjax.cli.fidelity_runs import Fidelity, Found
from pdjax.config import Workload
from pdjax.reads import resolved
from pdjax.workload.build import build
from tests.calibrate.test_calibration import made


def said(capsys, main, *arguments):
  status = main([*map(str, arguments)])
  captured = capsys.readouterr()
  return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "expected the FOLDER of a measured run"),
        (("nowhere",), "nowhere: no such folder"),
        (("-x", "."), "-x: no such flag"),
        ((".", "--out=nowhere"), "--out=nowhere: no such folder"),
        (("x" * 300,), "no folder: File name too long"),
        ((".", "--out=" + "x" * 300), "no folder: File name too long"),
        (("--calibraton=x", "."), "did you mean '--calibration'?"),
        (("--calibration=", "."), "--calibration: needs a value"),
        ((".", "--markdown=nowhere/x.md"), "--markdown=nowhere/x.md: "),
    ],
)
def test_mistakes_of_fidelity(capsys, arguments, line):
  status, _, errors = said(capsys, fidelity.main, *arguments)
  assert status == 2 and line in errors and "Traceback" not in errors
  assert len(errors.splitlines()) == 1 and "--out=-x" not in errors


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"summary.json": "[]"}, "no measured run"),
        ({"summary.json": "[3]"}, "summary.json: not an experiment's list"),
        ({"config.json": '{"a": 1, "b": 2}'}, "config.json: a: "),
    ],
)
def test_damaged_results_are_a_line(capsys, tmp_path, files, line):
  for name, text in files.items():
    (tmp_path / name).write_text(text)
  status, out, errors = said(capsys, fidelity.main, tmp_path)
  assert (status, out) == (2, "")
  assert errors.startswith(str(tmp_path)) and line in errors
  assert len(errors.splitlines()) == 1
  assert {path.name for path in tmp_path.iterdir()} == files.keys()


def test_a_run_whose_devices_are_not_known_is_a_line(capsys, tmp_path):
  """Workers of one host are priced in another way than others."""
  run = schema.run_from_tree({
      "model": {"preset": "tiny"}, "cluster": {"chip": "h100-sxm"},
      "workload": {"num_requests": 3, "rate": 9.0},
  })
  run_cell(resolved(run), tmp_path, lambda text: None)
  (tmp_path / "conditions.json").write_text("{")
  status, out, errors = said(capsys, fidelity.main, tmp_path)
  assert (status, out) == (2, "")
  assert errors == (
      f"{tmp_path}: no conditions.json that can be read: what devices the run"
      " was on is not known\n"
  )


def test_a_folder_without_a_run_is_named(capsys, tmp_path):
  status, _, errors = said(capsys, fidelity.main, tmp_path)
  assert status == 2 and "not a run's folder" in errors


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "--config: say which"),
        (("--config=llama70b_h100",), "no cell of it is measured"),
        (("--config=quikstart",), "did you mean"),
        (("--config=quickstart", "--out=/no/such/x.json"), "no such folder"),
        (("--config=quickstart", "--out=/"), "--out=/: is a folder"),
        (("--config=quickstart", "--out=/dev/null"), "is no plain file"),
        (("--config=quickstart", "--out=a", "--out=b"), "given twice"),
    ],
)
def test_mistakes_of_calibrate(capsys, arguments, line):
  status, _, errors = said(capsys, calibrate.main, *arguments)
  assert status == 2 and line in errors and "Traceback" not in errors


def test_help_names_the_flags(capsys):
  for main in (calibrate.main, fidelity.main):
    status, out, _ = said(capsys, main, "--help")
    assert status == 0 and "Exit status" in out


def engines_of(*arguments):
  said = arguments_module.read(
      ["--config=engine_fidelity", *arguments], calibrate.GRAMMAR
  )
  flags, errors = experiment_flags.beside(said)
  return [cell.label for cell in calibrate.engines(flags, errors)], errors


def test_each_strategy_and_split_is_surveyed_once():
  """Not each rate, nor each repeat."""
  labels, errors = engines_of()
  assert not errors and len(labels) == 3
  assert {label.split(" rate")[0] for label in labels} == {
      "2C continuous", "2C chunked", "1P1D"
  }
  (label,), _ = engines_of("--only=case=2C chunked")
  assert label.startswith("2C chunked")


def test_passes_are_padded_as_their_own_worker_compiles_them():
  said = arguments_module.read(
      ["--config=engine_fidelity", "--only=case=1P1D"], calibrate.GRAMMAR
  )
  cells = calibrate.engines(experiment_flags.beside(said)[0], [])
  prefills, decodes = paddings = paddings_of(cells[0].run)
  assert prefills.prompt_tokens != decodes.prompt_tokens
  assert len(prefills.prompt_tokens) > len(decodes.prompt_tokens)
  assert finest(paddings).prompt_tokens == prefills.prompt_tokens


def test_a_survey_warms_up_and_makes_a_round_at_least(monkeypatch):
  monkeypatch.setattr(calibrating, "SURVEY_S", 0.0)
  load = build(Workload(num_requests=4, rate=1.0))
  found = [
      (counts, name)
      for counts, name, _ in calibrating.loads_of_survey(load, most_users=4)
  ]
  assert found == [
      (False, "warm-up of 4 users"), (True, "round 1, 1 users"),
      (True, "round 1, 2 users"), (True, "round 1, 4 users"),
      (True, "round 1, with pauses"),
  ]


def test_a_calibration_in_words():
  lines = "\n".join(calibrating_report.lines(made()))
  assert "measured on 2 x cpu" in lines and "steps left out" in lines
  assert "between workers 5 us and 1.00 GB/s" in lines
  assert "extrapolate" in lines


@pytest.fixture(name="found")
def _found():
  import numpy as np

  def run(label, goodput, simulated):
    figure = Compared("ttft", 99, 100.0, 110.0, 50)
    return Found(
        label, 2, [figure], [figure], {("ttft", 99): 0.2},
        {"request_goodput": (goodput, simulated)}, np.array([0.1, -0.1, 0.3]),
    )

  choice = Choice(designs=("a", "b"), rank_correlation=None, lost=0.5)
  runs = [run("a", 2.0, 1.0), run("b", 1.0, 3.0)]
  return Fidelity("fitted", runs, [choice])


def test_a_fidelity_report(found):
  text = "\n".join(fidelity_report.lines(found))
  assert "+10.0%" in text and " 20.0%" in text  # error, noise floor
  assert "n<300" in text
  assert "goodput lost by the simulator's choice 50.0%" in text
  assert "needs three designs" in text
  alone = dataclasses.replace(found, choices=[])
  assert list(fidelity_report.lines(alone))[-1].startswith("no two designs ran")


def test_a_page_judges_by_targets(found):
  def run(label, percentile, simulated_ms, noise):
    return dataclasses.replace(
        found.runs[0], label=label, conditions="tiny on x",
        figures=[Compared("ttft", percentile, 100.0, simulated_ms, 5000)],
        noise={("ttft", percentile): noise},
    )

  runs = [
      run("within 10 %", 50, 109.0, 0.01), run("beyond", 50, 112.0, 0.01),
      run("within the noise", 50, 112.0, 0.13), run("tail", 99, 80.0, 0.0),
      run("tail beyond", 99, 70.0, 0.5),
      dataclasses.replace(found.runs[0], notes=("not alone: 40 %",)),
  ]
  page = [*fidelity_page.lines(dataclasses.replace(found, runs=runs))]
  assert "Within the target: 2 of 3 p50 and 1 of 2 p99." in page
  judged = [line for line in page if "| ttft" in line]
  assert [line.split("|")[-2].strip() for line in judged] == [
      "met", "**missed**", "met", "met", "**missed**", "-",  # of 50 values
  ]
  assert "\na: not alone: 40 %." in page
  assert "-20.0%" in judged[3] and page.count("\n## tiny on x\n") == 1


def test_what_was_measured_several_times_is_the_median_of_them():
  def figures(*measured_ms):
    return [
        Compared(metric, 50, ms, 100.0, 9)
        for metric, ms in zip(("ttft", "tpot"), measured_ms, strict=False)
    ]

  repeats = [figures(90.0, 10.0), figures(120.0, 10.0), figures(100.0)]
  (only,) = middle(repeats)
  assert (only.metric, only.measured_ms, only.error) == ("ttft", 100.0, 0.0)
  assert noise_floor(repeats) == {("ttft", 50): pytest.approx(0.3)}
  assert noise_floor(repeats[:1]) == {}


def test_it_is_written_and_drawn(found, tmp_path):
  data, picture = fidelity_report.write(found, tmp_path)
  tree = json.loads(data.read_text())
  assert tree["runs"][0]["figures"][0]["simulated_ms"] == 110.0
  assert picture.stat().st_size > 5000
