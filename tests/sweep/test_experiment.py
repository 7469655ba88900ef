"""Config trees become experiments; the command line changes them."""

import pytest

from pdjax.sweep.experiment import Asked, experiments_of


def one(tree, overrides=(), sweeps=()):
  asked = Asked(overrides=overrides, sweeps=sweeps)
  experiments, errors = experiments_of(tree, "x", asked)
  assert errors == []
  (experiment,) = experiments
  return experiment


def errors_of(tree, overrides=(), sweeps=()):
  asked = Asked(overrides=overrides, sweeps=sweeps)
  return experiments_of(tree, "x", asked)[1]


def test_name_comes_from_command_line_config_or_file():
  assert one({}).name == "x"
  assert one({"name": "y"}).name == "y"
  assert one({"name": "y"}, [("name", "z")]).name == "z"


def test_nested_and_dotted_fields_are_the_same():
  nested = one({"strategy": {"kind": "chunked"}})
  assert one({"strategy.kind": "chunked"}) == nested
  sweep = {"grid": {"strategy": {"chunk_size": (1, 2)}}}
  dotted = {"grid": {"strategy.chunk_size": (1, 2)}}
  assert one({"sweep": sweep}).sweep == one({"sweep": dotted}).sweep


def test_cases_keep_their_order_and_names():
  sweep = {"cases": ({"name": "b", "strategy.kind": "chunked"},
                     {"strategy": {"kind": "continuous"}})}
  names = [name for name, _ in one({"sweep": sweep}).sweep.cases]
  assert names == ["b", "kind=continuous"]


def test_override_wins_over_file_and_cases():
  tree = {
      "strategy": {"chunk_size": 1},
      "sweep": {"cases": {"a": {"strategy.chunk_size": 2}}},
  }
  experiment = one(tree, [("strategy.chunk_size", "3")])
  assert experiment.tree == {"strategy": {"chunk_size": 3}}
  assert experiment.sweep.cases == (("a", {}),)


def test_none_unsays_a_section():
  tree = {"workload": {"kind": "azure", "prompt": {"mean": 9}}}
  assert one(tree, [("workload.prompt", "none")]).tree == {
      "workload": {"kind": "azure"}
  }


def test_override_of_a_swept_field_is_refused():
  tree = {"sweep": {"grid": {"workload.rate": (1.0, 2.0)}}}
  (line,) = errors_of(tree, [("workload.rate", "3")])
  assert "say --sweep='workload.rate=3'" in line
  (line,) = errors_of({"sweep": {"seeds": (1,)}}, [("workload.seed", "3")])
  assert line.startswith("workload.seed")


def test_sweep_flag_goes_over_the_files_grid():
  tree = {"sweep": {"grid": {"workload.rate": (1.0,)}, "seeds": (1, 2)}}
  flags = [("workload.rate", "3,4"), ("workload.seed", "7"), ("repeat", "0,1")]
  sweep = one(tree, (), flags).sweep
  assert sweep.grid == (
      ("workload.rate", (3.0, 4.0)),
      ("workload.seed", (7,)),
      ("repeat", (0, 1)),
  )
  assert sweep.seeds == ()


@pytest.mark.parametrize(
    ("tree", "part"),
    [
        ({"strateg": {}}, "strateg: no such field; did you mean 'strategy'?"),
        ({"sweep": {"gird": {}}}, "sweep.gird: no such field"),
        ({"sweep": {"grid": {"workload.rate": 1.0}}}, "expected a tuple"),
        ({"sweep": {"zip": {"workload.rate": (1, 2), "workload.seed": (1,)}}},
         "sweep.zip: fields need equally many values: workload.rate 2,"),
        ({"sweep": {"seeds": 3}}, "sweep.seeds: expected a tuple"),
        ({"sweep": 3}, "sweep: expected a section"),
        ({"reads": "a", "workload": {"rate": 1}}, "reads: such a block"),
    ],
)
def test_wrong_shape_is_one_line(tree, part):
  (line,) = errors_of(tree)
  assert part in line


BLOCKS = {"blocks": {
    "a": {"workload": {"rate": 1.0}},
    "b": {"then": "m:f", "reads": "a"},
}}


def test_blocks_are_experiments_in_folders_of_their_own():
  asked = Asked(
      overrides=[("a.workload.rate", "5")], sweeps=[("a.workload.seed", "1,2")]
  )
  experiments, errors = experiments_of(BLOCKS, "x", asked)
  assert errors == []
  a, b = experiments
  assert (a.name, b.name, b.reads) == ("x/a", "x/b", "x/a")
  assert a.tree == {"workload": {"rate": 5.0}}
  assert a.sweep.grid == (("workload.seed", (1, 2)),)


def test_flags_for_blocks_start_with_a_block():
  (line,) = errors_of(BLOCKS, [("workload.rate", "5")])
  assert "start with one of a, b, as in a.workload.rate" in line
