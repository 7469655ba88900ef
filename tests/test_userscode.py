"""Code of a user's that would end the process, and does not."""

import os
import subprocess
import sys

import pytest

from pdjax.config import ConfigError
from pdjax.userscode import process_goes_on, to_the_end, users_code

ENDS = [
    (lambda: os._exit(0), "SystemExit: os._exit(0) would have ended the"),
    (lambda: os.execlp("true", "true"), "SystemExit: os.exec"),
    (lambda: os.execve("/bin/true", ["true"], {}), "SystemExit: os.execve("),
    (lambda: sys.exit(0), "SystemExit: 0"),
]


@pytest.mark.parametrize(("end", "line"), ENDS)
@pytest.mark.parametrize("within", [users_code, to_the_end])
def test_what_would_end_the_process_is_a_mistake(within, end, line):
  before = os._exit, os.execv, os.execve
  with pytest.raises(ConfigError) as told, within("mine"):
    end()
  assert told.value.errors[0].startswith(f"mine: {line}")
  assert (os._exit, os.execv, os.execve) == before


def test_other_errors_of_work_are_its_own():
  with pytest.raises(ValueError, match="mine"), to_the_end("x"):
    raise ValueError("mine")


def test_processes_that_are_started_end_as_they_like():
  with process_goes_on():
    started = subprocess.run([sys.executable, "-c", "import os; os._exit(7)"])
    if not (child := os.fork()):
      os._exit(5)
    _, status = os.waitpid(child, 0)
  assert (started.returncode, os.waitstatus_to_exitcode(status)) == (7, 5)
