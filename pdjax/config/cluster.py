"""What there is to serve on: workers, chips, links and memory."""

import dataclasses
import re

from pdjax.config.pool import Pool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Link:
  """Between any two workers."""

  bandwidth_bytes_per_s: float | None = None
  """Per direction and worker; None: what joins the workers' chips
  (docs/chips.md). On real devices what moves is kept back as if the link were
  so slow."""
  latency_s: float = 20e-6
  """From the start of a transfer to its first byte."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cluster:
  pools: tuple[Pool, ...] | None = None
  """Workers pool by pool, in place of `split`, `tp` and its like."""
  split: str = "1C"
  """Shorthand for pools: `4C`, `2P2D`, `1P1D2C`."""
  tp: int | dict[str, int] = 1
  """Tensor parallel degree, for all pools of `split` or by role."""
  pp: int | dict[str, int] = 1
  """Pipeline stages, likewise; real devices allow 1 only."""
  dp: int | dict[str, int] = 1
  """Data-parallel groups in a worker, likewise (simulated)."""
  ep: int | dict[str, int] = 1
  """Parts that experts are dealt to, likewise (simulated)."""
  microbatches: int | dict[str, int] = 1
  """Parts of a step in a pipeline, likewise (simulated)."""
  chip: str | None = None
  """A name in `pdjax.simulate.chips` or `chips`; the simulator needs one."""
  chips: dict[str, dict[str, int | float | str]] = dataclasses.field(
      default_factory=dict
  )
  """Chips of one's own: figures by name (docs/chips.md), such as
  `{"mine": {"like": "h100-sxm", "hbm_bytes_per_s": 6e12}}`. Workers must run on
  each, and none may be named as a known one is."""
  link: Link = Link()
  page_tokens: int = 16
  """Tokens in one page of KV cache: 8, 16, 32, 64 or 128."""
  kv_tokens: int | None = None
  """Tokens of KV cache a worker, at most what its memory leaves; None: that
  much (simulated), 16384 on real devices."""
  hbm_utilization: float = 0.9
  """Share of memory given to weights, activations and KV (simulated)."""
  reserve_pages: int = 1
  """Pages kept free per running request at admission."""
  host_kv_tokens: int | None = None
  """Tokens of KV cache a worker keeps in host memory: what its prefix cache
  evicts comes back from there; None: none."""
  host_bytes_per_s: float = 50e9
  """Between a worker and its host memory, as pages come back (simulated)."""
  host_devices: int | None = None
  """Virtual CPU devices to split the host into; None: the devices found."""
  share_devices: bool = False
  """All workers on the same devices: real transfers, no isolation."""


def parse_split(split: str) -> dict[str, int]:
  """Workers by role.

  >>> parse_split("1P1D2C")
  {'P': 1, 'D': 1, 'C': 2}

  Raises:
    ValueError: not of the form `xPyD`, `nC` or both.
  """
  shown = repr(split[:40])
  parts = re.findall(r"([0-9]{1,9})([PDC])", split)
  counts = {role: int(count) for count, role in parts}
  whole = "".join(count + role for count, role in parts)
  if not parts or whole != split or len(counts) < len(parts):
    raise ValueError(f"{shown} is not a split such as '2P2D', '4C', '1P1D2C'")
  if 0 in counts.values():
    raise ValueError(f"{shown} has a role with no worker; leave it out")
  return counts


def pages_for(tokens: int, page_tokens: int) -> int:
  """Pages that hold `tokens` tokens."""
  return -(-tokens // page_tokens)
