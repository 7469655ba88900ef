"""A calibration in words: its prices with their spread, and its errors."""

from collections.abc import Iterator, Mapping
from typing import Any

_WORDS = {
    "fixed_ps": "a step",
    "chunk_ps": "a prompt chunk",
    "prompt_token_ps": "a prompt token, padding included",
    "prompt_pair_ps": "a prompt token's look at one before it",
    "decode_ps": "a decoding sequence, padding included",
    "context_token_ps": "a token that a decode attends to",
}


def lines(found: Mapping[str, Any]) -> Iterator[str]:
  """What `calibrate` prints; measured here, prices fitted."""
  made_by = found["made_by"]
  yield (
      f"{found['model']} tp {found['tp']}, {made_by['dtype']}, measured on"
      f" {made_by['chips']} x {made_by['device']}"
  )
  yield f"{'price (fitted)':<42}{'us':>12}{'spread':>9}"
  for name, words in _WORDS.items():
    spread = found["spread"][name]
    shown = "" if spread is None else f"{100 * spread:.1f} %"
    yield f"{words:<42}{found['prices'][name] / 1e6:>12.4g}{shown:>9}"
  yield f"{'error on steps left out':<28}{'steps':>7}{'median':>9}{'p90':>8}"
  for error in found["errors"]:
    yield (
        f"{error['kind']:<28}{error['steps']:>7}"
        f"{100 * error['median']:>8.1f}%{100 * error['p90']:>7.1f}%"
    )
  if found["transfers"]:
    link = found["link"]
    yield (
        f"transfers: {link['latency_s'] * 1e6:.0f} us and"
        f" {link['bandwidth_bytes_per_s'] / 1e9:.2f} GB/s between workers"
        f" (cluster.link), {found['copy_ps_per_byte'] / 1e3:.3f} ns a byte to"
        " gather or scatter"
    )
  known = found["range"]
  yield (
      f"range: {known['prompt_tokens']} prompt tokens a pass after"
      f" {known['cached_tokens']}, {known['sequences']} decodes attending to"
      f" {known['context_tokens']} tokens; beyond it prices extrapolate"
  )
  for note in made_by["notes"]:
    yield f"note: {note}"
