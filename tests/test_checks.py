"""Values that cannot be, each as one line that names the field."""

import pytest

from pdjax import checks, schema


def lines_of(tree):
  return checks.mistakes(schema.run_from_tree(tree), checks.CHECKS)


GOOD = {"cluster": {"chip": "h100-sxm"}}


def test_a_good_run_has_no_problem():
  assert lines_of(GOOD) == []


@pytest.mark.parametrize(
    ("tree", "line"),
    [
        ({"strategy": {"chunk_size": 0}},
         "strategy.chunk_size: must be from 1 to 1000000000, got 0"),
        ({"strategy": {"max_num_seqs": 0}},
         "strategy.max_num_seqs: must be from 1 to 1000000, got 0"),
        ({"cluster": {"page_tokens": 24, "chip": "x"}},
         "cluster.page_tokens: must be one of 8, 16, 32, 64, 128, got 24"),
        ({"cluster": {"tp": 0, "chip": "x"}},
         "cluster.tp: must be from 1 to 1024, got 0"),
        ({"cluster": {"tp": {"P": 0}, "split": "1P1D", "chip": "x"},
          "strategy": {"kind": "disaggregated"}},
         "cluster.tp.P: must be from 1 to 1024, got 0"),
        ({"cluster": {"tp": {"P": 2}, "chip": "x"}},
         "cluster.tp.P: no such role in split '1C'; allowed: C"),
        ({"slo": {"attainment": 0.0}},
         "slo.attainment: must be above 0 and at most 1, got 0.0"),
        ({"slo": {"attainment": 1.5}},
         "slo.attainment: must be above 0 and at most 1, got 1.5"),
        ({"sampling": {"top_p": 0.0}},
         "sampling.top_p: must be above 0 and at most 1, got 0.0"),
        ({"sampling": {"top_p": 1.1}},
         "sampling.top_p: must be above 0 and at most 1, got 1.1"),
        ({"sampling": {"top_k": -1}},
         "sampling.top_k: must be from 0 to 1000000, got -1"),
        ({"sampling": {"min_p": 1.0}},
         "sampling.min_p: must be at least 0 and below 1, got 1.0"),
        ({"sampling": {"min_p": -0.1}},
         "sampling.min_p: must be at least 0 and below 1, got -0.1"),
        ({"sampling": {"stop_ids": (2, -3)}},
         "sampling.stop_ids[1]: must be from 0 to 1000000, got -3"),
        ({"sampling": {"stop": ("x", "")}},
         "sampling.stop[1]: empty, which would end every answer"),
        ({"slo": {"terms": (("ttft", "value", "request", 0.0),)}},
         "slo.terms[0]: the limit in seconds must be above 0 and at most"
         " 1000000000, got 0.0"),
        ({"cluster": {"pools": (), "chip": "x"}},
         "cluster.pools: needs at least one pool"),
        ({"cluster": {"pools": ({"role": "C", "count": 0},), "chip": "x"}},
         "cluster.pools[0].count: must be from 1 to 1024, got 0"),
        ({"strategy": {"kind": "chunkd"}},
         "strategy.kind: unknown strategy 'chunkd'; allowed: continuous,"
         " static, chunked, adaptive_chunk, disaggregated, conditional,"
         " elastic, vllm_v1, lanes, or 'module:factory'; did you mean"
         " 'chunked'?"),
        ({"strategy": {"kind": "lanes"}, "backend": {"kind": "jax"}},
         "strategy.kind: two lanes share each chip between two steps at a time,"
         " which is simulated only; use backend.kind='simulated', or"
         " strategy.kind='chunked'"),
        ({"strategy": {"kind": "mine:Rule", "lanes": {}},
          "backend": {"kind": "jax"}},
         "strategy.lanes: two lanes share each chip between two steps at a"
         " time, which is simulated only; use backend.kind='simulated', or"
         " strategy.kind='chunked'"),
        ({"strategy": {"kind": "lanes"}, "backend": {"costs": "mine.json"}},
         "backend.costs: 'mine.json' knows whole chips, and with lanes each"
         " step has a share of one; use 'analytical' or 'fitted'"),
        ({"strategy": {"kind": "lanes", "lanes": {"prefill_compute": 1.0}}},
         "strategy.lanes.prefill_compute: must be above 0 and below 1, got"
         " 1.0"),
        ({"strategy": {"router": "prefix_aware"}},
         "strategy.router: 'prefix_aware' would change nothing while"
         " strategy.prefix_cache is off; use 'least_outstanding_tokens', or"
         " turn it on"),
        ({"strategy": {"kind": "adaptive_chunk"}},
         "slo.tpot_s: adaptive_chunk needs it: a step may take no longer, or"
         " use strategy.kind='chunked'"),
        ({"strategy": {"kind": "adaptive_chunk"}, "backend": {"kind": "jax"},
          "slo": {"tpot_s": 0.1}},
         "strategy.step_costs: adaptive_chunk on real devices needs the file of"
         " a calibration (`python -m pdjax.calibrate`)"),
        ({"strategy": {"kind": "disaggregated", "chunk_size": 64, "transfer": {
            "granularity": "chunk", "reserve_at": "prefill_end"}},
          "cluster": {"split": "1P1D", "chip": "x"}},
         "strategy.transfer.reserve_at: granularity 'chunk' moves pages before"
         " the prefill ends: 'prefill_start' or 'arrival', got 'prefill_end'"),
        ({"strategy": {"kind": "disaggregated", "transfer": {
            "granularity": "chunk"}},
          "cluster": {"split": "1P1D", "chip": "x"}},
         "strategy.transfer.granularity: 'chunk' needs prompts in chunks: say"
         " strategy.chunk_size"),
        ({"strategy": {"kind": "disaggregated", "transfer": {
            "granularity": "layers"}},
          "cluster": {"split": "1P1D", "chip": "x"}},
         "strategy.transfer.layers: granularity 'layers' needs it: how many"
         " move at a time"),
        ({"strategy": {"kind": "disaggregated", "transfer": {
            "payload": "int8"}}, "model": {"kv_dtype": "fp8"},
          "cluster": {"split": "1P1D", "chip": "x"}},
         "strategy.transfer.payload: 'int8' would save nothing:"
         " model.kv_dtype is 'fp8' already"),
        ({"strategy": {"kind": "disaggregated"}},
         "cluster.split: disaggregated runs on workers of role P and D, such"
         " as '2P2D'; got '1C'"),
        ({"cluster": {"split": "1P1D", "chip": "x"}},
         "cluster.split: continuous runs on workers of role C, such as '4C';"
         " got '1P1D'"),
    ],
)
def test_wrong_value(tree, line):
  lines = lines_of(GOOD | tree)
  assert line in lines
  assert len(lines) == 1


def test_a_split_that_does_not_parse_is_one_line():
  (line,) = lines_of({"cluster": {"split": "4X", "chip": "x"}})
  assert line.startswith("cluster.split: '4X' is not a split")


def test_a_simulated_run_needs_a_chip():
  (line,) = lines_of({})
  assert line.startswith("cluster.chip: the simulated backend needs a chip")
  assert lines_of({"backend": {"kind": "jax"}}) == []


def test_a_users_policy_may_run_on_any_split():
  for split in ("2C", "1P1D", "1P1D2C"):
    tree = {
        "cluster": {"split": split, "chip": "x"},
        "strategy": {"kind": "mine:Rule"},
    }
    assert lines_of(tree) == []
