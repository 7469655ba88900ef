"""A search as plain text: a table of rivals, the best designs, the verdict.

Everything comes from what `search.json` holds.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pdjax.digits import plain
from pdjax.report import labels
from pdjax.report.heading import (
    model_words,
    prices_words,
    slo_words,
    wrapped,
)

Rival = Mapping[str, Any]

_HEAD = (
    f"{'':<{labels.WIDTH}}{'':>6}{'rate, /s/chip':>16}{'SLO %':>22}"
    f"{'goodput':>26}\n"
    f"{'':<{labels.WIDTH}}{'chips':>6}{'passed':>8}{'failed':>8}"
    f"{'where it passed':>22}{'/s/chip':>26}"
)


def table(found: Mapping[str, Any]) -> str:
  """The text of a search.

  Args:
    found: what `search.json` holds.
  """
  rivals = found["rivals"]
  parts = [
      "\n".join(wrapped(_heading(found))),
      "\n".join([_HEAD, *map(_row, rivals)]),
      "Best designs\n" + "\n".join(
          line for one in rivals for line in wrapped(_design(one))
      ),
      "\n".join(line for text in _remarks(rivals) for line in wrapped(text)),
      "\n".join(line for text in _verdict(found) for line in wrapped(text)),
  ]
  return "\n\n".join(filter(None, parts))


def _heading(found: Mapping[str, Any]) -> str:
  contract, settings = found["contract"], found["settings"]
  words = [
      f"{found['kind'].upper()}  highest rate within the SLO, searched to"
      f" {100 * settings['tolerance']:g} %"
  ]
  if contract:
    window = contract["window"]
    words += [
        f"{model_words(contract)} on {contract['chip']}",
        f"{contract['workload']['kind']} {contract['arrival']},"
        f" {window['duration_s']:g} s after {window['warmup_s']:g} s",
        slo_words(contract["slo"]),
        *filter(None, [prices_words(contract)]),
    ]
  seeds = len(settings["seeds"])
  words.append(
      f"{_counted(seeds, 'seed')}; a rate passes or fails where a"
      f" {100 * settings['confidence']:g} % interval says so"
  )
  return "; ".join(words)


def _row(one: Rival) -> str:
  bracket = one["bracket"]
  cells = (
      f"{one['chips']:>6}"
      f"{_number(bracket['low_per_chip']):>8}"
      f"{_number(bracket['high_per_chip']):>8}"
      f"  {_interval(one['attainment'], 100, 1):>20}"
      f"  {_interval(one['goodput_per_chip'], 1, 3):>24}"
  )
  return labels.row(one["rival"], cells).rstrip()


def _number(value: float | None) -> str:
  return "-" if value is None else plain(value)


def _interval(
    found: Mapping[str, Any] | None, scale: float, digits: int
) -> str:
  if found is None or found["estimate"] is None:
    return "-"
  middle = f"{scale * found['estimate']:.{digits}f}"
  if found["low"] is None:
    return middle
  low, high = (f"{scale * found[end]:.{digits}f}" for end in ("low", "high"))
  return f"{middle} [{low}, {high}]"


def _design(one: Rival) -> str:
  """A rival's best design and how it was found."""
  values = " ".join(
      f"{path.rpartition('.')[2]}={_word(value)}"
      for path, value in one["design"].items()
  )
  told = f"{one['rival']}: {values or 'no other'}; {one['bracket']['reason']}"
  if tuning := one["tuning"]:
    told += (
        f"; of {tuning['designs']} by {tuning['runs']} of"
        f" {_counted(tuning['budget'], 'run')}"
    )
  return told


def _counted(count: int, noun: str) -> str:
  return f"{count} {noun}" + ("" if count == 1 else "s")


def _word(value: Any) -> str:
  if isinstance(value, Mapping):
    return ",".join(f"{role}{inner}" for role, inner in value.items())
  return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _remarks(rivals: Sequence[Rival]) -> Iterator[str]:
  for one in rivals:
    tuning = one["tuning"] or {}
    for line in tuning.get("edges", ()):
      yield f"! {one['rival']}: not bracketed: {line}"
    if tuning.get("stopped") == "budget":
      yield f"! {one['rival']}: tuning stopped at its budget"
    for line in one["doubts"]:
      yield f"! {one['rival']}, at the rate that passed, {line}"


def _verdict(found: Mapping[str, Any]) -> Iterator[str]:
  if found["no_verdict"]:
    yield f"NOT COMPARABLE  {found['no_verdict']}"
  if verdict := found["verdict"]:
    yield f"{found['kind'].upper()} VERDICT  {verdict['text']}"
    yield from (f"  {line}" for line in verdict["caveats"])
    if told := verdict.get("fidelity"):
      yield f"  {told}"
