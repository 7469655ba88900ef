"""What a kernel is asked to do, as far as shapes and types say it."""

import dataclasses

import jax
import jax.numpy as jnp

from pdjax_kernels import pages


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Spec:
  """Attention of one device over pages."""

  num_heads: int
  num_kv_heads: int
  head_dim: int
  page_tokens: int
  dtype: str
  """Of the queries."""
  kv_dtype: str
  packed: bool = False

  @classmethod
  def of(cls, q_BNH: jax.Array, kv_P2KCH: jax.Array) -> "Spec":
    _, N, H = q_BNH.shape
    _, _, K, C, _ = kv_P2KCH.shape
    return cls(
        num_heads=N, num_kv_heads=K, head_dim=H, page_tokens=C,
        dtype=q_BNH.dtype.name, kv_dtype=kv_P2KCH.dtype.name,
        packed=pages.is_packed(kv_P2KCH),
    )

  @property
  def cell_width(self) -> int:
    """W: lanes of a cell."""
    return self.head_dim * (2 if self.packed else 1)

  @property
  def pair(self) -> int:
    """Length of a page's second axis."""
    return 1 if self.packed else 2

  @property
  def queries_per_kv_head(self) -> int:
    """G."""
    return self.num_heads // self.num_kv_heads

  @property
  def cell_bytes(self) -> int:
    """A token's key and value in one head."""
    return self.pair * self.cell_width * jnp.dtype(self.kv_dtype).itemsize


FLOATS = ("float32", "bfloat16")
KV_TYPES = (*FLOATS, "int8", "float8_e4m3fn", "float8_e5m2")


def mismatch(spec: Spec) -> str | None:
  """Why no kernel takes this, or None."""
  if spec.num_heads % spec.num_kv_heads:
    return f"{spec.num_heads} heads over {spec.num_kv_heads} kv heads"
  if spec.dtype not in FLOATS:
    return f"queries of {spec.dtype}; one of {', '.join(FLOATS)}"
  if spec.kv_dtype not in KV_TYPES:
    return f"a cache of {spec.kv_dtype}; one of {', '.join(KV_TYPES)}"
  return None
