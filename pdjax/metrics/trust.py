"""How far a verdict on simulated runs can be trusted, in words."""

DRAWS = "--sweep='backend.draw=range(1,21)'"
"""What draws the costs anew, as often as a verdict needs."""


def trust(kind: str, profile: str | None) -> str:
  """Of a verdict that rests on one set of costs; empty of measured runs.

  Args:
    kind: `measured` or `simulated`.
    profile: the contract's `cost_profile`.
  """
  if kind != "simulated":
    return ""
  if "published profile" in (profile or ""):
    return (
        "one set of costs, a published profile that does not say how far it is"
        " off: only measuring tells whether it holds"
    )
  return (
      "one set of costs: 20 draws of them within their uncertainty"
      f" ({DRAWS}) tell whether it holds"
  )
