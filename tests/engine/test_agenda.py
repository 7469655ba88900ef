"""Arrivals and timers come in the order in which they are due."""

import pytest

from pdjax.engine.agenda import Agenda
from pdjax.events import Arrived, Woke
from pdjax.request import Request
from pdjax.workload.clients import Open


def request(id, arrival_ps):
  return Request(id=id, arrival_ps=arrival_ps, prompt_tokens=1, max_tokens=1)


def test_due_things_in_order():
  asked = [request(0, 10), request(1, 20), request(2, 30)]
  agenda = Agenda(Open(asked))
  agenda.wake(25)
  agenda.wake(20)
  found = []
  while (due_ps := agenda.due_ps) is not None:
    found.append(agenda.take(due_ps + 1))
  assert found == [
      Arrived(11, asked[0]), Arrived(21, asked[1]), Woke(21, 20),
      Woke(26, 25), Arrived(31, asked[2]),
  ]


def test_an_empty_agenda_is_never_due():
  agenda = Agenda(Open([]))
  assert agenda.due_ps is None
  with pytest.raises(IndexError):
    agenda.take(0)
