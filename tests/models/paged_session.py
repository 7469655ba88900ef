"""A few requests on one paged pool, step by step: what tests drive.

Every request gets its pages at the start, in an order the test may choose.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from pdjax import config, kv
from pdjax import mesh as meshes
from pdjax.models import presets, transformer, weights

PAGE_TOKENS = 8


@functools.cache
def load(name="tiny", tp=1, kind="random", dtype="float32"):
  """A model on the first `tp` devices."""
  mesh = meshes.make_mesh(jax.devices(), tp)
  model = config.Model(preset=name, weights=kind, dtype=dtype)
  return weights.load(model, presets.preset(name), mesh)


@functools.cache
def _compiled(model):
  apply, params = transformer.pure(model)
  step = jax.jit(
      apply,
      donate_argnums=2,
      out_shardings=(
          meshes.replicated(model.mesh), kv.pool_sharding(model.mesh)
      ),
  )
  return functools.partial(step, params)


def stacked(model, name):
  """A weight of all layers: array [L, ...]; `mlp.up_DF` and the like too."""
  values = []
  for block in model.stack.blocks:
    *inside, last = name.split(".")
    owner = functools.reduce(getattr, inside, block)
    values.append(np.asarray(getattr(owner, last)[...]))
  return np.stack(values)


def forget():
  """Lets go of all models; the real one is half a gigabyte."""
  load.cache_clear()
  _compiled.cache_clear()


class PagedSession:
  """Tables of pages, one row a request; `pool` may be poisoned between."""

  def __init__(self, model, *, requests=1, pages_each=8, order=None):
    self.model, self.pages_each = model, pages_each
    pages = np.arange(1, requests * pages_each + 1, dtype=np.int32)
    if order is not None:
      pages = pages[np.asarray(order)]
    self.tables = pages.reshape(requests, pages_each)
    self.lengths = np.zeros(requests, np.int32)
    self.config = transformer.pool_config(
        model.spec, tp=model.mesh.size, num_pages=pages.size + 3,
        page_tokens=PAGE_TOKENS, dtype=model.embed_VD[...].dtype.name,
    )
    self.pool = kv.new_pool(self.config, model.mesh)

  def step(self, prefill=(), decode=(), pad_tokens=0, pad_slots=0):
    """Logits of each decode row, then of each chunk's last token.

    `prefill`: (request, tokens) pairs; `decode`: (request, token) pairs.
    """
    rows, tables, chunk_row, last = [], [], [], []
    for request, token in decode:
      rows.append((request, token, self.lengths[request]))
      self.lengths[request] += 1
    decodes = [request for request, _ in decode]
    rows += [None] * pad_slots
    for row, (request, tokens) in enumerate(prefill):
      for token in tokens:
        rows.append((request, token, self.lengths[request]))
        self.lengths[request] += 1
        chunk_row.append(row)
      tables.append(self.tables[request])
      last.append(len(rows) - 1)
    rows += [None] * pad_tokens
    chunk_row += [-1] * pad_tokens
    batch = self._batch(rows, decodes, pad_slots, tables, chunk_row, last)
    logits, self.pool = _compiled(self.model)(batch, self.pool)
    return np.asarray(logits)

  def _batch(self, rows, decodes, pad_slots, tables, chunk_row, last):
    def ints(values, *shape):
      return jnp.asarray(np.array(values, np.int32).reshape(*shape))

    place = [
        (0, 0, 0, 0) if row is None else (
            row[1], row[2], self.tables[row[0]][row[2] // PAGE_TOKENS],
            row[2] % PAGE_TOKENS,
        )
        for row in rows
    ]
    token, position, page, cell = np.array(place, np.int32).T
    empty = [np.zeros(self.pages_each, np.int32)]
    slots = len(decodes) + pad_slots
    lengths = [self.lengths[r] for r in decodes] + [0] * pad_slots
    return kv.Batch(
        token_T=ints(token, -1),
        position_T=ints(position, -1),
        page_T=ints(page, -1),
        cell_T=ints(cell, -1),
        decode_page_BM=ints(
            [self.tables[r] for r in decodes] + empty * pad_slots,
            slots, self.pages_each,
        ),
        decode_length_B=ints(lengths, -1),
        chunk_page_RM=ints(tables or empty, -1, self.pages_each),
        chunk_row_U=ints(chunk_row, -1),
        logit_S=ints(list(range(len(decodes))) + last, -1),
    )

  def prefill(self, tokens, chunk=None, request=0):
    """The logits after a prompt, fed in chunks."""
    chunk = chunk or len(tokens)
    for start in range(0, len(tokens), chunk):
      logits = self.step(prefill=[(request, tokens[start : start + chunk])])
    return logits[0]

  def greedy(self, tokens, steps, chunk=None):
    """The next `steps` tokens."""
    out = [int(self.prefill(tokens, chunk).argmax())]
    while len(out) < steps:
      out.append(int(self.step(decode=[(0, out[-1])])[0].argmax()))
    return out

  def poison(self):
    """NaN wherever no request has written, the sentinel included."""
    pool = np.array(self.pool)
    owned = np.zeros(pool.shape[1:2] + (PAGE_TOKENS,), bool)
    for table, length in zip(self.tables, self.lengths, strict=True):
      for position in range(length):
        owned[table[position // PAGE_TOKENS], position % PAGE_TOKENS] = True
    lost_PC = ~owned[None, :, None, None, :, None]
    pool = np.where(lost_PC, np.float32("nan"), pool)
    self.pool = jax.device_put(pool, kv.pool_sharding(self.model.mesh))
