"""Trace files: what is tolerated, what is refused, and in which words."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pdjax.config import ConfigError
from pdjax.workload import traces

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"

tmp_path_is_reused = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def _azure_lines(rows):
  return [HEADER] + [
      f"2024-01-31 09:00:{second:02d}.{digits:07d},{prompt},{output}"
      for second, digits, prompt, output in rows
  ]


rows = st.lists(
    st.tuples(
        st.integers(0, 59),
        st.integers(0, 10**7 - 1),
        st.integers(1, 9000),
        st.integers(1, 900),
    ),
    min_size=1,
    max_size=12,
)


def _values(trace):
  columns = trace.columns
  return (
      columns.arrival_ps.tolist(),
      columns.prompt_tokens.tolist(),
      columns.output_tokens.tolist(),
      trace.late_rows,
  )


def _errors(format, path):
  with pytest.raises(ConfigError) as error:
    traces.read(format, str(path))
  return error.value.errors


@tmp_path_is_reused
@given(
    rows,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "\n", " \n\t\n"]),
)
def test_dress_does_not_matter(tmp_path, rows, end, mark, last_end, blank):
  plain = tmp_path / "plain.csv"
  plain.write_text("\n".join(_azure_lines(rows)))
  text = (blank + "\n").join(_azure_lines(rows)) + "\n" * last_end
  dressed = tmp_path / "dressed.csv"
  dressed.write_bytes(
      b"\xef\xbb\xbf" * mark + text.replace("\n", end).encode()
  )
  assert _values(traces.read("azure", str(dressed))) == _values(
      traces.read("azure", str(plain))
  )


@tmp_path_is_reused
@given(rows)
def test_rows_are_sorted_stably_and_late_ones_counted(tmp_path, rows):
  file = tmp_path / "trace.csv"
  file.write_text("\n".join(_azure_lines(rows)))
  arrival_ps, prompts, outputs, late = _values(traces.read("azure", str(file)))
  ordered = sorted(rows, key=lambda row: row[:2])
  assert list(zip(prompts, outputs, strict=True)) == [
      row[2:] for row in ordered
  ]
  start = ordered[0]
  assert arrival_ps == [
      ((row[0] - start[0]) * 10**7 + row[1] - start[1]) * 10**5
      for row in ordered
  ]
  assert late == sum(
      row[:2] < max(earlier[:2] for earlier in rows[: place + 1])
      for place, row in enumerate(rows)
  )


def test_only_the_first_five_bad_rows_are_shown_and_all_are_counted(tmp_path):
  file = tmp_path / "bad.csv"
  good = "2024-01-31 09:00:00,5,5"
  file.write_text("\n".join([HEADER, good, ""] + ["x,5,5", good] * 7))
  errors = _errors("azure", file)
  assert len(errors) == 6
  # The header is line 1, so the first bad row is line 4, every second follows.
  for number, line in zip((4, 6, 8, 10, 12), errors, strict=False):
    assert line.startswith(f"{file}:{number}: TIMESTAMP 'x' is not a time")
  assert errors[5] == f"{file}: 7 bad rows, the first 5 shown"


def test_five_bad_rows_need_no_count(tmp_path):
  file = tmp_path / "bad.jsonl"
  file.write_text("no\n" * 5)
  assert len(_errors("mooncake", file)) == 5


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the trace is empty"),
        (b"\xef\xbb\xbf\r\n \r\n", "the trace is empty"),
        (HEADER.encode() + b"\r\n", "a header but no row"),
        (b"2024-01-31 09:00:00,5,5", ":1: missing column TIMESTAMP, Context"),
        (b'{"timestamp": 0}', "did you mean workload.kind='jsonl'"),
        (b'{"timestamp": 0, "hash_ids": []}',
         "did you mean workload.kind='mooncake'"),
        (b"\xff\xfeT\x00", "not UTF-8 text"),
    ],
)
def test_files_that_are_not_a_trace(tmp_path, content, reason):
  file = tmp_path / "trace.csv"
  file.write_bytes(content)
  (line,) = _errors("azure", file)
  assert reason in line


def test_a_csv_is_not_json_lines(tmp_path):
  file = tmp_path / "trace.csv"
  file.write_text("\n".join(_azure_lines([(0, 0, 5, 5)])))
  (line,) = _errors("mooncake", file)
  assert "did you mean workload.kind='azure'" in line


def test_a_trace_that_lasts_too_long_is_one_line(tmp_path):
  file = tmp_path / "long.csv"
  file.write_text(f"{HEADER}\n1970-01-01 00:00:00,5,5\n2024-01-31 00:00:00,5,5")
  (line,) = _errors("azure", file)
  assert "longer than the limit of 53 days" in line


def test_a_missing_file_names_a_near_one(tmp_path):
  (tmp_path / "AzureConv.csv").write_text("")
  (line,) = _errors("azure", tmp_path / "AzureConvs.csv")
  assert f"did you mean {str(tmp_path / 'AzureConv.csv')!r}?" in line


def test_a_missing_folder_and_a_folder(tmp_path):
  (line,) = _errors("azure", tmp_path / "nowhere" / "trace.csv")
  assert "no folder" in line and "nowhere" in line
  (line,) = _errors("azure", tmp_path)
  assert "is a folder, not a file" in line


def test_separators_inside_json_do_not_end_a_line(tmp_path):
  row = {
      "timestamp": 0,
      "input_length": 5,
      "output_length": 5,
      "hash_ids": [0],
      "note": "a\u2028b\x0b",
  }
  file = tmp_path / "trace.jsonl"
  line = json.dumps(row, ensure_ascii=False)
  file.write_text(f"{line}\n{line}\n", encoding="utf-8")
  assert len(traces.read("mooncake", str(file)).columns) == 2


@pytest.mark.data
def test_azure_conversation_trace(data_dir):
  path = data_dir / "traces" / "AzureLLMInferenceTrace_conv.csv"
  trace = traces.read("azure", str(path))
  columns = trace.columns
  assert len(columns) == 19_366
  assert trace.late_rows == 0
  # 18:15:46.6805900 to 19:14:08.4025270: 58 min 21.7219370 s.
  assert columns.arrival_ps[-1] == 3_501_721_937 * 10**6
  assert columns.prompt_tokens[:3].tolist() == [374, 396, 879]
  assert columns.output_tokens[-1] == 183


@pytest.mark.data
def test_mooncake_conversation_trace(data_dir):
  path = data_dir / "traces" / "mooncake_conversation.jsonl"
  columns = traces.read("mooncake", str(path)).columns
  assert len(columns) == 12_031
  assert columns.prompt_tokens.max() == 126_195
  assert columns.prefix_ids[3] == (0, 42, 43, 44, 45)
