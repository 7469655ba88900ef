"""Every format: what it holds, in whatever dress, and what is no request."""

import dataclasses
import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pdjax import config
from pdjax.config import ConfigError
from pdjax.workload import formats, traces
from pdjax.workload.build import build
from pdjax.workload.kept import Ask

BURST = (
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,ChatGPT,472,18,490,Conversation log\n"
    "45,ChatGPT,1087,0,1087,Conversation log\n"
    "118.5,GPT-4,417,276,693,API log\n"
)
VIDUR = (
    "arrived_at,num_prefill_tokens,num_decode_tokens\n"
    "0.25,374,44\n1.5,396,109\n"
)
SPLITWISE = (
    "request_id,request_type,application_id,arrival_timestamp,batch_size,"
    "prompt_size,token_size\n"
    "0,2,0,0.25,1,374,44\n1,2,0,1.5,1,396,109\n"
)


def qwen(chat, at_s, prompt, ids):
  return json.dumps({
      "chat_id": chat, "parent_chat_id": -1, "timestamp": at_s,
      "input_length": prompt, "output_length": 7, "type": "text", "turn": 1,
      "hash_ids": ids,
  })


QWEN = "\n".join([qwen(1, 0.5, 40, [9, 8, 7]), qwen(2, 2.0, 20, [9, 8])])
LINES = "\n".join([
    json.dumps({"prompt": "x" * 40, "output_tokens": 9}),
    json.dumps({"input_length": 5, "output_length": 3, "timestamp": 1.25}),
])
SHAREGPT = json.dumps([
    {"id": "a", "conversations": [
        {"from": "human", "value": "h" * 20}, {"from": "gpt", "value": "g" * 8},
        {"from": "human", "value": "more"},
    ]},
    {"id": "b", "conversations": [{"from": "human", "value": "alone"}]},
    {"id": "c", "conversations": [
        {"from": "human", "value": "hi"},
        {"from": "gpt", "value": "[\"]}," * 3},
    ]},
])
FILES = {
    "burstgpt": (BURST, ([0, 113.5], [472, 417], [18, 276])),
    "vidur": (VIDUR, ([0, 1.25], [374, 396], [44, 109])),
    "splitwise": (SPLITWISE, ([0, 1.25], [374, 396], [44, 109])),
    "qwen": (QWEN, ([0, 1.5], [40, 20], [7, 7])),
    "jsonl": (LINES, ([0, 1.25], [10, 5], [9, 3])),
    "sharegpt": (SHAREGPT, ([0, 0], [5, 1], [2, 4])),
}
EVERY = pytest.mark.parametrize("kind", FILES)


def values(trace):
  columns = trace.columns
  return (
      (columns.arrival_ps / 1e12).tolist(), columns.prompt_tokens.tolist(),
      columns.output_tokens.tolist(),
  )


def errors(kind, path, ask=None):
  with pytest.raises(ConfigError) as error:
    traces.read(kind, str(path), ask or Ask())
  return error.value.errors


@EVERY
def test_what_a_file_holds(tmp_path, kind):
  text, expected = FILES[kind]
  file = tmp_path / "trace"
  file.write_text(text)
  assert values(traces.read(kind, str(file))) == expected


@EVERY
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_dress_does_not_matter(tmp_path, kind, end, monkeypatch):
  monkeypatch.setattr("pdjax.workload.textfile.PIECE_BYTES", 7)
  text, expected = FILES[kind]
  file = tmp_path / "trace"
  for last in ("", "\n"):
    dressed = (text.rstrip("\n") + last).replace("\n", end)
    file.write_bytes(b"\xef\xbb\xbf" + dressed.encode())
    assert values(traces.read(kind, str(file))) == expected


@EVERY
def test_a_file_of_another_kind_is_named(tmp_path, kind):
  file = tmp_path / "trace"
  file.write_text(FILES[kind][0])
  assert formats.guess(FILES[kind][0].splitlines()[0]) == kind
  if kind != "qwen":  # has all that mooncake asks for, but other blocks
    (line,) = errors("azure", file)
    assert f"did you mean workload.kind={kind!r}" in line


def test_objects_within_objects_without_end_are_no_line_of_json(tmp_path):
  file = tmp_path / "deep"
  file.write_text('{"a": ' + "[" * 10**5)
  assert formats.guess(file.read_text()) is None
  assert "not JSON: '{" in errors("mooncake", file)[0]


def test_failures_are_counted_and_left_out(tmp_path):
  file = tmp_path / "burst.csv"
  file.write_text(BURST)
  trace = traces.read("burstgpt", str(file))
  assert (trace.rows, trace.unusable_rows, trace.bad_rows) == (2, 1, 0)
  notes = build(config.Workload(kind="burstgpt", path=str(file))).conditions
  assert "1 rows of the trace are no request" in notes["notes"][0]


def test_bad_rows_are_refused_or_counted(tmp_path):
  file = tmp_path / "vidur.csv"
  file.write_text(VIDUR + "x,1,1\n3,0,5\n4,5,0\n-1,5,5\n2.5,7,7\n")
  lines = errors("vidur", file)
  assert len(lines) == 4
  assert lines[0] == (
      f"{file}:4: arrived_at 'x' is not a number of seconds from 0 up"
  )
  assert "num_prefill_tokens is 0" in lines[1]
  assert "num_decode_tokens is 0" in lines[2]
  load = config.Workload(kind="vidur", path=str(file), skip_bad_rows=True)
  built = build(load)
  assert len(built.requests) == 3
  assert built.conditions["bad_rows"] == 4
  assert "4 malformed rows of the trace skipped" in built.conditions["notes"]


def test_nothing_but_bad_rows_is_no_trace(tmp_path):
  file = tmp_path / "vidur.csv"
  file.write_text(VIDUR.splitlines()[0] + "\nx,1,1\n")
  (line,) = errors("vidur", file, Ask(skip_bad=True))
  assert line == f"{file}: none of the 1 rows is a request"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "not a JSON array"),
        ("[1, 2", "not a JSON array, or cut short"),
        ("[1, 2]", "conversation 1: not an object with a list"),
        ('[{"conversations": [{"from": "human"}]}]', "has no value"),
        ("", "not a JSON array, or cut short"),
    ],
)
def test_conversations_that_are_none(tmp_path, text, reason):
  file = tmp_path / "chats.json"
  file.write_text(text)
  assert reason in errors("sharegpt", file)[0]


def test_a_file_without_times_needs_arrivals(tmp_path):
  file = tmp_path / "chats.json"
  file.write_text(SHAREGPT)
  load = config.Workload(kind="sharegpt", path=str(file))
  with pytest.raises(ConfigError, match="says no times"):
    build(load)
  drawn = build(config.Workload(
      kind="sharegpt", path=str(file), arrival="poisson", rate=1.0
  ))
  assert len(drawn.requests) == 2
  assert "guessed: 4 characters a token" in drawn.conditions["notes"][1]


def test_requests_of_an_earlier_run(tmp_path):
  file = tmp_path / "requests.parquet"
  pq.write_table(pa.table({
      "state": ["finished", "failed", "finished"],
      "arrival_ns": [5, 7, 1005], "prompt_tokens": [3, 4, 5],
      "output_tokens": [1, 0, 2], "more": [0, 0, 0],
  }), file)
  trace = traces.read("requests", str(file))
  assert trace.columns.arrival_ps.tolist() == [0, 10**6]
  assert trace.columns.prompt_tokens.tolist() == [3, 5]
  assert trace.unusable_rows == 1
  pq.write_table(pa.table({"arrival_ns": [5], "state": ["finished"]}), file)
  (line,) = errors("requests", file)
  assert line.endswith(
      "not the requests.parquet of a run: no column prompt_tokens,"
      " output_tokens"
  )
  pq.write_table(pa.table({
      "state": ["finished"] * 2, "arrival_ns": [5, None],
      "prompt_tokens": [3, 4], "output_tokens": [1, 1],
  }), file)
  assert errors("requests", file)[0].endswith("row 2: no arrival_ns")
  pq.write_table(pa.table({
      "state": ["finished"], "arrival_ns": ["5"], "prompt_tokens": [3],
      "output_tokens": [1],
  }), file)
  assert "column arrival_ns is 'string', not whole" in errors(
      "requests", file
  )[0]
  file.write_text("no parquet")
  assert "not the requests.parquet of a run" in errors("requests", file)[0]


def test_what_has_no_sample_needs_a_path():
  with pytest.raises(ConfigError, match="workload.path: missing"):
    traces.read("vidur", None)


def long_file(path, rows):
  with path.open("w") as file:
    file.write(VIDUR.splitlines()[0] + "\n")
    for row in range(rows):
      file.write(f"{row / 8:.3f},{100 + row % 50},10\n")


@pytest.mark.parametrize("ask", [Ask(first=100), Ask(end_ps=10 * 10**12)])
def test_a_long_file_needs_no_more_memory_than_what_is_kept(tmp_path, ask):
  long_file(tmp_path / "long.csv", 150_000)  # 2.6 MB
  tracemalloc.start()
  trace = traces.read("vidur", str(tmp_path / "long.csv"), ask)
  _, peak_bytes = tracemalloc.get_traced_memory()
  tracemalloc.stop()
  assert trace.rows == 150_000
  assert len(trace.columns) == (100 if ask.first else 80)
  # Pieces of 1 MiB as text, in lines; all rows would take 24 bytes each more.
  whole = np.dtype(np.int64).itemsize * 3 * trace.rows
  assert peak_bytes < 8 * 2**20 + whole


def test_only_what_is_asked_for_is_kept_also_out_of_order(tmp_path):
  rng = np.random.default_rng(0)
  times = rng.permutation(5000)
  file = tmp_path / "shuffled.csv"
  file.write_text("\n".join([
      VIDUR.splitlines()[0], *(f"{t},{t + 1},{t + 1}" for t in times)
  ]))
  kept = traces.read("vidur", str(file), Ask(first=10)).columns
  assert kept.prompt_tokens.tolist() == list(range(1, 11))
  kept = traces.read("vidur", str(file), Ask(end_ps=7 * 10**12)).columns
  assert kept.prompt_tokens.tolist() == list(range(1, 8))


@pytest.fixture
def hour(tmp_path):
  long_file(tmp_path / "hour.csv", 400)  # 8 a second, for 50 s
  return config.Workload(kind="vidur", path=str(tmp_path / "hour.csv"))


def arrivals(load):
  return [r.arrival_ps / 1e12 for r in build(load).requests]


def replace(load, **fields):
  return dataclasses.replace(load, **fields)


def test_a_part_of_a_trace(hour):
  part = arrivals(replace(hour, start_s=10.0, end_s=20.0))
  assert len(part) == 80 and part[0] == 0 and part[-1] == 9.875
  assert len(arrivals(replace(hour, start_s=10.0, num_requests=5))) == 5
  with pytest.raises(ConfigError, match="has 8 requests from start_s=49"):
    build(replace(hour, start_s=49.0, num_requests=80))
  with pytest.raises(ConfigError, match="must be after"):
    build(replace(hour, start_s=5.0, end_s=5.0))


def test_a_rate_scales_the_gaps(hour):
  times = arrivals(replace(hour, rate=2.0))
  assert len(times) / times[-1] == pytest.approx(2.0, rel=0.01)
  assert arrivals(replace(hour, rate=8.0))[-1] == pytest.approx(
      arrivals(hour)[-1], rel=1e-6
  )
  with pytest.raises(ConfigError, match="scales the trace's gaps already"):
    build(replace(hour, rate=2.0, time_scale=2.0))


def test_jitter_spreads_a_coarse_clock(tmp_path):
  file = tmp_path / "coarse.csv"
  rows = [f"{3 * (row // 10)},{row + 1},9" for row in range(200)]
  file.write_text("\n".join([VIDUR.splitlines()[0], *rows]))
  load = config.Workload(kind="vidur", path=str(file), jitter_s=3.0)
  times = arrivals(load)
  assert len(set(times)) == 200 and times == sorted(times)
  assert max(np.diff(times)) < 3
  assert times == arrivals(load)
  assert times != arrivals(replace(load, seed=1))
  prompts = [request.prompt_tokens for request in build(load).requests]
  assert sorted(prompts) == list(range(1, 201))
  for row, at_s in zip(prompts, times, strict=True):
    delay_s = at_s - 3 * ((row - 1) // 10)
    assert -3 <= delay_s < 3
