"""Law 3: time never runs backwards; the breakdown sums to the latency."""

import numpy as np
import pytest
from hypothesis import given, settings

from pdjax.events import Arrived
from pdjax.metrics.breakdown import PARTS
from pdjax.metrics.requests import request_table
from pdjax.request import Request
from tests.laws.cluster import (
  configs,
  load_of,
  loads,
  run_config,
  serve_load,
  token_times,
)


@settings(max_examples=60, deadline=None)
@given(configs(), loads())
def test_log_is_in_order_and_parts_sum_exactly(run, load):
  log, _ = serve_load(run, load)
  times = [at_ps for at_ps, _ in log]
  assert times == sorted(times)
  table = request_table(log)
  done = table.finished
  total = sum(np.asarray(table[f"{part}_ns"]) for part in PARTS)
  assert (total[done] == np.asarray(table["e2el_ns"])[done]).all()
  slowly = token_times(log)
  for row in np.flatnonzero(done):
    last_ns = slowly[row][-1] // 1000
    arrival_ns = int(table["arrival_ns"][row])
    assert table["e2el_ns"][row] == last_ns - arrival_ns
    assert table["output_tokens"][row] == len(slowly[row])


def test_the_world_refuses_an_event_from_the_past():
  _, world = serve_load(run_config(), load_of((5, 10, 2)))
  late = Request(id=9, arrival_ps=0, prompt_tokens=1, max_tokens=1)
  with pytest.raises(ValueError, match="time runs backwards"):
    world.apply(Arrived(1, late))
