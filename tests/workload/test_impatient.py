"""Clients who give up, and deadlines: one event at a time."""

from pdjax.events import Arrived, Cancelled, Deadline
from pdjax.request import Request
from pdjax.window import Window
from pdjax.workload.clients import Behaviour, Open, Users, clients_of
from pdjax.workload.impatient import Impatient


def request(id, arrival_ps, deadline_ps=None):
  return Request(
      id=id, arrival_ps=arrival_ps, prompt_tokens=1, max_tokens=1,
      deadline_ps=deadline_ps,
  )


def rest(clients):
  found = []
  while event := clients.due():
    clients.take()
    found.append(event)
  return found


def test_limits_follow_an_arrival_in_order():
  asked = [request(0, 10, deadline_ps=40), request(1, 20)]
  clients = Impatient(Open(asked), {0: 5, 1: 20})
  assert rest(clients) == [
      Arrived(10, asked[0]), Cancelled(15, 0), Arrived(20, asked[1]),
      Cancelled(40, 1), Deadline(40, 0),
  ]


def test_who_has_ended_has_no_limits():
  asked = [request(0, 10, deadline_ps=40), request(1, 20, deadline_ps=30)]
  clients = Impatient(Open(asked), {0: 5})
  clients.take()
  clients.ended(0, 12)
  assert rest(clients) == [Arrived(20, asked[1]), Deadline(30, 1)]


def test_a_client_that_gives_up_asks_again_once():
  """Though the step in flight may still serve what was given up."""
  users = Users([request(id, 0, 50) for id in range(3)], Behaviour(
      first_ps=(7,), think_ps=(100,) * 3, stays=(True,) * 3
  ))
  clients = Impatient(users, {0: 20})
  clients.take()
  assert clients.due() == Cancelled(27, 0)
  clients.take()
  clients.ended(0, 27)
  clients.ended(0, 28)
  again = clients.due()
  assert (again.at_ps, again.request.id) == (127, 1)
  assert again.request.deadline_ps == 127 + 50  # it moves along
  clients.take()
  assert rest(clients) == [Deadline(177, 1)]


def test_limits_within_a_window_are_the_clients_own():
  asked = [request(0, 1), request(1, 4), request(2, 8)]
  clients = clients_of(
      asked, window=Window(3, 10), cancel_after_ps={0: 2, 2: 30}
  )
  for at_ps in (1, 3, 4, 8):
    assert clients.due().at_ps == at_ps
    clients.take()
  clients.ended(0, 3)
  clients.ended(1, 20)
  assert clients.due() == Cancelled(38, 2)  # still measured, and impatient
  clients.take()
  clients.ended(2, 38)
  assert clients.due() is None
