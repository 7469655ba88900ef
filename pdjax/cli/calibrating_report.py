"""A calibration in words: its prices with their spread, and its errors."""

from collections.abc import Iterator, Mapping
from typing import Any

from pdjax.digits import plain

_WORDS = {
    "fixed_ps": "a pass",
    "begin_ps": "a command, from its cause on",
    "rest_ps": "a us of rest before a command, to 50 ms",
    "chunk_ps": "a prompt chunk",
    "prompt_token_ps": "a prompt token, padding included",
    "prompt_pair_ps": "a prompt token's look at one before it",
    "decode_ps": "a decoding sequence, padding included",
    "context_token_ps": "a token that a decode attends to",
}


def lines(found: Mapping[str, Any]) -> Iterator[str]:
  """What `calibrate` prints; measured here, prices fitted."""
  made_by = found["made_by"]
  for engine in made_by.get("engines", ()):
    yield f"engine: {engine}"
  yield (
      f"{found['model']} tp {found['tp']}, {made_by['dtype']}, measured on"
      f" {made_by['chips']} x {made_by['device']}"
  )
  yield from _prices(found)
  yield f"{'error on steps left out':<28}{'steps':>7}{'median':>9}{'p90':>8}"
  for error in found["errors"]:
    yield (
        f"{error['kind']:<28}{error['steps']:>7}"
        f"{100 * error['median']:>8.1f}%{100 * error['p90']:>7.1f}%"
    )
  if found["transfers"]:
    link, copies = found["link"], found["copies"]
    yield (
        f"a hand-off: gathering {copies['gather_fixed_ps'] / 1e6:.0f} us,"
        f" scattering {copies['scatter_fixed_ps'] / 1e6:.0f} us, and each"
        f" {plain(copies['copy_ps_per_byte'])} us a MB; between workers"
        f" {link['latency_s'] * 1e6:.0f} us and"
        f" {link['bandwidth_bytes_per_s'] / 1e9:.2f} GB/s"
    )
  known = found["range"]
  yield (
      f"range: passes of up to {known['prompt_tokens']} prompt tokens, chunks"
      f" after up to {known['cached_tokens']} cached ones, up to"
      f" {known['sequences']} decodes attending to {known['context_tokens']}"
      " tokens together; beyond it prices extrapolate"
  )
  for note in made_by["notes"]:
    yield f"note: {note}"


def _prices(found: Mapping[str, Any]) -> Iterator[str]:
  """Each alone, and beside one busy neighbour where workers share a host."""
  sharing = found["sharing"]
  kinds = [kind for kind in _NEIGHBOURS if kind in sharing]
  heads = "".join(f"{_NEIGHBOURS[kind]:>18}" for kind in kinds)
  yield f"{'price (fitted)':<42}{'us':>12}{'spread':>9}{heads}"
  for name, words in _WORDS.items():
    price_ps = found["prices"][name]
    beside = [price_ps + sharing[kind][name] for kind in kinds]
    shown = "".join(f"{plain(each / 1e6, 4):>18}" for each in beside)
    spread = _percent(found["spread"][name])
    yield f"{words:<42}{plain(price_ps / 1e6, 4):>12}{spread:>9}{shown}"


_NEIGHBOURS = {"prompts": "beside a prefill", "decodes": "beside decodes"}


def _percent(spread: float | None) -> str:
  return "" if spread is None else f"{100 * spread:.1f} %"
