"""Texts that end an answer, wherever tokens begin and end."""

import pytest

from pdjax.config import ConfigError, Sampling
from pdjax.engine.stopping import Stops, Watch, stops_of
from tests.engine.engine_session import run_of

WORDS = (b"ab", b"c", b"", b"\xe2\x82", b"\xac!")
STOPS = Stops((b"bca", "€".encode()), WORDS)


def ends(*tokens, stops=STOPS):
  """The token with which each prefix of an answer is complete, if any."""
  watch = Watch(stops, [(0, b"")])
  return [bool(list(watch.completed([token]))) for token in tokens]


def test_a_string_may_begin_and_end_inside_tokens():
  assert ends(0, 1, 0, 1) == [False, False, True, False]
  assert ends(0, 1, 2, 0) == [False, False, False, True]
  assert ends(1, 0, 0, 1) == [False] * 4


def test_a_character_may_end_inside_a_token():
  assert ends(3, 4) == [False, True]


def test_the_tail_goes_on_where_an_earlier_run_ended():
  answer = [0, 1, 2]
  assert STOPS.tail(answer) == b"bc"
  assert STOPS.after(STOPS.tail(answer), 0) == (b"ab", True)
  assert STOPS.tail([]) == b"" and Stops().tail(answer) == b""


def test_short_strings_need_no_tail():
  one = Stops((b"c",), WORDS)
  assert one.tail([0, 1]) == b""
  assert ends(0, 1, stops=one) == [False, True]


def test_rows_are_watched_one_by_one():
  watch = Watch(STOPS, [(0, b"bc"), (2, b""), (5, b"bc")])
  assert list(watch.completed([0, 0, 0, 0, 0, 1])) == [0]
  assert list(watch.completed([0, 0, 1, 0, 0, 0])) == []
  assert not list(Watch(Stops(), [(0, b"bc")]).completed([0]))


def test_strings_need_a_spelling_and_answers_that_may_end():
  sampling = Sampling(stop=("€",))
  run = run_of("1C", stop="eos", sampling=sampling)
  assert stops_of(run, WORDS) == Stops(("€".encode(),), WORDS)
  assert stops_of(run_of("1C", sampling=sampling), None) == Stops()
  with pytest.raises(ConfigError, match="no tokenizer.*stop_ids"):
    stops_of(run, None)
