"""A tree becomes a run or a list of lines; a run becomes its tree again."""

import ml_collections
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdjax import literals, schema
from pdjax.config import ConfigError, Pool, Run
from pdjax.unknown import known


def errors_of(tree):
  return schema.read(tree)[1]


def test_empty_tree_is_the_defaults():
  assert schema.run_from_tree({}) == Run()


def test_every_mistake_is_one_line_and_all_are_told():
  lines = errors_of({
      "strategy": {"chunk": 3, "chunk_size": "big", "max_num_seqs": 1.5},
      "backend": {"kind": "jx"},
      "modl": {},
      "workload": {"rate": True},
      "cluster": {"pools": ({"role": "P"},)},
  })
  assert lines == [
      "strategy.chunk: no such field; did you mean 'chunk_size'?",
      "strategy.chunk_size: expected an integer or none, got 'big'",
      "strategy.max_num_seqs: expected an integer or none, got 1.5",
      "backend.kind: expected one of jax, simulated, got 'jx'; did you mean"
      " 'jax'?",
      "modl: no such field; did you mean 'model'?",
      "workload.rate: expected a number or none, got True",
      "cluster.pools[0].count: missing",
  ]


def test_a_field_without_a_near_name_lists_what_is_allowed():
  (line,) = errors_of({"backend": {"zzz": 1}})
  allowed = "kind, costs, padding, draw"
  assert line == f"backend.zzz: no such field; allowed: {allowed}"


def test_right_fields_survive_beside_a_wrong_one():
  run, lines = schema.read({"strategy": {"chunk_size": "x", "kind": "chunked"}})
  assert len(lines) == 1
  assert run.strategy.kind == "chunked"
  assert not known(run.strategy.chunk_size)


def test_an_integer_is_a_number_but_not_the_reverse():
  assert schema.run_from_tree({"workload": {"rate": 2}}).workload.rate == 2.0
  assert errors_of({"workload": {"seed": 2.0}})
  assert errors_of({"workload": {"rate": float("nan")}})


def test_pools_and_terms_are_converted_deep_inside():
  tree = {
      "cluster": {"pools": [{"role": "P", "count": 2, "tp": 4}]},
      "slo": {"terms": [["ttft", "value", "request", 1]]},
  }
  run = schema.run_from_tree(tree)
  assert run.cluster.pools == (Pool(role="P", count=2, tp=4),)
  assert run.slo.terms == (("ttft", "value", "request", 1.0),)
  assert "cluster.pools[0].role" in errors_of(
      {"cluster": {"pools": [{"role": "X", "count": 2}]}}
  )[0]


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "strategy": st.fixed_dictionaries(
                {},
                optional={
                    "chunk_size": st.none() | st.integers(1, 4096),
                    "transfer": st.none() | st.just({"verify": True}),
                    "options": st.dictionaries(
                        st.text("abc", min_size=1),
                        st.integers() | st.booleans(),
                    ),
                },
            ),
            "cluster": st.fixed_dictionaries(
                {}, optional={"tp": st.integers(1, 8) | st.just({"P": 2})}
            ),
        },
    )
)
def test_tree_and_run_are_inverse(tree):
  run = schema.run_from_tree(tree)
  assert schema.run_from_tree(schema.tree_of(run)) == run


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("workload.rate", "4", 4),
        ("workload.rate", "0.25", 0.25),
        ("workload.rate", "1e3", 1000.0),
        ("workload.rate", "none", None),
        ("strategy.chunk_size", " 256 ", 256),
        ("workload.output.values", "128,256", (128, 256)),
        ("workload.output.values", "(128,)", (128,)),
        ("workload.path", "a b.csv", "a b.csv"),
        ("workload.path", "'none'", "none"),
        ("workload.path", "None", None),
        ("model.weights", "none", "none"),
        ("cluster.share_devices", "true", True),
        ("cluster.share_devices", "False", False),
        ("cluster.tp", "2", 2),
        ("cluster.tp", "{'P': 2, 'D': 1}", {"P": 2, "D": 1}),
        ("cluster.tp.P", "2", 2),
        ("strategy.options.window", "16", 16),
        ("strategy.options.mode", "fast", "fast"),
        ("slo.terms", "(('ttft', 'value', 'request', 0.4),)",
         (("ttft", "value", "request", 0.4),)),
        ("engine.dispatch_ahead", "1", 1),
    ],
)
def test_text_is_read_by_the_fields_type(path, text, value):
  assert literals.from_text(path, text) == value


@pytest.mark.parametrize(
    ("path", "text", "part"),
    [
        ("strategy.chunk_size", "0.25", "an integer or none, got 0.25"),
        ("strategy.chunk_size", "", "needs a value"),
        ("strategy.chunk", "1", "did you mean 'chunk_size'?"),
        ("strategy", "1", "expected a section"),
        ("strategy.kind.x", "1", "strategy.kind has no fields"),
        ("cluster.share_devices", "1", "expected true or false"),
        ("engine.dispatch_ahead", "2", "expected one of 0, 1"),
    ],
)
def test_wrong_text_names_the_field_and_what_is_allowed(path, text, part):
  with pytest.raises(ConfigError) as caught:
    literals.from_text(path, text)
  assert caught.value.errors[0].startswith(path)
  assert part in caught.value.errors[0]


def test_lists_split_outside_brackets_and_quotes():
  wrong: list[str] = []

  def read(path, text):
    return literals.list_from_text(path, text, wrong)

  assert read("strategy.chunk_size", "128, 256,none") == (128, 256, None)
  assert read("workload.path", "'a,b',c") == ("a,b", "c")
  assert read("cluster.tp", "{'P': 1, 'D': 2}, 4") == ({"P": 1, "D": 2}, 4)
  assert not wrong
  assert len(read("workload.rate", "1,,2,x")) == 4
  assert [line.partition(" ")[0] for line in wrong] == 2 * ["workload.rate:"]


def test_leaves_take_nested_and_dotted_alike():
  nested = {"strategy": {"chunk_size": 1}, "cluster": {"tp": {"P": 2}}}
  dotted = {"strategy.chunk_size": 1, "cluster.tp": {"P": 2}}
  assert dict(schema.leaves(nested)) == dict(schema.leaves(dotted)) == dotted
  config = ml_collections.ConfigDict(nested)
  assert dict(schema.leaves(config.to_dict())) == dotted


def test_said_lists_what_has_a_value_once():
  tree = {
      "strategy": {"chunk_size": None, "kind": "chunked"},
      "cluster": {"pools": ({"role": "P"}, {"role": "D", "count": 1})},
  }
  assert schema.said(tree) == [
      "strategy.kind", "cluster.pools.role", "cluster.pools.count",
  ]


def test_drop_reaches_into_every_pool():
  tree = {"cluster": {"pools": ({"role": "P", "tp": 1}, {"role": "D"})}}
  schema.drop(tree, "cluster.pools.tp")
  assert tree == {"cluster": {"pools": ({"role": "P"}, {"role": "D"})}}
