"""Published statistics of lengths, as laws to draw from.

None is the data set itself: a law with the published median and 90th
percentile, or with the published mean, cut where the publication cut. What a
source does not say is assumed, and `assumed` says what. `verified` is false
where the figures come from others than who measured them.

Units: tokens, by the source's own tokenizer.
"""

import dataclasses
import math

from pdjax.config import Lengths

_P90 = 1.2815515655446004
"""Of a normal law, standard deviations from the median to the p90."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
  """Two laws and where their figures are from."""

  prompt: Lengths
  output: Lengths
  source: str
  verified: bool
  assumed: str = ""

  @property
  def note(self) -> str:
    """What a reader of results must know."""
    parts = [
        f"lengths after {self.source}",
        "" if self.verified else "UNVERIFIED: a secondary source",
        self.assumed and f"assumed: {self.assumed}",
    ]
    return "; ".join(filter(None, parts))


def quantiles(p50: float, p90: float, high: int) -> Lengths:
  """The lognormal law with these two percentiles, cut at `high`.

  >>> law = quantiles(1730, 5696, 8192)
  >>> round(law.mean), round(law.cv, 2)
  (2666, 1.17)
  """
  sigma = math.log(p90 / p50) / _P90
  return Lengths(
      kind="lognormal",
      mean=p50 * math.exp(sigma**2 / 2),
      cv=math.sqrt(math.expm1(sigma**2)),
      high=high,
  )


def mean(tokens: float, high: int) -> Lengths:
  """A lognormal law of a mean, with a coefficient of variation of 1."""
  return Lengths(kind="lognormal", mean=tokens, cv=1.0, high=high)


def _uniform(low: int, high: int) -> Lengths:
  return Lengths(kind="empirical", values=tuple(range(low, high + 1)))


_SARATHI = "Sarathi-Serve (Agrawal et al., OSDI 2024), table of data sets"
_DISTSERVE = "the data sets of DistServe (Zhong et al., OSDI 2024)"
_MEANS_ONLY = "lognormal with cv 1; only the means are known"
_CONTEXT = ", cut so that both fit OPT's 2048 tokens, which lowers the means"

PRESETS: dict[str, Preset] = {
    "openchat-sharegpt4": Preset(
        prompt=quantiles(1730, 5696, 8192), output=quantiles(415, 834, 8192),
        source=_SARATHI, verified=True,
        assumed="lognormal, prompt and answer each cut at 8192",
    ),
    "arxiv-summarization": Preset(
        prompt=quantiles(7059, 12985, 16384), output=quantiles(208, 371, 16384),
        source=_SARATHI, verified=True,
        assumed="lognormal, prompt and answer each cut at 16384",
    ),
    "sharegpt": Preset(
        prompt=mean(755, 1400), output=mean(200, 647),
        source=_DISTSERVE, verified=False, assumed=_MEANS_ONLY + _CONTEXT,
    ),
    "humaneval": Preset(
        prompt=mean(171, 1023), output=mean(98, 1024),
        source=_DISTSERVE, verified=False, assumed=_MEANS_ONLY + _CONTEXT,
    ),
    "longbench": Preset(
        prompt=mean(1738, 1747), output=mean(91, 300),
        source=_DISTSERVE, verified=False, assumed=_MEANS_ONLY + _CONTEXT,
    ),
    "inferencex-1k1k": Preset(
        prompt=_uniform(819, 1024), output=_uniform(819, 1024),
        source="InferenceX, as quoted by ai-dynamo/aiconfigurator: whole"
        " numbers from 0.8 L to L",
        verified=False,
    ),
}
