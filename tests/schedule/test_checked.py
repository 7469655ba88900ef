"""What a policy may yield, by type and place."""

import numpy as np
import pytest

from pdjax.events import (
  Abort,
  Interrupt,
  Preempt,
  Relabel,
  Reserve,
  Route,
  Step,
  Transfer,
  Wake,
)
from pdjax.schedule.checked import IllegalCommand, checked
from tests.schedule.worlds import world_of

WHOLE = "a whole number, got"


@pytest.mark.parametrize("value", [3, None, "Step", Step, (Route(0, 0),)])
def test_what_is_no_command_is_refused_by_its_name(value):
  with pytest.raises(IllegalCommand, match="not a command.*Route, Reserve"):
    checked(value, world_of()[0].workers)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (Route(0, -1), "worker must be from 0 to 1, got -1"),
        (Route(0, 2), "worker must be from 0 to 1, got 2"),
        (Route(0, 1.0), f"worker must be {WHOLE} 1.0"),
        (Route("0", 0), f"request must be {WHOLE} '0'"),
        (Route(None, 0), f"request must be {WHOLE} None"),
        (Route(True, 0), f"request must be {WHOLE} True"),
        (Reserve(0, 0, 2.5), f"pages must be {WHOLE} 2.5"),
        (Reserve(0, 0, np.float32(2)), "pages must be a whole number"),
        (Step(0, decode=(0,), lane=1), "lane must be 0, got 1"),
        (Step(0, decode=(0,), lane=-1), "lane must be 0, got -1"),
        (Step(0, decode=(0,), repeats=1e3), f"repeats must be {WHOLE} 1000.0"),
        (Step(0, decode=0), "decode must be whole numbers, got 0"),
        (Step(0, decode="12"), "decode must be whole numbers, got '12'"),
        (Step(0, decode=(0, 1.0)), "decode must be whole numbers"),
        (Step(0, prefill=((0, 4.0),)), "prefill must be pairs of whole"),
        (Step(0, prefill=((0, 4, 1),)), "prefill must be pairs of whole"),
        (Step(0, prefill=(0, 4)), "prefill must be pairs of whole"),
        (Interrupt(5), "worker must be from 0 to 1, got 5"),
        (Interrupt(0, 2), "lane must be 0, got 2"),
        (Transfer(0, 0, 0, (0, 1)), "target must differ from source, got 0"),
        (Transfer(0, 0, 9, (0, 1)), "target must be from 0 to 1, got 9"),
        (Transfer(0, -1, 1, (0, 1)), "source must be from 0 to 1, got -1"),
        (Transfer(0, 0, 1, 3), "pages must be two whole numbers, got 3"),
        (Transfer(0, 0, 1, (0, 1.5)), "pages must be two whole numbers"),
        (Transfer(0, 0, 1, (0, 1), None), "group_layers must be a whole"),
        (Preempt([0]), "request must be a whole number"),
        (Abort(0, None), "reason must be a text, got None"),
        (Relabel(0, "X"), "role must be one of P, D, C, got 'X'"),
        (Relabel(0, 1), "role must be a text, got 1"),
        (Wake(1.5e9), f"at_ps must be {WHOLE} 1500000000.0"),
        (Wake(float("inf")), f"at_ps must be {WHOLE} inf"),
    ],
)
def test_a_field_that_cannot_be_is_named_with_what_is_allowed(command, reason):
  world, _ = world_of("CC")
  with pytest.raises(IllegalCommand) as caught:
    world.start(command)
  message = str(caught.value)
  assert message.startswith(f"{type(command).__name__}(") and reason in message
  assert "\n" not in message and not world.touched


def test_numpy_integers_and_lists_become_plain():
  workers = world_of("CC")[0].workers
  step = Step(
      np.int32(1), [[np.int64(4), np.int64(9)]], np.array([2, 3]), np.uint8(1)
  )
  plain = checked(step, workers)
  assert plain == Step(1, ((4, 9),), (2, 3), 1)
  numbers = [plain.worker, plain.repeats, *plain.decode, *plain.prefill[0]]
  assert {type(number) for number in numbers} == {int}
  assert type(plain.prefill[0]) is type(plain.decode) is tuple
  moved = checked(Transfer(0, 0, 1, [np.int8(0), 2], np.int8(4)), workers)
  assert moved == Transfer(0, 0, 1, (0, 2), 4)


def test_what_is_plain_passes_as_it_is():
  workers = world_of("CC")[0].workers
  for command in (Step(0, ((1, 2),), (3,)), Wake(5), Relabel(1, "P")):
    assert checked(command, workers) is command
