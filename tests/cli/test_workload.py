"""`python -m pdjax.workload`: words, figure, mistakes."""

from pathlib import Path

import pytest

from pdjax.cli.workload import main
from pdjax.workload import traces

SAMPLES = Path(traces.__file__).with_name("samples")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("azure.csv", ["azure.csv: azure, 200 requests over", "gaps vary by"]),
        ("mooncake.jsonl", ["mooncake, ", "the trace's clock is coarse",
                            "prefix reuse, share of prompt tokens"]),
    ],
)
def test_samples(tmp_path, capsys, name, said):
  assert main([str(SAMPLES / name), f"--output_dir={tmp_path}"]) == 0
  text = capsys.readouterr().out
  assert all(words in text for words in said)
  assert "prompt as lognormal: mean" in text and "output as gamma" in text
  figure = tmp_path / f"{Path(name).stem}.workload.png"
  assert f"figure: {figure}" in text
  assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_missed_tail_is_warned_of(tmp_path, capsys):
  file = tmp_path / "two.csv"
  rows = [f"{n},{100000 if n % 50 == 0 else 10 + n % 3},5" for n in range(500)]
  file.write_text("\n".join([
      "arrived_at,num_prefill_tokens,num_decode_tokens", *rows
  ]))
  assert main([str(file)]) == 0
  text = capsys.readouterr().out
  assert "! lognormal misses the tail of prompt lengths" in text
  assert (tmp_path / "two.workload.png").exists()


def test_malformed_rows_are_told_or_counted(tmp_path, capsys):
  file = tmp_path / "bad.csv"
  file.write_text(
      "arrived_at,num_prefill_tokens,num_decode_tokens\n1,5,5\n2,0,5\n9,6,7\n"
  )
  assert main([str(file)]) == 2
  assert f"{file}:3: num_prefill_tokens is 0" in capsys.readouterr().err
  assert not list(tmp_path.glob("*.png"))
  assert main([str(file), "--skip_bad_rows"]) == 0
  assert "1 malformed rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["no.csv"], "no.csv: no such file"),
        ([], "expected one FILE, got 0"),
        ([str(SAMPLES / "azure.csv"), f"--output_dir={300 * 'b'}"],
         "b: nothing can be made in "),
        (["--kind=azur", "x"], "--kind=azur: allowed: azure, "),
        (["--knd=azure", "x"], "--knd: no such flag; did you mean '--kind'?"),
    ],
)
def test_mistakes_are_one_line(capsys, arguments, line):
  assert main(arguments) == 2
  told = capsys.readouterr()
  assert line in told.err and not told.out


def test_help(capsys):
  assert main(["--help"]) == 0
  assert "python -m pdjax.workload FILE" in capsys.readouterr().out


def _table_of(tmp_path, capsys, rows):
  """Words of the three lines of the table of lengths."""
  file = tmp_path / "x.csv"
  file.write_text("\n".join([
      "arrived_at,num_prefill_tokens,num_decode_tokens",
      *(f"{n},{prompt},{output}" for n, (prompt, output) in enumerate(rows)),
  ]))
  assert main([str(file)]) == 0
  text = capsys.readouterr().out
  lines = text.splitlines()
  begin = next(n for n, line in enumerate(lines) if line.startswith("tokens"))
  return [line.split() for line in lines[begin : begin + 3]], text


def test_columns_of_huge_lengths_stay_apart(tmp_path, capsys):
  rows = [(10**9, 5), (10**9 - 1, 5)] * 150
  table, _ = _table_of(tmp_path, capsys, rows)
  assert [len(words) for words in table] == [6, 6, 6]
  assert table[1][-1] == "1000000000"


@pytest.mark.parametrize(
    ("count", "p90", "p99"),
    [(1, "n<30", "n<300"), (29, "n<30", "n<300"), (30, "27", "n<300"),
     (299, "269", "n<300"), (300, "270", "297")],
)
def test_tails_of_few_lengths_are_refused(tmp_path, capsys, count, p90, p99):
  rows = [(n + 1, 1) for n in range(count)]
  table, text = _table_of(tmp_path, capsys, rows)
  assert table[0] == ["tokens", "mean", "p50", "p90", "p99", "max"]
  assert table[1][3:] == [p90, p99, str(count)]
  fits = [line for line in text.splitlines() if line.startswith("prompt as")]
  assert all(f.endswith("p99 n<300") == (count < 300) for f in fits)
  assert len(fits) == (0 if count == 1 else 2)


def test_a_full_disk_leaves_no_half_of_a_figure(tmp_path, capsys, monkeypatch):
  from matplotlib.figure import Figure

  def full(self, path, **_):
    path.write_bytes(b"")
    raise OSError(28, "No space left on device")

  monkeypatch.setattr(Figure, "savefig", full)
  trace = tmp_path / "t.csv"
  trace.write_text(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
          f"2023-11-16 18:17:{s:02}.0,{9 + s},{s + 1}\n" for s in range(30)
      )
  )
  assert main([str(trace)]) == 2
  assert "No space left on device" in capsys.readouterr().err
  assert [*tmp_path.iterdir()] == [trace]
