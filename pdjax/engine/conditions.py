"""What an engine run ran on, said so that it can be printed and compared."""

import os
from collections.abc import Sequence

from pdjax import config
from pdjax.mesh import Device
from pdjax.schedule.setup import worker_pools


def of(run: config.Run, devices: Sequence[Device]) -> dict:
  """Devices used, and what they share; fit for JSON.

  `notes` are sentences that belong beside every number of the run.
  """
  sizes = [pool.tp for pool in worker_pools(run)]
  share = run.cluster.share_devices
  used = max(sizes) if share else sum(sizes)
  platform = devices[0].platform
  notes = []
  if platform == "cpu" and used > 1:
    notes.append(f"{used} devices share {cores()} cores")
  if share and len(sizes) > 1:
    notes.append(
        f"{len(sizes)} workers share {used} device(s): transfers are real,"
        " isolation is not"
    )
  if run.strategy.transfer and run.strategy.transfer.payload == "int8":
    notes.append("KV rounded to int8 on its way: tokens are not exact")
  link = run.cluster.link
  if link.bandwidth_bytes_per_s is not None and len(sizes) > 1:
    notes.append(
        f"transfers slowed to {link.bandwidth_bytes_per_s / 1e9:g} GB/s and"
        f" {link.latency_s * 1e6:g} us: copies are real, the link is not"
    )
  return {
      "platform": platform,
      "device_kind": devices[0].device_kind,
      "devices_used": used,
      "host_cores": cores(),
      "share_devices": share,
      "notes": notes,
  }


def cores() -> int:
  """Processor cores this process may use."""
  return len(os.sched_getaffinity(0))
