"""Processes that answer, die or hang cost one item each."""

import sys

from pdjax.aot.process import Process

PROGRAM = """
import json, os, sys, time
for item in json.load(sys.stdin):
  if item == "dies":
    print("F0 Check failed: too odd", file=sys.stderr, flush=True)
    os.abort()
  if item == "hangs":
    time.sleep(600)
  print("noise")
  print(json.dumps({"item": item, "process": os.getpid()}), flush=True)
"""


def answers(*items: str, timeout_s: float = 60.0, at_a_time: int | None = None):
  process = Process(
      command=[sys.executable, "-c", PROGRAM], environment={},
      timeout_s=timeout_s, at_a_time=at_a_time,
  )
  return list(process.answers(items, list))


def test_a_death_costs_one_item_and_says_why():
  first, died, last = answers("a", "dies", "b")
  assert first["item"] == "a" and last["item"] == "b"
  assert "signal 6" in died and "Check failed: too odd" in died


def test_silence_ends_one_item():
  hung, last = answers("hangs", "b", timeout_s=2.0)
  assert "no answer within 2 s" in hung
  assert last["item"] == "b"


def test_a_process_gets_no_more_than_it_may():
  found = answers("a", "b", "c", "d", "e", at_a_time=2)
  assert [one["item"] for one in found] == list("abcde")
  pids = [one["process"] for one in found]
  assert pids[0] == pids[1] and pids[2] == pids[3]
  assert len(set(pids)) == 3
