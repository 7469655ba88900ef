"""Rows of an Azure LLM inference trace.

CSV with the columns TIMESTAMP (ISO time, usually without a zone, up to twelve
fractional digits), ContextTokens and GeneratedTokens, in any order; other
columns are ignored. The format is that of the Azure public data set, of 2023
and 2024; see "Splitwise", Patel et al., ISCA 2024.
"""

import datetime
import re

from pdjax.workload import csvrows
from pdjax.workload.arrivals import PS_PER_S

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,12}))?(Z|[+-]\d\d:\d\d)?",
    re.ASCII,
)


def time_ps(name: str, text: str) -> int:
  """Picoseconds since 1970; a time without a zone counts as UTC.

  >>> time_ps("TIMESTAMP", "1970-01-01 00:00:01.0000005")
  1000000500000

  Raises:
    ValueError: not such a time.
  """
  match = _TIME.fullmatch(text)
  try:
    if not match:
      raise ValueError
    moment = datetime.datetime.fromisoformat(match[1] + (match[3] or "Z"))
  except ValueError:
    raise ValueError(
        f"{name} {text[:40]!r} is not a time such as"
        " '2024-01-31 18:15:46.6805900'"
    ) from None
  fraction_ps = int((match[2] or "").ljust(12, "0"))
  return int(moment.timestamp()) * PS_PER_S + fraction_ps


NAMES = csvrows.Names("TIMESTAMP", "ContextTokens", "GeneratedTokens", time_ps)
