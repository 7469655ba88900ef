"""Published SLOs by name, in the terms of `pdjax.metrics.slo`.

A preset's terms come before a config's own and are stored with them, as plain
limits, in `conditions.json`. What a source states relative to an unloaded
latency is here as the limits it gave for its own models and chips, if it gave
any; else as slowdowns, which `slo.unloaded_s` makes limits of.

Smooth goodput (Wang et al., arXiv 2410.14257) is no term: the goodput of tokens
by their own deadlines stands beside every result; see `pdjax.metrics.goodput`.
"""

import dataclasses

_Term = tuple[str, str, str, float]
MS = 1e-3


@dataclasses.dataclass(frozen=True)
class Preset:
  """Terms and where they are from."""

  terms: tuple[_Term, ...]
  source: str
  slowdowns: tuple[_Term, ...] = ()
  """The same with factors in the place of limits."""


def _mlperf(model: str, ttft_ms: float, tpot_ms: float) -> Preset:
  """Each percentile by itself, over the whole run."""
  return Preset(
      (
          ("ttft", "p99", "run", ttft_ms * MS),
          ("tpot", "p99", "run", tpot_ms * MS),
      ),
      f"MLPerf Inference, {model}",
  )


def _distserve(workload: str, ttft_s: float, tpot_s: float) -> Preset:
  """Both limits for one request."""
  return Preset(
      (("ttft", "value", "request", ttft_s), ("tpot", "value", "request",
                                              tpot_s)),
      f"DistServe (Zhong et al., OSDI 2024), {workload}",
  )


def _sarathi(model: str, gap_s: float) -> Preset:
  """Strict is 5, relaxed 25 times an unloaded decode step of the model there.
  """
  return Preset(
      (("itl", "p99", "run", gap_s), ("queue_prefill", "p50", "run", 2.0)),
      f"Sarathi-Serve (Agrawal et al., OSDI 2024), {model}",
  )


def _mooncake(gap_ms: float) -> Preset:
  """The gaps' worst tenth on average."""
  return Preset(
      (
          ("ttft", "value", "request", 30.0),
          ("itl", "worst10_mean", "run", gap_ms * MS),
      ),
      "Mooncake (Qin et al., FAST 2025)",
  )


def _slowdowns(**factors: tuple[float, float, float]) -> tuple[_Term, ...]:
  """By metric, those of the p50, p90 and p99 of a run."""
  return tuple(
      (metric, statistic, "run", factor)
      for metric, each in factors.items()
      for statistic, factor in zip(("p50", "p90", "p99"), each, strict=True)
  )


PRESETS: dict[str, Preset] = {
    "mlperf-llama2-70b": _mlperf("llama2-70b server", 2000, 200),
    "mlperf-llama2-70b-interactive": _mlperf("llama2-70b interactive", 450, 40),
    "mlperf-llama3.1-8b": _mlperf("llama3.1-8b server", 2000, 100),
    "mlperf-llama3.1-8b-interactive": _mlperf(
        "llama3.1-8b interactive", 500, 30
    ),
    "mlperf-llama3.1-405b": _mlperf("llama3.1-405b server", 6000, 175),
    "mlperf-llama3.1-405b-interactive": _mlperf(
        "llama3.1-405b interactive", 4500, 80
    ),
    "mlperf-deepseek-r1": _mlperf("deepseek-r1 server", 2000, 80),
    "mlperf-deepseek-r1-interactive": _mlperf(
        "deepseek-r1 interactive", 1500, 15
    ),
    "mlperf-mixtral-8x7b": _mlperf("mixtral-8x7b server", 2000, 200),
    "distserve-13b-sharegpt": _distserve("OPT-13B, ShareGPT", 0.25, 0.1),
    "distserve-66b-sharegpt": _distserve(
        "OPT-66B, ShareGPT (its scripts; the paper's table says 2.5 and 0.15)",
        0.4, 0.1,
    ),
    "distserve-175b-sharegpt": _distserve("OPT-175B, ShareGPT", 4, 0.2),
    "distserve-66b-humaneval": _distserve("OPT-66B, HumanEval", 0.125, 0.2),
    "distserve-66b-longbench": _distserve("OPT-66B, LongBench", 15, 0.15),
    "sarathi-mistral-7b-strict": _sarathi("Mistral-7B on an A100", 0.1),
    "sarathi-mistral-7b-relaxed": _sarathi("Mistral-7B on an A100", 0.5),
    "sarathi-yi-34b-strict": _sarathi("Yi-34B on 2 A100", 0.2),
    "sarathi-yi-34b-relaxed": _sarathi("Yi-34B on 2 A100", 1.0),
    "sarathi-llama2-70b-strict": _sarathi("LLaMA2-70B on 8 A40", 1.0),
    "sarathi-llama2-70b-relaxed": _sarathi("LLaMA2-70B on 8 A40", 5.0),
    "mooncake-100ms": _mooncake(100),
    "mooncake-200ms": _mooncake(200),
    "mooncake-300ms": _mooncake(300),
    "splitwise": Preset(
        (),
        "Splitwise (Patel et al., ISCA 2024), against an idle A100",
        _slowdowns(
            ttft=(2.0, 3.0, 6.0), tpot=(1.25, 1.5, 5.0), e2el=(1.25, 1.5, 5.0)
        ),
    ),
}
