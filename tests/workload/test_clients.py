"""Clients one event at a time: who is next, and who hangs up."""

from pdjax.events import Arrived, Cancelled
from pdjax.request import Request
from pdjax.window import Window
from pdjax.workload.clients import Behaviour, Open, Users, clients_of


def requests(*times_ps):
  return [
      Request(id=id, arrival_ps=at_ps, prompt_tokens=1, max_tokens=1)
      for id, at_ps in enumerate(times_ps)
  ]


def taken(clients):
  event = clients.due()
  clients.take()
  return event


def test_open_clients_do_not_care():
  asked = requests(3, 5)
  clients = Open(asked)
  assert taken(clients) == Arrived(3, asked[0])
  clients.ended(0, 4)
  assert taken(clients) == Arrived(5, asked[1])
  assert clients.due() is None


def test_users_ask_again_when_they_have_thought():
  clients = Users(requests(0, 0, 0, 0), Behaviour(
      first_ps=(0, 10), think_ps=(100, 5, 0, 0), stays=(True,) * 4
  ))
  first, second = taken(clients), taken(clients)
  assert [(e.at_ps, e.request.id) for e in (first, second)] == [(0, 0), (10, 1)]
  assert clients.due() is None
  clients.ended(0, 20)
  assert clients.due().at_ps == 120
  # The other user thinks less and comes first: numbers follow arrival.
  clients.ended(1, 30)
  third = taken(clients)
  assert (third.at_ps, third.request.id) == (35, 2)
  assert third.request.arrival_ps == 35
  assert (taken(clients).at_ps, clients.due()) == (120, None)


def test_a_window_ends_with_its_last_request():
  clients = clients_of(requests(1, 4, 8, 12, 13), window=Window(3, 10))
  for at_ps in (1, 4, 8):
    assert taken(clients).at_ps == at_ps
  clients.ended(1, 9)
  assert taken(clients).at_ps == 12  # request 2 is not over
  clients.ended(2, 12)
  assert taken(clients) == Cancelled(12, 0)
  assert taken(clients) == Cancelled(12, 3)
  clients.ended(0, 12)
  clients.ended(3, 12)
  assert clients.due() is None  # 4 never comes


def test_nobody_hangs_up_before_the_window_is_over():
  clients = clients_of(requests(1, 4, 20), window=Window(3, 10))
  assert [taken(clients).at_ps for _ in range(2)] == [1, 4]
  clients.ended(1, 5)
  assert clients.due() == Cancelled(10, 0)
  clients.ended(0, 6)
  assert clients.due() is None
