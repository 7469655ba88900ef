"""Who else used the cores."""

import os
import subprocess
import sys
import time

import pytest

from pdjax.cli.crowd import STAT, Crowd

CORES = sorted(os.sched_getaffinity(0)) if hasattr(
    os, "sched_getaffinity"
) else []
needs_linux = pytest.mark.skipif(not STAT.exists(), reason="no /proc/stat")


def line(core, *ticks):
  return f"cpu{core} " + " ".join(map(str, ticks)) + "\n"


def told(path, busy, idle):
  """All allowed cores alike, and one that this process may not use."""
  rows = [line(core, busy, 0, 0, idle, 0, 0, 0, 0, 7, 7) for core in CORES]
  other = line(max(CORES) + 1, 10**9, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  path.write_text("cpu 1 2 3\n" + "".join(rows) + other + "intr 5\n")


@needs_linux
def test_the_share_is_what_is_busy_and_not_ours(tmp_path, monkeypatch):
  stat, used = tmp_path / "stat", [0.0]
  monkeypatch.setattr(
      os, "times",
      lambda: os.times_result((used[0], 0.0, 0.0, 0.0, 0.0)),
  )
  told(stat, busy=100, idle=1000)
  crowd = Crowd(stat)
  used[0] = len(CORES) * 30 / os.sysconf("SC_CLK_TCK")
  told(stat, busy=150, idle=1050)
  assert crowd.share() == pytest.approx((50 - 30) / 100)
  used[0] *= 2
  assert crowd.share() == 0.0


def test_where_nothing_is_counted_nothing_is_said(tmp_path):
  assert Crowd(tmp_path / "none").share() is None
  (tmp_path / "odd").write_text("cpu0 a b\n")
  assert Crowd(tmp_path / "odd").share() is None


@needs_linux
def test_a_program_beside_is_seen_and_ones_own_work_is_not():
  def share(do):
    crowd = Crowd()
    do()
    found = crowd.share()
    assert found is not None
    return found

  def work(seconds=0.5):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
      pass

  spin = [sys.executable, "-c", "while True: pass"]
  beside = [subprocess.Popen(spin) for _ in CORES]
  try:
    time.sleep(0.2)
    crowded = share(lambda: time.sleep(0.5))
  finally:
    for one in beside:
      one.kill()
      one.wait()
  assert crowded > 0.5
  before = time.process_time()
  alone = share(work)
  # What is left to others is at most what our loop did not get.
  ours = (time.process_time() - before) / (0.5 * len(CORES))
  assert alone <= 1.1 - ours
