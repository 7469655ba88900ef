"""Every mistake is told, whatever others stand beside it."""

import itertools

import pytest

SIMULATED = {
    "rate": ("--config.workload.rate=fast", "workload.rate: expected"),
    "count": ("--config.workload.num_requests=0", "workload.num_requests=0"),
    "mean": ("--config.workload.prompt.mean=0.5", "workload.prompt.mean=0.5"),
    "law": ("--config.workload.output.kind=lognorml",
            "workload.output.kind: expected one of"),
    "seed": ("--config.workload.seed=-1", "workload.seed=-1: must be"),
    "declared": ("--config.workload.max_tokens=-3", "workload.max_tokens=-3"),
    "end": ("--config.workload.stop=eos", "workload.stop: 'eos' needs"),
    "protocol": ("--config.workload.protocol=stedy", "workload.protocol: exp"),
    "field": ("--config.strategy.chnk=3", "strategy.chnk: no such field"),
    "section": ("--config.modl.x=1", "modl: no such field"),
    "policy": ("--config.strategy.kind=no_such:Rule",
               "strategy.kind: 'no_such:Rule': ModuleNotFoundError"),
    "seqs": ("--config.strategy.max_num_seqs=0", "strategy.max_num_seqs: must"),
    "router": ("--config.strategy.router=rr", "strategy.router: expected"),
    "chip": ("--config.cluster.chip=h10", "cluster.chip: unknown chip"),
    "split": ("--config.cluster.split=2X", "cluster.split: '2X' is not"),
    "tp": ("--config.cluster.tp=0", "cluster.tp: must be from 1"),
    "pages": ("--config.cluster.page_tokens=9", "cluster.page_tokens: must be"),
    "pool": ("--config.cluster.kv_tokens=-1", "cluster.kv_tokens: must be"),
    "preset": ("--config.model.preset=lama", "model.preset: unknown model"),
    "dtype": ("--config.model.dtype=fp3", "model.dtype: expected one of"),
    "ttft": ("--config.slo.ttft_s=nan", "slo.ttft_s: expected a number"),
    "term": ("--config.slo.terms=(('ttfd','value','request',1),)",
             "slo.terms[0]: no request metric"),
    "ahead": ("--config.engine.dispatch_ahead=7", "engine.dispatch_ahead: exp"),
    "vain": ("--config.engine.max_programs=9", "engine.max_programs: "),
    "repeat": ("--sweep=repeat=0,x", "repeat: expected an integer, got 'x'"),
    "name": ("--config.name=a/b", "name: expected the name of a folder"),
    "flag": ("--dryrun", "--dryrun: no such flag"),
    "output": ("--output_dir=x.py/y", "--output_dir=x.py/y: "),
}

BASE = (
    "--config.backend.kind=jax", "--config.cluster.chip=none",
    "--config.cluster.host_devices=2", "--config.model.preset=tiny",
    "--config.workload.kind=azure", "--config.workload.path=good.csv",
    "--config.workload.rate=none", "--config.workload.prompt=none",
    "--config.workload.output=none", "--config.workload.num_requests=1",
)
MEASURED = {
    "row": ("--config.workload.path=bad.csv", "bad.csv:2: ContextTokens is 0"),
    "skip": ("--config.workload.skip_requests=-1", "workload.skip_requests=-1"),
    "weights": ("--config.model.weights=no.gguf",
                "model.weights: 'no.gguf' no such file"),
    "devices": ("--config.cluster.split=4C", "cluster.split: needs 4 devices"),
    "stages": ("--config.cluster.pp=2", "cluster.pp: 2 for role C; pipeline"),
    "page": ("--config.cluster.kv_tokens=8", "cluster.kv_tokens: 8 is less"),
    "policy": ("--config.strategy.kind=broken:Rule",
               "strategy.kind: 'broken:Rule': ZeroDivisionError"),
    "heat": ("--config.sampling.temperature=-1", "sampling.temperature: must"),
    "chip": ("--config.cluster.chip=h100-sxm", "cluster.chip: does not apply"),
    "scale": ("--config.workload.time_scale=0", "workload.time_scale=0.0"),
    "verify": ("--config.engine.verify_tokens=x", "engine.verify_tokens: expe"),
}
REPLACED = {"--config.cluster.chip=none": "chip", "good.csv": "row"}


@pytest.fixture
def told(command, folder):
  (folder / "broken.py").write_text("1 / 0\n")
  header = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
  row = "2023-11-16 18:15:46.680,{},5\n"
  for name, length in (("good.csv", 7), ("bad.csv", 0)):
    (folder / name).write_text(header + row.format(length))
  before = sorted(folder.iterdir())

  def run(*arguments):
    status, _, errors = command("--dry_run", *arguments)
    assert sorted(folder.iterdir()) == before
    return status, errors

  return run


def check(told, mistakes, base=()):
  """All these mistakes are told, each once, and nothing else is."""
  status, errors = told(*base, *(flag for flag, _ in mistakes))
  assert status == 2
  for _, start in mistakes:
    assert len([line for line in errors if start in line]) == 1, errors
  assert len(errors) == len(mistakes), errors


@pytest.mark.parametrize("name", SIMULATED)
def test_each_beside_every_other(told, name):
  names = list(SIMULATED)
  for other in names[names.index(name) + 1 :]:
    check(told, [SIMULATED[name], SIMULATED[other]])


def test_all_of_a_simulated_run(told):
  check(told, list(SIMULATED.values()))


def base_for(*names):
  """The flags of a good measured run, without those that mistakes replace."""
  return [
      flag
      for flag in BASE
      if not any(word in flag and of in names for word, of in REPLACED.items())
  ]


def test_each_of_a_measured_run_beside_every_other(told):
  for pair in itertools.combinations(MEASURED, 2):
    check(told, [MEASURED[name] for name in pair], base_for(*pair))


def test_all_of_a_measured_run(told):
  check(told, list(MEASURED.values()), base_for(*MEASURED))


def test_all_of_one_section(told):
  workload = [m for m in SIMULATED.values() if m[0].startswith("--config.work")]
  assert len(workload) == 8
  check(told, workload)


BLOCKS = '''
def get_config():
  run = {"cluster": {"chip": "h100-sxm"}, "workload": {"rate": 1.0}}
  cases = {
      "a": {"strategy.kind": "chunkd"},
      "b": {"cluster.split": "1P1D", "strategy.chnk": 3},
      "c": {"strategy.kind": "chunked", "strategy.chunk_size": 0},
      "d": 7,
  }
  return {"blocks": {
      "one": {**run, "modl": 1, "sweep": {"cases": cases, "gird": {}}},
      "two": {**run, "slo": {"attainment": 3}, "then": "no_such:f"},
      "three": {"reads": "four", "then": "no_such:f"},
      "a/b": 5,
  }}
'''


def test_all_blocks_and_all_cases(told, command, folder):
  (folder / "blocks.py").write_text(BLOCKS)
  status, _, errors = command(
      "--dry_run", "--config.two.workload.seed=-1", config="blocks"
  )
  assert status == 2
  starts = [
      "blocks: expected the name of a folder",
      "blocks: expected 'a/b' to be an experiment",
      "one: modl: no such field",
      "one: sweep.gird: no such field",
      "one: sweep.cases.d: expected {field: ...}, got 7",
      "one: strategy.kind: unknown strategy 'chunkd'",
      "one: cluster.split: continuous runs on workers of role C",
      "one: strategy.chnk: no such field",
      "one: strategy.chunk_size: must be from 1",
      "two: workload.seed=-1",
      "two: slo.attainment: must be above 0",
      "two: then: 'no_such:f'",
      "three: then: 'no_such:f'",
      "three: reads: 'four' is no earlier block",
  ]
  for start in starts:
    assert len([line for line in errors if line.startswith(start)]) == 1, start
  assert len(errors) == len(starts), errors
