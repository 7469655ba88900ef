"""Law 4: the same seed gives the same bytes, in any process."""

import os
import subprocess
import sys
from pathlib import Path

CONFIG = '''
"""Three strategies on a small load."""


def get_config():
  return {
      "backend": {"kind": "simulated"},
      "model": {"preset": "llama-3-8b"},
      "cluster": {"chip": "a100-80gb-sxm", "kv_tokens": 8192},
      "workload": {
          "num_requests": 60, "rate": 20.0,
          "prompt": {"kind": "lognormal", "mean": 600, "cv": 1.0},
          "output": {"kind": "lognormal", "mean": 60, "cv": 1.0},
      },
      "slo": {"ttft_s": 1.0, "tpot_s": 0.1},
      "sweep": {"cases": (
          {"name": "a", "cluster.split": "2C", "strategy.kind": "continuous"},
          {"name": "b", "cluster.split": "2C", "strategy.kind": "chunked"},
          {"name": "c", "cluster.split": "1P1D",
           "strategy.kind": "disaggregated"},
      )},
  }
'''
MAY_DIFFER = {"provenance.json", "status.json"}


def run_experiment(folder: Path, hash_seed: str) -> dict[str, bytes]:
  config = folder.parent / "small.py"
  config.write_text(CONFIG)
  subprocess.run(
      [
          sys.executable, "-m", "pdjax.experiment", f"--config={config}",
          f"--output_dir={folder}",
      ],
      check=True,
      capture_output=True,
      env=os.environ | {"PYTHONHASHSEED": hash_seed},
      timeout=300,
  )
  return {
      str(path.relative_to(folder)): path.read_bytes()
      for path in sorted(folder.rglob("*"))
      if path.is_file() and path.name not in MAY_DIFFER
  }


def test_two_processes_write_the_same_bytes(tmp_path):
  first = run_experiment(tmp_path / "first", "1")
  second = run_experiment(tmp_path / "second", "2")
  assert sum(name.endswith("events.parquet") for name in first) == 3
  assert first.keys() == second.keys()
  different = [name for name in first if first[name] != second[name]]
  assert different == []
