"""Peak host memory and time of loading weights: python benchmarks/loading.py

Writes a random Llama of about 600 MB to a temporary folder as a Hugging Face
checkpoint in several files, converts it, and loads each form in a process of
its own onto one and two CPU devices. The peak is the process's largest
resident set, less that of the same process loading a model of one layer and
little size: imports, compiler and thread pools. CPU devices keep the weights in
that same memory, so what stays is the weights once, and the ratio printed is
1 when nothing is held twice. Above `LIMIT` the exit status is 1.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

LIMIT = 1.3
SHARDS = 3
SIZES = dict(
    architectures=["LlamaForCausalLM"], hidden_size=1024, num_hidden_layers=14,
    num_attention_heads=16, num_key_value_heads=4, intermediate_size=2048,
    vocab_size=16384, max_position_embeddings=1024, rms_norm_eps=1e-5,
)
SMALL = dict(num_hidden_layers=1, hidden_size=64, intermediate_size=64,
             vocab_size=64)


def write_checkpoint(folder: pathlib.Path, sizes: dict) -> int:
  """A random float32 checkpoint; its weights in bytes."""
  from pdjax.models import hf_config, hf_names

  folder.mkdir()
  (folder / "config.json").write_text(json.dumps(sizes))
  architecture, spec = hf_config.read(folder)
  tensors = list(hf_names.tensors(spec, architecture))
  where = {}
  for shard in range(SHARDS):
    name = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
    own = tensors[shard::SHARDS]
    _write_shard(folder / name, own)
    where |= {tensor: name for tensor, _ in own}
  index = folder / "model.safetensors.index.json"
  index.write_text(json.dumps({"weight_map": where}))
  return spec.num_params * 4


def _write_shard(path: pathlib.Path, tensors) -> None:
  header, end = {}, 0
  for name, shape in tensors:
    begin, end = end, end + 4 * int(np.prod(shape))
    header[name] = {
        "dtype": "F32", "shape": shape, "data_offsets": [begin, end]
    }
  text = json.dumps(header).encode()
  rng = np.random.default_rng(0)
  with path.open("wb") as file:
    file.write(len(text).to_bytes(8, "little") + text)
    for _, shape in tensors:
      file.write(rng.standard_normal(shape, np.float32).tobytes())


def load(folder: str, tp: int) -> None:
  """In a child: loads, and prints its peak in bytes and its seconds."""
  import jax

  from pdjax import config
  from pdjax import mesh as meshes
  from pdjax.models import sizes, weights

  model = config.Model(
      preset="from_weights", weights=folder, dtype="float32"
  )
  spec = sizes.spec_of(model)
  mesh = meshes.make_mesh(jax.devices(), tp)
  start = time.perf_counter()
  jax.block_until_ready(weights.load(model, spec, mesh).embed_VD[...])
  seconds = time.perf_counter() - start
  print(json.dumps([peak_bytes(), seconds]))


def peak_bytes() -> int:
  """Of this program; `ru_maxrss` would count what its parent held, too."""
  status = pathlib.Path("/proc/self/status").read_text()
  line = next(x for x in status.splitlines() if x.startswith("VmHWM"))
  return int(line.split()[1]) * 1024


def measured(folder: pathlib.Path, tp: int) -> tuple[int, float]:
  """Peak bytes and seconds of loading a folder in a fresh process."""
  flags = f"--xla_force_host_platform_device_count={tp}"
  done = subprocess.run(
      [sys.executable, __file__, str(folder), str(tp)],
      env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
      capture_output=True, text=True, check=True,
  )
  return tuple(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
  """Prints a line for each way of loading."""
  from pdjax.models import convert

  worst = 0.0
  with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    weights_bytes = write_checkpoint(work / "hf", SIZES)
    write_checkpoint(work / "hf-small", {**SIZES, **SMALL})
    for kind in ("hf", "hf-small"):
      target = work / kind.replace("hf", "orbax")
      convert.convert(work / kind, target, "float32")
    print(f"weights {weights_bytes / 1e6:.0f} MB, float32; measured")
    for kind in ("hf", "orbax"):
      for tp in (1, 2):
        base, _ = measured(work / f"{kind}-small", tp)
        peak, seconds = measured(work / kind, tp)
        ratio = (peak - base) / weights_bytes
        worst = max(worst, ratio)
        print(
            f"{kind:<6} tp {tp}: peak {peak / 1e6:.0f} MB"
            f" - baseline {base / 1e6:.0f} MB = {(peak - base) / 1e6:.0f} MB,"
            f" {ratio:.2f} x the weights, {seconds:.1f} s"
        )
  return int(worst > LIMIT)


if __name__ == "__main__":
  if len(sys.argv) == 3:
    load(sys.argv[1], int(sys.argv[2]))
  else:
    sys.exit(main())
