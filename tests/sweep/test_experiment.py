"""Config trees become experiments; the command line changes them."""

import pytest

from pdjax.sweep.experiment import Asked, experiments_of


def one(tree, overrides=(), sweeps=(), **more):
  asked = Asked(overrides=overrides, sweeps=sweeps, **more)
  experiments, errors = experiments_of(tree, "x", asked)
  assert errors == []
  (experiment,) = experiments
  return experiment


def errors_of(tree, overrides=(), sweeps=(), **more):
  asked = Asked(overrides=overrides, sweeps=sweeps, **more)
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


def test_none_unsays_a_field_that_cannot_be_none():
  tree = {
      "cluster": {"split": "2C", "tp": 2},
      "sweep": {"cases": {"a": {"cluster.split": "4C"}}},
  }
  experiment = one(tree, [("cluster.split", "none")])
  assert experiment.tree == {"cluster": {"tp": 2}}
  assert experiment.sweep.cases == (("a", {}),)
  quoted = one(tree, [("cluster.split", "'none'")])
  assert quoted.tree["cluster"]["split"] == "none"


def test_repeat_is_set_and_swept_by_its_own_name():
  assert one({}, [("repeat", "2")]).tree == {"repeat": 2}
  assert errors_of({}, (), [("repeat", "0,x")]) == [
      "repeat: expected an integer, got 'x'"
  ]


@pytest.mark.parametrize(
    ("overrides", "sweeps", "line"),
    [
        ([("workload.rate", "1"), ("workload.rate", "2")], [],
         "--config.workload.rate: given 2 times; say it once"),
        ([], [("workload.rate", "1"), ("workload.rate", "2")],
         "--sweep=workload.rate: given 2 times; say it once"),
        ([("name", "a"), ("name", "b")], [],
         "--config.name: given 2 times; say it once"),
        ([], [("workload.rate", "1,,2")],
         "workload.rate: needs a value; `none` says nothing, '' is an empty"
         " string"),
        ([("cluster.tp", "1")], [("cluster.tp.P", "2")],
         "--sweep=cluster.tp.P: --config.cluster.tp sets it too; say one"),
        ([("workload.rate", " ")], [],
         "workload.rate: needs a value; `none` says nothing, '' is an empty"
         " string"),
        ([], [("workload.rate", "")],
         "workload.rate: needs a value; `none` says nothing, '' is an empty"
         " string"),
        ([("strategy.kind.x", "1")], [],
         "strategy.kind.x: strategy.kind has no fields of its own"),
    ],
)
def test_flags_do_not_contradict_each_other(overrides, sweeps, line):
  assert errors_of({}, overrides, sweeps) == [line]


@pytest.mark.parametrize(
    ("sweep", "line"),
    [
        ({"zip": {"model.seed": (1,)}, "grid": {"model.seed": (1,)}},
         "sweep.zip: model.seed is set by sweep.grid too; say it once"),
        ({"grid": {"cluster.tp.P": (1,)}, "cases": {"a": {"cluster.tp": 2}}},
         "sweep.grid: cluster.tp.P is set by sweep.cases too; say it once"),
        ({"seeds": (1,), "grid": {"workload": {"seed": (1,)}}},
         "sweep.seeds: workload.seed is set by sweep.grid too; say it once"),
        ({"cases": {"a": {"cluster.tp": 2, "cluster": {"tp": 3}}}},
         "sweep.cases.a: cluster.tp is said twice, as cluster.tp and in"
         " cluster.tp"),
        ({"cases": ({"name": "a"}, {"name": "b"}, {"name": "a"})},
         "sweep.cases: 2 cases are named 'a'"),
        ({"cases": ({"name": " "},)},
         "sweep.cases[0].name: expected a label, got ' '"),
        ({"cases": ({"name": "a\nb"},)},
         "sweep.cases[0].name: expected a label of at most 100 printable"
         " characters, got 'a\\nb'"),
        ({"cases": {"\ud800": {}}},
         "sweep.cases: expected a label of at most 100 printable characters,"
         " got '\\ud800'"),
        ({"cases": {"x" * 101: {}}},
         "sweep.cases: expected a label of at most 100 printable characters,"
         f" got '{'x' * 79}..."),
        ({"grid": {}}, "sweep.grid: is empty; leave it out"),
        ({"seeds": ()}, "sweep.seeds: is empty; leave it out"),
    ],
)
def test_a_sweep_does_not_contradict_itself(sweep, line):
  assert errors_of({"sweep": sweep}) == [line]


@pytest.mark.parametrize(
    "name", ["..", ".x", "", "a/b", "a\\b", "a\n", "x" * 101]
)
def test_names_are_names_of_folders(name):
  (line,) = errors_of({"name": name})
  assert line.startswith("name: expected the name of a folder")
  assert errors_of({}, [("name", name)]) == [line]
  (line,) = errors_of({"blocks": {name: {}}})
  assert line.startswith("blocks: expected the name of a folder")


def test_a_block_has_no_name_and_no_blocks_of_its_own():
  assert errors_of({"blocks": {"a": {"name": "b", "blocks": {}}}}) == [
      "blocks.a.name: a block has none of its own",
      "blocks.a.blocks: a block has none of its own",
  ]


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
        ({"sweep": {"seeds": "3-1"}}, "sweep.seeds=3-1: 3-1 holds no seed"),
        ({"sweep": {"grid": {"workload.rate": "log(1,2)"}}},
         "sweep.grid.workload.rate: log(1,2): needs a count"),
        ({"sweep": {"grid": {"workload.rte": "log(1,2,3)"}}},
         "sweep.grid.workload.rte: no such field; did you mean 'rate'?"),
        ({"sweep": {"repeats": -1}}, "sweep.repeats: expected a count up to"),
        ({"sweep": {"repeats": 2, "grid": {"repeat": (0, 1)}}},
         "sweep.repeats: repeat is set by sweep.grid too; say it once"),
        ({"sweep": {"order": "random"}},
         "sweep.order: expected given or shuffled, got 'random'"),
        ({"sweep": {"where": "workload.rte > 1"}},
         "sweep.where='workload.rte > 1': workload.rte: no such field"),
        ({"sweep": {"where": (1,)}}, "sweep.where: expected a condition"),
        ({"sweep": {"sample": 8}}, "sweep.sample: expected {'count': ...,"),
        ({"sweep": {"sample": {"count": 8, "fields": {}}}},
         "sweep.sample.fields: names no field to draw"),
        ({"sweep": {"sample": {"count": 0, "fields": {
            "workload.rate": "log(1,2)"}}}},
         "sweep.sample.count: expected a number of points"),
        ({"sweep": {"sample": {"count": 4, "seed": -1, "fields": {
            "workload.rate": "log(1,2)"}}}},
         "sweep.sample.seed: expected an integer from 0, got -1"),
        ({"sweep": {"sample": {"count": 4, "points": 3, "fields": {
            "workload.rate": "log(1,2)"}}}},
         "sweep.sample.points: no such field"),
        ({"sweep": {"sample": {"count": 4, "fields": {
            "workload.rate": 2.0}}}},
         "sweep.sample.fields.workload.rate: expected a span, such as"),
        ({"sweep": {"sample": {"count": 4, "fields": {
            "workload.rate": "log(0,2)"}}}},
         "workload.rate: log(0,2): both ends of a log must be above 0"),
        ({"sweep": {"sample": {"count": 4, "fields": {
            "workload.rate": "log(1,2)"}}, "grid": {"workload.rate": (1,)}}},
         "sweep.sample: workload.rate is set by sweep.grid too"),
        ({"sweep": 3}, "sweep: expected a section"),
        ({"reads": "a", "workload": {"rate": 1}}, "reads: such a block"),
    ],
)
def test_wrong_shape_is_one_line(tree, part):
  (line,) = errors_of(tree)
  assert part in line


def test_axes_are_text_in_a_file_too():
  tree = {"sweep": {"grid": {"workload.rate": "1,log(2,8,3)"}, "seeds": "0-2"}}
  sweep = one(tree).sweep
  assert sweep.grid == (("workload.rate", (1.0, 2.0, 4.0, 8.0)),)
  assert sweep.seeds == (0, 1, 2)


def test_seeds_go_over_those_of_the_file():
  for file in (
      {"seeds": (5,)}, {"grid": {"workload.seed": (5,)}},
      {"cases": {"a": {"workload.seed": 5}}},
  ):
    sweep = one({"sweep": file}, seeds="1-2").sweep
    assert sweep.fields["sweep.seeds"] == ["workload.seed"]
    assert sweep.seeds == (1, 2) and not sweep.grid
    assert all(not said for _, said in sweep.cases)


@pytest.mark.parametrize(
    ("file", "flags", "line"),
    [
        ({"zip": {"workload.seed": (1,)}}, {},
         "--seeds: the config's sweep.zip sets it"),
        ({}, {"overrides": [("workload.seed", "1")]},
         "--seeds: --config.workload.seed sets it too; say one"),
        ({}, {"sweeps": [("workload.seed", "1")]},
         "--seeds: --sweep=workload.seed sets it too; say one"),
    ],
)
def test_seeds_do_not_contradict_the_rest(file, flags, line):
  tree = {"sweep": file} if file else {}
  assert errors_of(tree, seeds="1", **flags) == [line]


def test_spans_are_drawn_from_and_the_rest_is_a_grid():
  flags = [("workload.rate", "log(1,64)"), ("strategy.chunk_size", "64,128")]
  sweep = one({}, (), flags, sample="8").sweep
  ((path, rates),) = sweep.sample
  assert path == "workload.rate" and len(set(rates)) == 8
  assert sweep.grid == (("strategy.chunk_size", (64, 128)),)
  assert errors_of({}, (), flags[1:], sample="8") == [
      "--sample: no axis to draw from; give a span, as in"
      " --sweep='workload.rate=log(1,64)'"
  ]
  (line,) = errors_of({}, (), flags, sample="x")
  assert line.startswith("--sample: expected a number of points")


def test_conditions_of_the_command_line_are_added_to_those_of_the_file():
  tree = {"sweep": {"where": "workload.rate > 1"}}
  sweep = one(tree, where=["workload.rate < 3"]).sweep
  assert [where.text for where in sweep.where] == [
      "workload.rate > 1", "workload.rate < 3"
  ]
  assert errors_of(BLOCKS, where=["repeat == 0"]) == [
      "--where=repeat == 0: this config has blocks; say it in sweep.where of"
      " one"
  ]


def test_a_case_without_its_strategy_is_named_by_what_is_left():
  tree = {"sweep": {"cases": {
      "4C continuous": {"strategy.kind": "continuous", "cluster.split": "4C"},
      "4C chunked": {"strategy.kind": "chunked", "cluster.split": "4C"},
      "2P2D": {"strategy.kind": "disaggregated", "cluster.split": "2P2D"},
  }}}
  sweep = one(tree, (), [("strategy.kind", "my_module:MyRule")]).sweep
  assert sweep.cases == (
      ("split=4C", {"cluster.split": "4C"}),
      ("split=2P2D", {"cluster.split": "2P2D"}),
  )
  assert list(dict(one(tree, (), [("strategy.chunk_size", "1")]).sweep.cases)) \
      == ["4C continuous", "4C chunked", "2P2D"]


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
