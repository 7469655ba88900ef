"""What the same-scheduler block says is kept beside what it read."""

from pdjax.cli.same_scheduler import show


def test_what_is_said_is_kept_and_rewritten(tmp_path):
  said = []
  path = show(tmp_path, said.append)  # an experiment without a run
  assert path == tmp_path / "same_scheduler.txt"
  assert said and path.read_text() == "\n".join(said) + "\n"
  show(tmp_path, said.append)
  assert path.read_text() * 2 == "\n".join(said) + "\n"
  assert [p.name for p in tmp_path.iterdir()] == [path.name]
