"""A search from the command line: probes are cells, kept and used again."""

import json
import shutil

import pytest

from pdjax.cli.experiment import main
from pdjax.report.search import table

CONFIG = '''"""Which of two is best?"""


def get_config():
  return {
      "model": {"preset": "llama-3-8b"},
      "cluster": {"chip": "h100-sxm"},
      "workload": {
          "rate": 8.0, "duration_s": 10.0,
          "prompt": {"mean": 2000.0}, "output": {"mean": 8.0},
      },
      "slo": {"ttft_s": 0.8, "tpot_s": 0.1},
      "sweep": {
          "cases": {
              "2C": {"strategy.kind": "chunked", "cluster.split": "2C"},
              "1P1D": {
                  "strategy.kind": "disaggregated", "cluster.split": "1P1D",
              },
          },
          "grid": {"strategy": {"chunk_size": (256, 1024)}},
          "seeds": (0, 1, 2, 3),
          "search": {"tolerance": 0.5, "budget": 20, "tune_seeds": (9,)},
      },
  }
'''


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
  """A folder in which the search has been run, and what it printed."""
  folder = tmp_path_factory.mktemp("search")
  with pytest.MonkeyPatch.context() as patch:
    patch.chdir(folder)
    (folder / "x.py").write_text(CONFIG)
    assert main(["--config=x"]) == 0
  return folder


def found(folder):
  return json.loads((folder / "results/x/search.json").read_text())


def test_every_rival_has_a_bracket_of_its_best_design(searched):
  first, second = found(searched)["rivals"]
  assert [first["rival"], second["rival"]] == ["2C", "1P1D"]
  assert [first["family"], second["family"]] == ["colocated", "disaggregated"]
  for one in (first, second):
    bracket = one["bracket"]
    assert bracket["low"] < bracket["high"]
    assert bracket["low_per_chip"] == bracket["low"] / 2
    assert one["attainment"]["low"] > 0.9
    assert one["tuning"]["runs"] <= one["tuning"]["budget"] == 20
    assert set(one["design"]) == {"strategy.chunk_size"}
  verdict = found(searched)["verdict"]
  rates = verdict["rates_per_chip"]
  assert set(rates) == {"2C", "1P1D"} and "4 seeds" in verdict["caveats"][-1]


def test_the_page_has_one_answer_which_is_the_search_s(searched):
  page = (searched / "results/x/report.html").read_text()
  assert 'data-name="search"' in page and 'data-absent="goodput"' in page
  assert 'data-name="goodput"' not in page
  assert 'data-name="attainment_by_rate"' in page


def test_probes_are_rows_of_the_summary(searched):
  rows = json.loads((searched / "results/x/summary.json").read_text())
  runs = {row["run"] for row in rows}
  for one in found(searched)["rivals"]:
    for probe in one["probes"] + one["tuning"]["probes"]:
      assert set(probe["runs"]) <= runs
      for run in probe["runs"]:
        (row,) = (row for row in rows if row["run"] == run)
        assert row["workload.rate"] == probe["rate"]
        assert row["workload.protocol"] == "steady"
        assert row["workload.duration_s"] == 10.0
  assert json.loads(
      (searched / "results/x/experiment.json").read_text()
  )["cells"]


def test_again_costs_nothing_and_what_is_lost_is_run_again(
    searched, tmp_path, monkeypatch, capsys
):
  shutil.copytree(searched, tmp_path, dirs_exist_ok=True)
  monkeypatch.chdir(tmp_path)
  before = (tmp_path / "results/x/search.json").read_bytes()
  assert main(["--config=x"]) == 0
  out = capsys.readouterr().out
  assert " runs, 0 of them new" in out and "VERDICT" in out
  assert (tmp_path / "results/x/search.json").read_bytes() == before
  runs = sorted((tmp_path / "results/x/runs").iterdir())
  shutil.rmtree(runs[0])
  shutil.rmtree(runs[-1])
  assert main(["--config=x"]) == 0
  assert " runs, 2 of them new" in capsys.readouterr().out
  assert (tmp_path / "results/x/search.json").read_bytes() == before


def test_a_dry_run_shows_designs_and_writes_nothing(
    tmp_path, monkeypatch, capsys
):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "x.py").write_text(CONFIG)
  assert main(["--config=x", "--dry_run"]) == 0
  assert "2 rivals, 4 designs" in capsys.readouterr().out
  assert list(tmp_path.iterdir()) == [tmp_path / "x.py"]


def mistakes_of(tmp_path, monkeypatch, capsys, *changes, flags=()):
  monkeypatch.chdir(tmp_path)
  text = CONFIG
  for old, new in changes:
    assert old in text
    text = text.replace(old, new)
  (tmp_path / "x.py").write_text(text)
  assert main(["--config=x", *flags]) == 2
  assert list(tmp_path.iterdir()) == [tmp_path / "x.py"]
  return capsys.readouterr().err.splitlines()


def test_every_mistake_is_told_at_once(tmp_path, monkeypatch, capsys):
  lines = mistakes_of(
      tmp_path, monkeypatch, capsys,
      ('"tolerance": 0.5', '"tolerence": 0.5, "doublings": 0'),
      ('"rate": 8.0', '"arrival": "all_at_once", "protocol": "count"'),
      ('"ttft_s": 0.8, "tpot_s": 0.1', ""),
      ('"chunk_size": (256, 1024)',
       '"chunk_size": (256, 0)}, "workload": {"rate": (1.0, 2.0)'),
      flags=["--shard=1/2"],
  )
  expected = (
      "sweep.search.tolerence: no such field; did you mean 'tolerance'?",
      "sweep.grid: workload.rate is what sweep.search sets itself",
      "--shard: the runs of sweep.search follow",
      "strategy.chunk_size: must be from 1",
  )
  for start in expected:
    assert any(line.startswith(start) for line in lines), (start, lines)


def test_columns_of_the_table_stay_apart(searched):
  one = found(searched)
  first = one["rivals"][0]
  first["attainment"] = {"estimate": 1.0, "low": 0.9654, "high": 1.0}
  first["goodput_per_chip"] = {"estimate": 123.4, "low": 111.1, "high": 222.2}
  first["tuning"]["budget"] = 1
  text = table(one)
  assert "100.0 [96.5, 100.0]  123.400 [111.100, 222.200]" in text
  assert max(map(len, text.splitlines())) <= 96
  assert "searched to 50 %" in text and " of 1 run\n" in text


def test_how_far_its_costs_can_be_trusted_is_said(searched):
  one = found(searched)
  told = "one set of costs: searching again under other draws"
  assert one["verdict"]["fidelity"].startswith(told)
  assert told in " ".join(table(one).split())
  assert told in (searched / "results/x/report.html").read_text()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (('"duration_s": 10.0', '"protocol": "count"'),
         "workload.protocol: sweep.search measures every rate over the same"
         " time, so it must be 'steady'"),
        (('"rate": 8.0,', '"kind": "azure",'),
         "workload.rate: sweep.search needs the first rate to try"),
        (('"rate": 8.0,', '"kind": "azure", "rate": 8.0,'),
         "sweep.search: seeds would be one run counted again, for nothing is"
         " drawn; on a trace workload.arrival='poisson' keeps its lengths and"
         " draws the arrivals, workload.jitter_s delays each at random"),
        (('"ttft_s": 0.8, "tpot_s": 0.1', '"attainment": 0.9'),
         "slo: sweep.search needs an SLO, such as slo.ttft_s and slo.tpot_s"),
        (('"tpot_s": 0.1', '"attainment": 1.0'),
         "slo.attainment: no number of requests shows that all would be good;"
         " sweep.search needs less than 1"),
        (('"budget": 20', '"budget": 1'),
         "sweep.search.budget: 1 leave 1 runs to 2C, fewer than its 2 designs"
         " once over 1 seeds (2)"),
        (('"tune_seeds": (9,)', '"tune_seeds": (3,)'),
         "sweep.search.tune_seeds: 3 is in sweep.seeds too; what is chosen by"
         " some seeds is reported on others"),
        (('(0, 1, 2, 3)', '(0,)'),
         "sweep.seeds: a search needs 2 seeds at least; 8 for a claim"),
        (('(0, 1, 2, 3)', '(0, 1, 1)'),
         "sweep.seeds: a seed is there twice; equal runs are no replications"),
        (('"chunk_size": (', '"max_num_seqs": (8,)}, "backend": {"draw": ('),
         "backend.draw: designs have different ones; a draw of the costs is no"
         " design, and a search would take the luckiest: search under one"
         " (--config.backend.draw=1 --output_dir=DIR), then under others"),
        (('"tolerance": 0.5', '"tolerance": 0.0'),
         "sweep.search.tolerance: must be from 0.001 to 1, got 0.0"),
        (('"tolerance": 0.5', '"tolerance": "x"'),
         "sweep.search.tolerance: expected a number, got 'x'"),
    ],
)
def test_mistakes(tmp_path, monkeypatch, capsys, change, line):
  assert line in mistakes_of(tmp_path, monkeypatch, capsys, change)
