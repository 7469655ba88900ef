"""The matrix of compiled kernels: what is kept, what is told, its table."""

import dataclasses

import pytest

from benchmarks import aot, aot_matrix, aot_sources, aot_table, cases
from benchmarks.cases import Case
from pdjax.aot.compile import Compiled

GOOD = {"seconds": 1.0, "temp_bytes": 10, "pool_bytes": 1000}


def made(case: Case, **fields) -> Compiled:
  return Compiled(shape=str(case), kind=case.kernel, **GOOD | fields)


@pytest.fixture
def compiler(monkeypatch):
  """Cases it was asked for; one that is called "stop" ends the run."""
  seen = []

  def compiled(asked):
    for case in asked:
      if case.kernel == "stop":
        raise KeyboardInterrupt
      seen.append(case)
      yield case, made(case)

  monkeypatch.setattr(aot, "compiled", compiled)
  monkeypatch.setattr(aot_matrix, "made_with", lambda case: "libtpu 1")
  return seen


def cases_of(*kernels: str) -> list[Case]:
  return [Case(kernel=kernel, target="v5e:2x2") for kernel in kernels]


def test_a_run_goes_on_where_it_stopped(compiler, tmp_path):
  file = tmp_path / "folder" / "kept.jsonl"
  with pytest.raises(KeyboardInterrupt):
    list(aot_matrix.compiled(cases_of("a", "b", "stop", "c"), file))
  found = dict(aot_matrix.compiled(cases_of("a", "b", "c"), file))
  assert [case.kernel for case in compiler] == ["a", "b", "c"]
  assert list(found) == cases_of("a", "b", "c")
  assert found[cases_of("a")[0]] == made(cases_of("a")[0])


def test_results_of_another_compiler_do_not_hold(
    compiler, tmp_path, monkeypatch
):
  file = tmp_path / "kept.jsonl"
  for made_by in ("libtpu 1", "libtpu 2", "libtpu 2"):
    monkeypatch.setattr(aot_matrix, "made_with", lambda case, x=made_by: x)
    list(aot_matrix.compiled(cases_of("a"), file))
  assert len(compiler) == 2


def test_a_case_depends_on_its_kernel_and_what_that_imports():
  def names(kernel):
    start = aot_sources.KERNELS / "pdjax_kernels" / kernel / "tpu.py"
    return {path.name for path in aot_sources._closure(start)}

  assert names("kv_write") == {
      "tpu.py", "blocks.py", "reference.py", "pages.py"
  }
  assert names("chunk_prefill") >= {"stream.py", "softmax.py", "pages.py"}
  assert not {"triton.py", "xla.py"} & names("chunk_prefill")


def test_a_round_has_some_of_everything_and_all_rounds_have_all():
  first, whole = list(cases.matrix(rounds=1)), list(cases.matrix())
  assert len(whole) == len(set(whole)) == 5 * 4 * 4 * 3 * 4
  assert len(first) == 5 * 4 * 4
  assert set(first) < set(whole)
  for target in cases.TPUS:
    for kernel in cases.ROWS:
      here = [x for x in first if (x.kernel, x.target) == (kernel, target)]
      assert {x.page_tokens for x in here} == set(cases.PAGES)
      assert {x.head_dim for x in here} == set(cases.WIDTHS)
      assert {x.kv_dtype for x in here} == {kv for _, kv in cases.DTYPES}


def test_the_table_says_what_is_not_sound():
  case = cases_of("a")[0]
  wide = dataclasses.replace(case, head_dim=256)
  found = {
      case: made(case),
      dataclasses.replace(case, page_tokens=32): made(case, refused="no"),
      dataclasses.replace(wide, kernel="b"): made(case, temp_bytes=60),
      dataclasses.replace(wide, kernel="c"): made(case, temp_bytes=60),
      dataclasses.replace(case, kernel="d"): made(case, whole_copies=2),
  }
  assert aot_table.table(found).splitlines()[2:] == [
      "| bfloat16 / bfloat16 | `d` | 128: (16 copies the cache 2 times) |",
      "| bfloat16 / bfloat16 | `a` | 128: 16 (32 does not compile) |",
      "| bfloat16 / bfloat16 | `b`, `c` | 256: (16 has temporaries of 6%) |",
      "",
      "1 of 5 sound. Most temporaries: 60 bytes, 6.00% of the cache"
      f" ({dataclasses.replace(wide, kernel='b')}).",
  ]


@pytest.mark.parametrize("refused, status", [("", 0), ("too odd", 1)])
def test_its_status_says_whether_all_is_sound(refused, status, capsys):
  case = cases_of("a")[0]
  assert aot_matrix._told([(case, made(case, refused=refused))]) == status
  assert refused in capsys.readouterr().out


def test_the_readme_has_a_place_for_the_table():
  text = aot_matrix.README.read_text()
  after = aot_table.replaced(text, "one")
  assert aot_table.replaced(after, "two") == after.replace("one\n<", "two\n<")
  assert after.count(aot_table.BEGIN) == after.count(aot_table.END) == 1
