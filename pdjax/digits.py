"""Numbers for readers: significant digits, never an exponent."""

import math


def plain(value: float, digits: int = 3) -> str:
  """A number rounded to significant digits; whole where that is coarser.

  >>> plain(3571.4), plain(0.12345), plain(99.96), plain(2.0), plain(4e-6)
  ('3571', '0.123', '100', '2', '0.000004')
  """
  if not value or not math.isfinite(value):
    return f"{value:g}"
  places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
  text = f"{value:.{places}f}"
  return text.rstrip("0").rstrip(".") if "." in text else text
