"""The run that `python -m pdjax.generate` serves: a config, but its prompts.

Nothing here loads JAX.
"""

import sys
from collections.abc import Iterator

from pdjax import schema
from pdjax.cli import configfile, preflight
from pdjax.cli.generate_flags import Asked
from pdjax.config import ConfigError, Run
from pdjax.sweep import experiment
from pdjax.sweep.spread import Sweep, spread

_LEFT_OUT = ("sweep", "then", "reads", "repeat", "name")
"""Of a config: what stands beside a run's fields."""


def run_of(asked: Asked, errors: list[str]) -> Run:
  """The one run of a config, with a workload of as many short requests.

  How long they really are is `pdjax.cli.questions`' to check, against what
  the user said.

  Args:
    asked: the command line; it names a config.
    errors: lines of mistakes found so far.

  Raises:
    ConfigError: every mistake, one line each.
  """
  assert asked.config is not None
  path = configfile.find(asked.config)
  tree = configfile.load(path)
  if "blocks" in tree:
    raise ConfigError([*errors, (
        f"--config={asked.config}: has blocks; generate needs one run, such as"
        " smollm2_chat"
    )])
  swept = bool(tree.get("sweep"))
  said = _stop_said(tree, asked)
  errors += _unread(asked)
  tree = {key: tree[key] for key in tree if key not in _LEFT_OUT + ("slo",)}
  tree["workload"] = _workload(asked, said)
  overrides = [
      flag for flag in asked.overrides if not flag[0].startswith("workload.")
  ]
  (one,), more = experiment.experiments_of(
      tree, path.stem, experiment.Asked(overrides=overrides)
  )
  made = one.tree
  made["workload"]["stop"] = said or _stop_of(made)
  cells, mistakes = spread(made, Sweep(), (_computes, *preflight.CHECKS))
  errors += [*more, *mistakes]
  if errors:
    raise ConfigError(list(dict.fromkeys(errors)))
  if swept:
    print(f"{path.stem}: its sweep is left out", file=sys.stderr)
  return cells[0].run


def _unread(asked: Asked) -> list[str]:
  """A line for each override of what the prompts decide."""
  return [
      f"--config.{path}: generate does not read it; its workload is the prompts"
      for path, _ in asked.overrides
      if path.startswith(("workload.", "slo.")) and path != "workload.stop"
  ]


def _stop_said(tree: schema.Tree, asked: Asked) -> str | None:
  """The stop rule that the command line or the config names."""
  named = [text for path, text in asked.overrides if path == "workload.stop"]
  workload = tree.get("workload")
  told = workload.get("stop") if isinstance(workload, dict) else None
  return named[-1] if named else told


def _stop_of(tree: schema.Tree) -> str:
  """Real weights end their answers, random ones have no end token."""
  model, sampling = tree.get("model") or {}, tree.get("sampling") or {}
  real = model.get("weights", "random") != "random"
  return "eos" if real or sampling.get("stop_ids") else "forced_length"


def _workload(asked: Asked, stop: str | None) -> schema.Tree:
  return {
      "kind": "synthetic",
      "arrival": "all_at_once",
      "num_requests": max(1, len(asked.prompts)),
      "prompt": {"mean": 1.0},
      "output": {"mean": 1.0},
      "stop": stop,
  }


def _computes(run: Run) -> Iterator[str]:
  if run.backend.kind != "jax":
    yield (
        f"backend.kind: {run.backend.kind!r} computes no tokens; generate needs"
        " 'jax', as in --config=smollm2_chat"
    )
