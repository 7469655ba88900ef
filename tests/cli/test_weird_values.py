"""Weird values in every field: a line each, and never an exception.

Nothing runs: `--dry_run` asks everything that is asked before a run.
"""

import dataclasses
import sys
import types

import pytest

from pdjax import config, fieldtypes
from pdjax.simulate import chips

TEXTS = (
    "-1", "0", "7", "0.5", "1e-320", "1e308", "-inf", "nan", "none", "true",
    "''", "x", "a:b", "sys:exit", ":", "1,2", "(1,2", "{'P': 'x'}", "({},)",
    "9" * 5000, "(" * 500, "../..", "~nouser/x", "/dev/null", "é\n\0", " ",
    "2P2D", "99999C", "prefix_aware", "fetched",
)
RUNS = {
    "simulated": {
        "cluster": {"chip": "h100-sxm", "split": "1P1D"},
        "strategy": {"kind": "disaggregated"},
        "workload": {"rate": 9.0, "num_requests": 3, "output": {"mean": 2.0}},
    },
    "measured": {
        "backend": {"kind": "jax"},
        "model": {"preset": "tiny"},
        "cluster": {"host_devices": 2},
        "workload": {"kind": "azure", "num_requests": 1},
    },
}


def fields_of(section: type, prefix: str = ""):
  """Dotted paths of all fields and sections."""
  for name, hint in fieldtypes.hints_of(section).items():
    yield prefix + name
    inner = fieldtypes.section_of(hint)
    if inner is not None:
      yield from fields_of(inner, f"{prefix}{name}.")


FIELDS = [
    *fields_of(config.Run), "cluster.tp.P", "cluster.chips.mine",
    "strategy.options.a", "repeat", "name", "sweep", "no.such", "",
]


class Odd:
  """A value that does not even show itself."""

  def __repr__(self):
    raise RuntimeError("no")

  def __eq__(self, other):
    raise RuntimeError("no")

  __hash__ = None


def objects():
  """Values that only a config file can give, fresh ones."""
  deep = {}
  for _ in range(20):
    deep = {"a": deep}
  return (
      None, True, -1, 0.5, 10**5000, float("nan"), 1j, b"x", "x\ny", Odd(), Odd,
      {}, {"a": 1}, {1: 2}, (), (None,), ({"role": "P"},), [[]], {1, 2},
      range(3), lambda: 1, (x for x in "ab"), deep, float, "9" * 1000,
  )


@pytest.fixture
def asked(command, folder, monkeypatch):
  """Asks about a config; it has a line for each mistake, or none."""
  given = types.ModuleType("given")
  monkeypatch.setitem(sys.modules, "given", given)
  (folder / "x.py").write_text(
      "import given\n\n\ndef get_config():\n  return given.tree\n"
  )

  def ask(tree, *arguments):
    given.tree = tree
    status, _, errors = command("--dry_run", *arguments)
    assert status in (0, 2) and bool(errors) == (status == 2)
    assert len(set(errors)) == len(errors)
    assert all(0 < len(line) < 1000 for line in errors)

  return ask


@pytest.mark.parametrize("field", FIELDS)
def test_weird_text_is_told_in_lines(asked, field):
  for half, tree in enumerate(RUNS.values()):
    for text in TEXTS[half::2]:
      asked(tree, f"--config.{field}={text}")


@pytest.mark.parametrize("field", FIELDS)
def test_weird_lists_are_told_in_lines(asked, field):
  tree = RUNS["simulated"]
  asked(tree, *(f"--only={field}={text}" for text in TEXTS))
  for text in TEXTS[::6]:
    asked(tree, f"--sweep={field}={text},1")


@pytest.mark.parametrize("field", FIELDS)
def test_weird_objects_are_told_in_lines(asked, field):
  tree = RUNS["simulated"]
  for value in objects():
    asked(tree | {field: value})
  for value in objects()[::6]:
    asked(tree | {"sweep": {"grid": {field: (value, 1)}}})


@pytest.mark.parametrize("figure", [*chips._FIELDS, "like", "no_such"])
def test_weird_figures_of_a_chip_are_told_in_lines(asked, figure):
  tree = RUNS["simulated"]
  for value in (0, -1, 0.3, 1, 1e6, 1e21, 1e-300, 1e300, "x", 10**5000):
    mine = {"like": "h100-sxm", figure: value}
    said = {"chip": "mine", "chips": {"mine": mine}}
    asked(tree | {"cluster": tree["cluster"] | said})


@pytest.mark.parametrize("part", ["grid", "zip", "cases", "seeds", "odd"])
def test_weird_sweeps_are_told_in_lines(asked, part):
  tree = RUNS["simulated"]
  for value in objects()[::2]:
    asked(tree | {"sweep": {part: value}})
    asked(tree | {"sweep": {part: {"strategy": value}}})
    asked(tree | {"sweep": {part: (value, value)}})
    asked(tree | {"sweep": {part: ({"name": value}, {"a": value})}})


@pytest.mark.parametrize("word", ["name", "then", "reads", "blocks", "sweep"])
def test_weird_words_are_told_in_lines(asked, word):
  for value in objects():
    asked({word: value})
    asked({"blocks": {"a": {word: value}, value if hashable(value) else 1: {}}})


def hashable(value) -> bool:
  return type(value).__hash__ is not None and not isinstance(value, tuple)


def test_all_fields_are_asked_about():
  sections = {field.name for field in dataclasses.fields(config.Run)}
  assert sections <= {field.partition(".")[0] for field in FIELDS}
  assert len(FIELDS) > 70
