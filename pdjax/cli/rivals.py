"""Which rivals the sides of a comparison name, and who meets whom."""

from collections.abc import Collection, Sequence

from pdjax import schema
from pdjax.compare.agreement import agreement
from pdjax.compare.rival import Rival, claimed, rivals_of
from pdjax.config import ConfigError
from pdjax.published import claim
from pdjax.results.chosen import Only, selected
from pdjax.results.found import results_in

Pair = tuple[Rival, Rival]


def chosen(
    given: str, is_claim: bool, only: Only
) -> tuple[list[Rival], list[str]]:
  """The rivals that a side names, and a line for each run left out.

  Raises:
    ConfigError: no such results or claim, or none with the values wanted.
  """
  if is_claim:
    return _claimed(given, only), []
  results, left_out = results_in(given)
  return list(rivals_of(selected(results, only), given)), left_out


def _claimed(given: str, only: Only) -> list[Rival]:
  name, _, row = given.partition(":")
  found = claim.read(name)
  if only:
    raise ConfigError([
        f"--{only[0][0]}: {name} is a claim; choose a row as {name}:ROW"
    ])
  rows = [one for one in found.rows if row in ("", one.label)]
  if not rows:
    there = ", ".join(one.label for one in found.rows)
    raise ConfigError([f"{given}: no such row; there are {there}"])
  return [claimed(found, one) for one in rows]


def pairs(
    a: Sequence[Rival], b: Sequence[Rival], allow: Collection[str]
) -> list[Pair]:
  """Each of B with the one of A whose contract it shares.

  One of B that agrees with none meets the one from which it differs least, so
  that the output can say in what.

  Raises:
    ConfigError: several of A would do; the line says what tells them apart.
  """
  found, errors = [], []
  alone = len(a) == len(b) == 1
  for rival in b:
    others = [one for one in a if alone or not _same(one, rival)]
    agreed = [one for one in others if agreement(one, rival, allow).agreed]
    if len(agreed) > 1:
      errors.append(_ambiguous(agreed, rival))
    else:
      found.append(((agreed or [_nearest(others or a, rival)])[0], rival))
  if errors:
    raise ConfigError(errors)
  return found


def within(rivals: Sequence[Rival], allow: Collection[str]) -> list[Pair]:
  """Each design with the first before it that shares its contract.

  Raises:
    ConfigError: there is one design only.
  """
  if len(rivals) < 2:
    raise ConfigError([
        f"{rivals[0].source}: one design only; name a second folder"
    ])
  found = []
  for place, rival in enumerate(rivals):
    fair = (
        one for one in rivals[:place] if agreement(one, rival, allow).agreed
    )
    if (base := next(fair, None)) is not None:
      found.append((base, rival))
  return found or [(_nearest(rivals[:1], rivals[1]), rivals[1])]


def _same(a: Rival, b: Rival) -> bool:
  return (a.source, a.label, a.first) == (b.source, b.label, b.first)


def _nearest(rivals: Sequence[Rival], other: Rival) -> Rival:
  return min(rivals, key=lambda one: len(agreement(one, other).obstacles))


def _ambiguous(agreed: Sequence[Rival], other: Rival) -> str:
  labels = ", ".join(one.label for one in agreed)
  if agreed[0].claim is not None:
    name = agreed[0].source
    return f"{name}: several rows ({labels}); choose one as {name}:ROW"
  fields = ", ".join(_told_apart(agreed))
  return (
      f"A has {len(agreed)} designs under the contract of {other.label}:"
      f" {labels}; choose one with --only_a; they differ in {fields}"
  )


def _told_apart(rivals: Sequence[Rival]) -> list[str]:
  configs = [schema.flat(one.first.config or {}) for one in rivals]
  fields = dict.fromkeys(field for tree in configs for field in tree)
  return [
      field for field in fields
      if any(tree.get(field) != configs[0].get(field) for tree in configs)
      and field != "workload.seed"
  ]
