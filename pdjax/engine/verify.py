"""Checks a run's tokens against a plain forward pass, without cache or pages.

Dimension key: docs/notation.md.
"""

import jax
import jax.numpy as jnp
import numpy as np

from pdjax import config
from pdjax.config import pages_for
from pdjax.engine import packing
from pdjax.engine.agreement import TIE, Agreement
from pdjax.engine.backend import EngineBackend
from pdjax.engine.sampling import Scores, score
from pdjax.models import transformer
from pdjax.workload.workload import Workload

PAD_TOKENS = 64
"""Sequences are padded to a multiple, so that few lengths are compiled."""


def verify_tokens(
    backend: EngineBackend, workload: Workload, count: int
) -> Agreement:
  """Feeds `count` requests' prompts and answers to the plain model.

  Each token must have the best score given all before it, or its score be
  within `TIE` of the best: a tie. Within `TIE` of the floor of top_k, top_p or
  min_p a token may count or not, which is a tie too. A token from logits that
  are not finite is different, whichever it is. Since the model is fed the
  very tokens that were sent, a tie does not end the comparison.

  Args:
    backend: after a run.
    workload: of that run.
    count: requests to check, spread over those that have an answer.
  """
  answered = [
      request for request in workload.requests if backend.tokens[request.id]
  ]
  every = max(1, len(answered) // max(1, count))
  chosen = answered[::every][:count]
  sequences = [backend.sequence(request.id) for request in chosen]
  longest = max(map(len, sequences), default=0)
  padded = pages_for(longest, PAD_TOKENS) * PAD_TOKENS
  total = Agreement()
  for request, sequence in zip(chosen, sequences, strict=True):
    scores = _scores(
        backend, request.id, sequence, request.prompt_tokens, padded
    )
    total += _check(scores, sequence[request.prompt_tokens :])
  return total


def _scores(
    backend: EngineBackend,
    request: int,
    token_T: np.ndarray,
    prompt_tokens: int,
    padded: int,
) -> Scores:
  """Of each position of the answer; J answer tokens."""
  run: config.Run = backend.run
  padded_T = np.zeros(padded, np.int32)
  padded_T[: len(token_T)] = token_T
  with jax.default_matmul_precision(run.engine.matmul_precision):
    logits_TV = transformer.plain_forward(backend.model, jnp.array(padded_T))
  position_J = jnp.arange(prompt_tokens, len(token_T), dtype=jnp.int32)
  rows = [backend.sampling[request]] * len(position_J)
  draws_J = packing.draws_of(rows, len(rows), run.sampling)
  return score(logits_TV[position_J - 1], draws_J, position_J)


def _check(scores: Scores, token_J: np.ndarray) -> Agreement:
  exact_JV, wide_JV, sure_JV = map(np.asarray, scores)
  best_J = sure_JV.max(axis=-1)
  own_J = np.take_along_axis(wide_JV, token_J[:, None], axis=-1)[:, 0]
  scored_J = ~np.isnan(exact_JV).any(axis=-1)
  equal_J = scored_J & (exact_JV.argmax(axis=-1) == token_J)
  tie_J = ~equal_J & (own_J > -np.inf) & (best_J - own_J < TIE)
  return Agreement(
      requests=1, checked=len(token_J), equal=int(equal_J.sum()),
      ties=int(tie_J.sum()),
  )
