"""The real backend of a run: prompts in, tokens and their checks out.

Imports JAX; only a measured cell's own process imports this.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pdjax.cli.plant import Plant, held
from pdjax.cli.profiled import profile
from pdjax.cli.watch import Throttle
from pdjax.config import Run, TransferPlan
from pdjax.engine import capacity
from pdjax.engine.agreement import Agreement, unscored
from pdjax.engine.backend import EngineBackend
from pdjax.engine.steps import Padding
from pdjax.engine.verify import verify_tokens
from pdjax.metrics.flags import Facts
from pdjax.models import checkpoint
from pdjax.models.sizes import spec_of
from pdjax.models.tokenizer import end_ids_of, has_tokenizer, load_tokenizer
from pdjax.workload.prompts import token_ids
from pdjax.workload.workload import Workload

_NO_TEXT = "no tokenizer beside the weights: prompts are random ids"


def measured(
    run: Run, workload: Workload, progress: Callable[[str], None]
) -> Plant:
  """An engine with everything compiled, ready to serve.

  Prompts are drawn from the workload's seed, so rivals get the same ones.

  Raises:
    ConfigError: the run does not fit the engine or the machine.
  """
  file = checkpoint.path_of(run.model)
  tokenizer = load_tokenizer(file) if file and has_tokenizer(file) else None
  prompts = token_ids(
      workload,
      tokenizer.encode if tokenizer else None,
      spec_of(run.model).vocab_size,
      run.workload.seed,
  )
  backend = EngineBackend(
      run,
      workload,
      prompts,
      end_ids=(
          tokenizer.eos_ids if tokenizer
          else end_ids_of(file) if file else ()
      ),
      token_bytes=(
          tokenizer.spelled(spec_of(run.model).vocab_size)
          if tokenizer and run.sampling.stop else None
      ),
      progress=Throttle(progress),
  )
  progress(f"{sum(backend.num_programs)} programs compiled, serving")
  found = backend.conditions
  pool_pages = capacity.pool_pages_of(run)
  staging_pages = capacity.staging_pages_of(run)
  notes = [*found["notes"], *([_NO_TEXT] if file and not tokenizer else [])]

  def examine() -> tuple[Facts, dict[str, Any]]:
    return _examine(run, workload, backend, progress)

  def traced(folder: Path, step_runs: int) -> None:
    progress("serving again for a JAX trace")
    backend.reset(workload, prompts)
    profile(run, backend, folder, step_runs)

  return Plant(
      backend=backend,
      pool_pages=pool_pages,
      staging_pages=staging_pages,
      conditions={
          "chip": found["device_kind"],
          "chips": found["devices_used"],
          "weights": checkpoint.identity(file) if file else None,
          "workers": [
              held(pages, run.cluster.page_tokens, staged)
              for pages, staged in zip(pool_pages, staging_pages, strict=True)
          ],
          "notes": notes,
      },
      devices=[found["device_kind"]] * found["devices_used"],
      examine=examine,
      write=lambda folder: _write_tokens(backend, folder / "tokens.parquet"),
      profile=traced,
      close=backend.close,
  )


def _examine(
    run: Run,
    workload: Workload,
    backend: EngineBackend,
    progress: Callable[[str], None],
) -> tuple[Facts, dict[str, Any]]:
  """Checks tokens against a plain forward pass; padding and compiles."""
  count = min(run.engine.verify_tokens, len(workload.requests))
  if count:
    progress(f"checking the tokens of {count} requests")
  checked = verify_tokens(backend, workload, count) if count else None
  facts = Facts(
      padded_token_fraction=backend.padded_token_fraction,
      compiles_in_window=backend.compiles_in_window,
      tokens_verified=checked.requests if checked else 0,
      tokens_unscored=unscored(backend.gaps.values()),
      **_agreed(checked, run.strategy.transfer) if checked else {},
  )
  more: dict[str, Any] = {
      "programs": sum(backend.num_programs),
      "wasted_tokens": Padding.sum(backend.padding).wasted_tokens,
  }
  if checked:
    more |= {
        "verified_tokens": checked.checked,
        "verified_tokens_equal": checked.equal,
        "verified_tokens_tied": checked.ties,
    }
  return facts, more


def _agreed(checked: Agreement, plan: TransferPlan | None) -> dict[str, Any]:
  """What differs is a mistake, unless pages were rounded on their way."""
  if plan is None or plan.payload == "as_is" or not checked.checked:
    return {"tokens_differing": checked.different}
  return {"token_agreement": 1 - checked.different / checked.checked}


def _write_tokens(backend: EngineBackend, path: Path) -> None:
  """A row a request: its answer, and each token's lead over the second."""
  import pyarrow as pa
  import pyarrow.parquet as pq

  requests = sorted(backend.tokens)
  table = pa.table({
      "request": pa.array(requests, pa.int64()),
      "tokens": pa.array(
          [backend.tokens[id] for id in requests], pa.list_(pa.int32())
      ),
      "gaps": pa.array(
          [backend.gaps[id] for id in requests], pa.list_(pa.float32())
      ),
  })
  pq.write_table(table, path, compression="zstd")
