"""Cells as tasks of a Ray cluster: `--launcher=ray`.

It joins the cluster that `RAY_ADDRESS` or the option `address` names, else one
that was started on this machine (`ray start --head`), else it starts one of its
own. Ray places the tasks; every machine needs the package and the folders that
this one has.
"""

import os
import signal
import socket
from collections.abc import Collection, Sequence
from typing import Any

from pdjax.config import ConfigError
from pdjax.sweep.remote import Job, Task
from pdjax.sweep.worker import function_of, message_of

OPTIONS = {
    "address": str, "num_cpus": float, "num_gpus": float, "memory": float,
}
"""What `--launcher_options` may say: of the cluster, then of each task."""


def _call(function: str, job: Job) -> None:
  function_of(function)(job)


class RayCluster:
  """A cluster's scheduler, joined by this process."""

  width = None

  def __init__(self, options: dict[str, Any]):
    """Joins the cluster.

    Raises:
      ConfigError: there is no such cluster.
    """
    import ray  # pyright: ignore[reportMissingImports]
    import ray.exceptions  # pyright: ignore[reportMissingImports]

    self._ray: Any = ray
    options = dict(options)
    _join(ray, options.pop("address", None))
    # Ray's workers look for modules where this process does.
    self._call = ray.remote(_call).options(max_retries=0, **options)

  def submit(self, function: str, jobs: Sequence[Job]) -> Sequence[Task]:
    return [self._call.remote(function, job) for job in jobs]

  def ended(self, tasks: Collection[Task]) -> dict[Task, str]:
    tasks = list(tasks)
    over, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=0.2)
    return {task: self._lost(task) for task in over}

  def _lost(self, task: Any) -> str:
    errors = self._ray.exceptions
    try:
      self._ray.get(task)
    except errors.RayTaskError as error:
      return f"its task failed: {message_of(error.cause)}"
    except errors.RayError as error:
      return f"its worker was lost ({type(error).__name__})"
    return ""

  def cancel(self, tasks: Collection[Task]) -> None:
    for task in tasks:
      self._ray.cancel(task, force=True)


def _join(ray: Any, address: str | None) -> None:
  if ray.is_initialized():
    return
  where = address or os.environ.get("RAY_ADDRESS") or ""
  if reason := _unreachable(where):
    raise ConfigError([f"--launcher=ray: no cluster at {where}: {reason}"])
  # Ray takes the signal for itself; how a command ends is the command's.
  before = signal.getsignal(signal.SIGTERM)
  try:
    ray.init(
        address=address, include_dashboard=False if not address else None,
        log_to_driver=False, logging_level="ERROR",
    )
  except (ConnectionError, ValueError, RuntimeError, OSError) as error:
    where = where or "this machine"
    raise ConfigError([
        f"--launcher=ray: no cluster at {where}: {message_of(error)}"
    ]) from error
  finally:
    if signal.getsignal(signal.SIGTERM) is not before:
      signal.signal(signal.SIGTERM, before)


def _unreachable(address: str) -> str:
  """Why nobody answers there, empty if somebody does or nothing is named.

  Ray itself would try for five minutes.
  """
  host, _, port = address.rpartition("/")[2].rpartition(":")
  if not host or not port.isdecimal():
    return ""
  try:
    socket.create_connection((host, int(port)), timeout=20).close()
  except (OSError, OverflowError) as error:
    return message_of(error)
  return ""
