"""The words of docs/fidelity.md; its numbers are computed."""

from collections.abc import Callable

from pdjax.calibrate.published.readings import Reading

INTRODUCTION = """# Fidelity: simulated times against published measurements

Made by `python experiments/fidelity_table.py --data=DATA`, DATA being a folder
with the published files; not edited by hand. Others measured, under conditions
of theirs; the errors are ours, simulated / measured - 1.

- **(a)** first principles: data sheets and the assumptions of
  `pdjax/simulate/scalars.py`, nothing fitted to anything.
- **(b)** the same with one set of at most ten scalars a kind of hardware,
  fitted on a stated part of the readings. Both are shown on the other part,
  which no fit has seen. Nothing is tuned by row.

Of an engine's own ways, one is assumed: engines of 2023 and 2024 reduce by
NCCL's rings only. DistServe's fits are straight lines through measurements that
are not published; a reading is a value of such a line, at loads which its own
table of capacities says would fit. Splitwise's are medians of repeated rows."""


def _tokens(reading: Reading) -> int:
  """Prompt tokens of a prefill's case."""
  count, _, length = reading.case.rpartition(", ")[2].partition(" prompts of ")
  return int(count) * int(length)


MISSING: tuple[tuple[str, str, Callable[[Reading], bool]], ...] = (
    (
        "Prompts above 2,048 tokens in Splitwise's table",
        "From 2,048 to 4,096 tokens in a step published times rise far more"
        " than twice at TP 4 and 8, for eight prompts as for one, and less so"
        " at TP 2; neither arithmetic (linear), attention (short prompts have"
        " little of it) nor a ring's bytes (linear too) does that. So the term"
        " is one of that engine with several chips and large activations,"
        " memory management or NCCL's choice of algorithm; it is not modelled."
        " One published row is itself out of line: 64 prompts of 512 at TP 2"
        " are said to take less than 8.",
        lambda r: r.source == "Splitwise prompts" and _tokens(r) > 2048,
    ),
    (
        "Collectives between hosts",
        "What joined the hosts is not published; one card a host is taken"
        " throughout. With two, four or eight chips a host published rates come"
        " in modes that are whole multiples of one card's, and change between"
        " them to and fro as sizes grow (one reading a size): which cards a"
        " ring was given is what is missing. Sends between the bridged hosts"
        " slow down to a fourth above 2 MB, which no link does by itself.",
        lambda r: "2 hosts" in r.source and not r.fitted,
    ),
    (
        "Sends within a host",
        "Of the bridged pairs' sends most rates lie at or above NVLink's peak"
        " in one direction, beginning included, which the simulator never"
        " exceeds.",
        lambda r: r.source == "send_recv, one host" and not r.fitted,
    ),
    (
        "DistServe's fits of vLLM",
        "Its lines for batches of 95 and more do not meet those below: at the"
        " same batch and context they differ by up to twice. The engine's"
        " prefill takes a third longer than DistServe's on the same chips, for"
        " reasons that neither publication gives: one scalar of its own stands"
        " in for them.",
        lambda r: r.source.startswith("vLLM of 2024") and not r.fitted,
    ),
    (
        "First tokens in the closed loop",
        "They lack what a server does before a request reaches the scheduler:"
        " the network, the tokeniser, a queue. At TP 2 with 16 users the"
        " published time is nearly that with 32, out of line with all others.",
        lambda r: r.source.endswith("H100 TTFT"),
    ),
)

TRADE = """One prefill and one decode server, or two of both

Measured on A10 servers; first principles, nothing fitted; medians of {seeds}
simulated draws of the 50 requests, and the range that 18 of them keep. Ratios
are 1P1D over two servers that do both. The published figures are of a single
draw. Where the order differs, aggregated servers are too fast: their first
tokens come a third sooner than published ones, while the same prefills on the P
server are priced within a tenth. So the prefill's price is not what is missing,
but what an engine loses in changing between prefills and decodes, and how
requests were dealt to the two servers, which is not published (dealt in turn,
first tokens change by 3 %)."""
