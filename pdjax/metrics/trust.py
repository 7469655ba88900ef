"""How far a verdict on simulated runs can be trusted, in words."""

DRAWS = "--sweep='backend.draw=range(1,21)'"
"""What draws the costs anew, as often as a verdict needs."""


_AGAIN = (
    "one set of costs: searching again under other draws of them"
    " (--config.backend.draw=1 --output_dir=DIR, and so on up to 20) tells"
    " whether it holds"
)


def trust(kind: str, profile: str | None, *, searched: bool = False) -> str:
  """Of a verdict that rests on one set of costs; empty of measured runs.

  Args:
    kind: `measured` or `simulated`.
    profile: the contract's `cost_profile`.
    searched: rates were, which takes one set of costs at a time.
  """
  if kind != "simulated":
    return ""
  if "published profile" in (profile or ""):
    return (
        "one set of costs, a published profile that does not say how far it is"
        " off: only measuring tells whether it holds"
    )
  return _AGAIN if searched else (
      "one set of costs: 20 draws of them within their uncertainty"
      f" ({DRAWS}) tell whether it holds"
  )
