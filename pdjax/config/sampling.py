"""How tokens are drawn."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sampling:
  """How tokens are drawn, and what ends an answer before its length does."""

  temperature: float = 0.0
  """0 is greedy."""
  top_k: int = 0
  """Draws from the k most likely tokens; 0: from all."""
  top_p: float = 1.0
  """Of what top_k keeps, draws from the fewest most likely tokens that together
  have this share; 1: from all."""
  min_p: float = 0.0
  """Draws from tokens at least this likely relative to the best; 0: from
  all."""
  seed: int = 0
  """Of the draws; each request's own follows from it and its number."""
  stop_ids: tuple[int, ...] = ()
  """Tokens that end an answer, besides the end tokens of the weights."""
  stop: tuple[str, ...] = ()
  """Texts that end an answer with the token that completes one."""
