"""Work of a full step, against the numbers of a model counted by hand."""

from pdjax.aot.work import full_step, mean_tokens
from pdjax.models.presets import preset
from pdjax.workload.build import build
from tests.aot.jobs import jobs_of, run_of


def test_a_decode_multiplies_each_row_by_every_weight_and_reads_its_context():
  run = run_of()
  (job,) = jobs_of(run)
  (shape,) = [shape for shape in job.shapes if shape.kind == "decode"]
  workload, spec = build(run.workload), preset("tiny")
  assert mean_tokens(workload) == 48
  found = full_step(job, workload, shape)
  layer = spec.attention_params + 3 * spec.hidden_size * spec.ffn_size
  products = layer * spec.num_layers + spec.vocab_size * spec.hidden_size
  attention = 4 * spec.num_layers * spec.num_heads * spec.head_dim * 48
  assert found.flops == shape.B * (2 * products + attention)
  assert found.bytes > 4 * products


def test_copied_pages_are_read_and_written():
  run = run_of("1P1D")
  prefill, _ = jobs_of(run)
  (shape,) = [shape for shape in prefill.shapes if shape.kind == "gather"]
  found = full_step(prefill, build(run.workload), shape)
  page_bytes = 16 * preset("tiny").kv_bytes_per_token(4)
  assert found == (0, 2 * shape.M * page_bytes)
