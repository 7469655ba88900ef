"""Tokens to text: no half characters, no stop strings, answers in order."""

from pdjax.cli.speech import Ids, Speaker, Text

WORDS = (b"a", b"\xe2\x82", b"\xac", b"bc", b"d", b"<end>")


def pieces(*tokens, stops=(), end_ids=(5,)):
  text = Text(WORDS, stops, end_ids)
  return [*map(text.add, tokens), text.end()]


def test_a_character_waits_for_its_last_byte():
  assert pieces(0, 1, 2, 0) == ["a", "", "€", "a", ""]


def test_bytes_that_are_no_character_are_shown_as_such():
  assert pieces(0, 1) == ["a", "", "\N{REPLACEMENT CHARACTER}"]
  assert pieces(2, 0)[:2] == ["\N{REPLACEMENT CHARACTER}", "a"]


def test_what_may_begin_a_stop_string_waits():
  assert pieces(0, 3, 0, stops=(b"cd",)) == ["a", "b", "ca", ""]
  assert pieces(0, 3, 4, stops=(b"cd",)) == ["a", "b", "", ""]
  assert pieces(0, 3, stops=(b"cd",)) == ["a", "b", "c"]


def test_the_first_of_two_stop_strings_counts():
  assert pieces(3, stops=(b"c", b"bc")) == ["", ""]


def test_end_tokens_are_not_shown():
  assert pieces(0, 5) == ["a", "", ""]
  assert pieces(0, 5, end_ids=()) == ["a", "<end>", ""]


def test_the_first_unfinished_answer_streams():
  written = []
  speaker = Speaker([Ids(), Ids(), Ids()], ["A", "B", "C"], written.append)
  speaker.heard(1, 5)
  speaker.heard(0, 6)
  assert "".join(written) == "A\n6 "
  speaker.ended(1)
  speaker.heard(2, 7)
  speaker.ended(0)
  assert "".join(written) == "A\n6 \nB\n5 \nC\n7 "
  speaker.ended(2)
  speaker.ended(2)
  assert "".join(written).endswith("C\n7 \n")


def test_one_answer_has_no_title():
  written = []
  speaker = Speaker([Ids()], [""], written.append)
  speaker.heard(0, 1)
  speaker.ended(0)
  assert "".join(written) == "1 \n"
