"""Step costs: exactness of runs, by hand, laws, and plausible bounds."""

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.dtypes import Dtypes
from pdjax.layout import Layout
from pdjax.models.presets import preset
from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.chip import Chip
from pdjax.simulate.chips import CHIPS
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.scalars import Scalars

MS = 10**9
A100, H100 = CHIPS["a100-80gb-sxm"], CHIPS["h100-sxm"]
NO_OVERHEAD = Scalars(
    step_overhead_s=0, request_overhead_s=0, copy_overhead_s=0,
    kernel_latency_s=0, microbatch_overhead_s=0, exchange_latency_s=0,
    engine_exchange_s=0, own_reduce_bytes=0,
)


def cost(name="llama-3-8b", chip=A100, scalars=None, dtypes=None, **degrees):
  return AnalyticalCost(
      preset(name), chip, layout=Layout(**degrees), scalars=scalars,
      dtypes=dtypes,
  )


def prefill(*chunks):
  return StepShape(prefill=chunks)


def decode(seqs, context_tokens, repeats=1):
  """`context_tokens` of each sequence."""
  return StepShape(
      decode_seqs=seqs, decode_context_tokens=seqs * context_tokens,
      repeats=repeats,
  )


def first_ps(cost, shape):
  return cost.step(shape)[0].first_ps


def one_by_one(cost, shape):
  """Step times asked for singly."""
  grown = (
      dataclasses.replace(
          shape, repeats=1,
          decode_context_tokens=shape.decode_context_tokens
          + step * shape.decode_seqs,
      )
      for step in range(shape.repeats)
  )
  return [first_ps(cost, single) for single in grown]


def expanded(segments):
  return [s.step_ps(i) for s in segments for i in range(s.steps)]


chips = st.builds(
    Chip,
    name=st.just("drawn"),
    vendor=st.just("none"),
    bf16_flops=st.integers(10**6, 10**16),
    hbm_bytes_per_s=st.integers(10**6, 10**14),
    interconnect_bytes_per_s=st.integers(10**6, 10**12),
)


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(
        ["tiny", "small", "llama-3-8b", "opt-13b", "mixtral-8x7b",
         "deepseek-v3"]
    ),
    chip=chips,
    tp=st.sampled_from([1, 2]),
    pp=st.sampled_from([1, 2]),
    microbatches=st.sampled_from([1, 3]),
    launch_s=st.sampled_from([0, 1e-5, 1e-3]),
    seqs=st.integers(1, 300),
    context_tokens=st.integers(1, 10**5),
    repeats=st.integers(1, 60),
)
def test_a_run_is_the_sum_of_its_steps_bit_for_bit(
    name, chip, tp, pp, microbatches, launch_s, seqs, context_tokens, repeats
):
  priced = cost(
      name, chip, tp=tp, pp=pp, microbatches=microbatches,
      scalars=Scalars(launch_s=launch_s),
  )
  shape = dataclasses.replace(
      decode(seqs, 1, repeats), decode_context_tokens=context_tokens
  )
  segments = priced.step(shape)
  assert sum(segment.steps for segment in segments) == repeats
  assert all(segment.steps > 0 for segment in segments)
  assert expanded(segments) == one_by_one(priced, shape)


@settings(max_examples=100, deadline=None)
@given(
    contexts=st.lists(st.integers(4000, 4200), min_size=1, max_size=20),
    repeats=st.integers(1, 200),
)
def test_a_run_across_a_window_is_the_sum_of_its_steps(contexts, repeats):
  priced = cost("mistral-7b-v0.1")
  run = StepShape(
      (), len(contexts), sum(contexts), repeats, tuple(contexts)
  )
  singles = []
  for step in range(repeats):
    grown = tuple(length + step for length in contexts)
    shape = StepShape((), len(grown), sum(grown), 1, grown)
    singles.append(first_ps(priced, shape))
  assert expanded(priced.step(run)) == singles


@pytest.mark.parametrize(
    "kv_efficiency, steps, slope_ps",
    [(0.4, [10], 640 * 10**9), (0.7, [3, 7], 512 * 10**9)],
)
def test_a_run_may_turn_compute_bound(kv_efficiency, steps, slope_ps):
  """Attention of tiny: T_hbm of 768 + 256 S bytes, T_math of 512 S operations.

  At 0.7 of 1000 bytes/s and all of 1000 FLOP/s the latter is larger from S = 8,
  the fourth step; at 0.4 never.
  """
  chip = Chip(
      name="slow", vendor="none", bf16_flops=1000, hbm_bytes_per_s=1000
  )
  scalars = dataclasses.replace(
      NO_OVERHEAD, attention_efficiency=1, kv_efficiency=kv_efficiency
  )
  segments = cost("tiny", chip, scalars=scalars).step(decode(1, 5, 10))
  assert [segment.steps for segment in segments] == steps
  assert segments[-1].slope_ps == slope_ps


def test_a_prefill_step_by_hand():
  """tiny, 4 tokens, a chip of 1e6 operations and bytes a second."""
  chip = Chip(
      name="slow", vendor="none", bf16_flops=10**6, hbm_bytes_per_s=10**6
  )
  priced = cost(
      "tiny", chip,
      scalars=Scalars(
          matmul_efficiency=1, attention_efficiency=1, hbm_efficiency=1,
          kv_efficiency=1, step_overhead_s=1, request_overhead_s=2,
          chunk_overhead_s=3, kernel_latency_s=1,
      ),
  )
  # Operations: projections 2*4*2*(64*(2*64 + 2*32)), mlp 2*4*2*(3*64*96),
  # attention 10 pairs * 4*2*4*16, logits 2*64*256. Bytes: attention (8*256 +
  # 4*512) is under its operations, logits 2*(64*256 + 64 + 256) over; between
  # products 4*2*2*(10*64 + 2*(4 + 2)*16 + 3*96), sampling 256*(2 + 4 + 4).
  # Gaps: 2 layers of 4 + 8 kernels of 1 s; the host spends 1, 2 and 3 s.
  operations = 196608 + 294912 + 5120
  moved = 33408 + 17920 + 2560
  expected = (operations + moved) * 10**6 + (24 + 6) * 10**12
  assert priced.step(prefill((4, 0))) == (Segment(1, expected),)


def test_a_mixed_step_holds_both_parts():
  priced = cost(scalars=NO_OVERHEAD)
  alone = first_ps(priced, prefill((512, 1024)))
  mixed = StepShape(((512, 1024),), 32, 32 * 1000)
  together = first_ps(priced, mixed)
  assert alone < together < alone + first_ps(priced, decode(32, 1000))


def test_repeats_are_for_decodes():
  with pytest.raises(ValueError, match="repeats"):
    cost().step(StepShape(((8, 0),), repeats=2))


# Plausible bounds: first principles on the outside, overhead included. -------


def test_prefill_of_2048_tokens_of_8b_on_an_a100():
  """33 TFLOP at 312 TFLOP/s is 105 ms; half of peak would be 220."""
  assert 105 * MS < first_ps(cost(), prefill((2048, 0))) < 220 * MS


def test_decode_step_of_8b_on_an_a100():
  """15 GB at 2,039 GB/s is 7.4 ms; published engines stay under 16."""
  assert 7.4 * MS < first_ps(cost(), decode(1, 512)) < 16 * MS


def test_decode_step_of_70b_on_4_h100():
  """139 GB over 4 x 3,350 GB/s is 10.4 ms; two all-reduces a layer."""
  priced = cost("llama-3-70b", H100, tp=4)
  assert 10.4 * MS < first_ps(priced, decode(1, 512)) < 25 * MS


def test_transfers_of_2048_tokens():
  assert cost().transfer_bytes(2048) == pytest.approx(270e6, rel=0.01)
  on_8 = cost("llama-3-70b", tp=8)
  assert on_8.transfer_bytes(2048) == pytest.approx(670e6, rel=0.01)


def test_copies_read_and_write_at_memory_bandwidth():
  priced = cost(tp=2, pp=2, scalars=dataclasses.replace(
      NO_OVERHEAD, kv_efficiency=1
  ))
  size_bytes = 4 * 2039 * 10**6
  assert priced.gather_ps(size_bytes) == 2 * MS
  assert priced.scatter_ps(size_bytes) == 2 * MS


# Layouts and formats. --------------------------------------------------------


def test_microbatches_fill_the_pipeline_and_read_weights_again():
  """4 stages: m parts take (m + 3) / 4 of a part's time through all."""
  free = dataclasses.replace(NO_OVERHEAD, hop_latency_s=0)
  links = dataclasses.replace(A100, interconnect_bytes_per_s=10**18)

  def time_ps(shape, parts):
    priced = cost(
        "llama-3-70b", links, pp=4, microbatches=parts, scalars=free
    )
    return first_ps(priced, shape)

  long, small = prefill((8192, 0)), decode(8, 1)
  assert 0.42 < time_ps(long, 4) / time_ps(long, 1) < 0.5  # 7 / 16
  assert 1.7 < time_ps(small, 4) / time_ps(small, 1) < 1.8  # 7 / 4


@pytest.mark.parametrize("seqs", [1, 3, 4, 9])
def test_a_step_has_no_more_microbatches_than_tokens(seqs):
  """A sequence alone passes as one part, however many were asked for."""
  few, many = (
      cost("llama-3-70b", pp=4, microbatches=parts) for parts in (seqs, 64)
  )
  shape = decode(seqs, 1000, repeats=3)
  assert many.step(shape) == few.step(shape)
  assert many.parts(shape) == few.parts(shape)


@pytest.mark.parametrize("name", ["llama-3-8b", "deepseek-v3"])
def test_data_parallel_groups_cannot_share_one_sequence(name):
  """It is no faster for groups that have nothing to do; four sequences take
  four groups what one takes one."""
  alone, among = (
      cost(name, H100, dp=dp, scalars=NO_OVERHEAD) for dp in (1, 4)
  )
  prompt = (2048, 512)
  for one, four in (
      (prefill(prompt), prefill(*[prompt] * 4)),
      (decode(1, 4000), decode(4, 4000)),
  ):
    told = alone.parts(one)
    for shape in (one, four):
      parts = among.parts(shape)
      for part in ("projections", "prefill attention", "decode attention"):
        assert parts[part] == pytest.approx(told[part], rel=1e-3)
    if name == "llama-3-8b":
      assert first_ps(among, one) == pytest.approx(first_ps(alone, one))
  uneven = prefill(prompt, (64, 0), (64, 0))
  assert first_ps(among, uneven) >= first_ps(among, prefill(prompt))


def test_smaller_formats_are_faster_where_they_should_be():
  fp8 = Dtypes("bfloat16", "fp8", "fp8", "bfloat16")
  kv8 = Dtypes("bfloat16", "bfloat16", "bfloat16", "fp8")

  def gain(dtypes, shape):
    base, other = (
        cost("llama-3-8b", H100, scalars=NO_OVERHEAD, dtypes=d)
        for d in (None, dtypes)
    )
    return first_ps(base, shape) / first_ps(other, shape)

  assert 1.6 < gain(fp8, prefill((4096, 0))) < 2
  assert 1.6 < gain(fp8, decode(1, 1)) < 2
  assert 1.8 < gain(kv8, decode(256, 8000)) < 2
  int4 = Dtypes("bfloat16", "int4", "bfloat16", "bfloat16")
  assert gain(int4, prefill((4096, 0))) == pytest.approx(1, abs=0.01)
  assert 2.5 < gain(int4, decode(1, 1)) < 4


def test_data_parallel_groups_share_the_batch():
  """Sixteen groups of one chip decode 256 as one does 16, dealing aside."""
  one = cost("deepseek-v3", H100, dp=16, ep=16)
  parts = one.parts(decode(256, 1000))
  alone = cost("deepseek-v3", H100).parts(decode(16, 1000))
  assert parts["projections"] == alone["projections"]
  assert parts["decode attention"] == pytest.approx(
      alone["decode attention"], rel=1e-3
  )
  assert parts["experts"] < alone["experts"] / 2
  assert parts["collectives"] > 0


def test_parts_add_up_to_the_step():
  for priced in (
      cost("llama-3-70b", tp=4, pp=2, microbatches=2),
      cost("mixtral-8x7b", scalars=Scalars(launch_s=1e-3)),
  ):
    for shape in SHAPES:
      assert sum(priced.parts(shape).values()) == first_ps(priced, shape)


def test_launches_are_a_floor():
  """While kernels take less, a step takes as long as launching them."""
  slow = Scalars(launch_s=1e-4)
  priced = cost("llama-3-8b", H100, scalars=slow)
  floor_ps = 32 * (4 + 8) * 10**8
  host_ps = round((slow.step_overhead_s + slow.request_overhead_s) * 1e12)
  assert first_ps(priced, decode(1, 100)) == floor_ps + host_ps
  assert priced.step(decode(1, 100, 10)) == (Segment(10, floor_ps + host_ps),)


# Laws. -----------------------------------------------------------------------

SHAPES = (prefill((1, 0)), prefill((2048, 0), (100, 5000)), decode(1, 100),
          decode(128, 4000), StepShape(((300, 200),), 64, 64000))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "figure", ["bf16_flops", "hbm_bytes_per_s", "interconnect_bytes_per_s"]
)
def test_a_faster_chip_never_slows_a_step(shape, figure):
  times = []
  for factor in (1, 1.01, 2, 10):
    chip = dataclasses.replace(A100, **{
        figure: round(getattr(A100, figure) * factor)
    })
    times.append(first_ps(cost("llama-3-70b", chip, tp=4, pp=2), shape))
  assert times == sorted(times, reverse=True)


def test_prefill_is_bound_by_compute_and_decode_by_bandwidth():
  """70B on H100: each speeds up with its own resource only."""

  def time_ps(chip, shape):
    return first_ps(cost("llama-3-70b", chip, tp=4, scalars=NO_OVERHEAD), shape)

  def gains(shape):
    figures = ("bf16_flops", "hbm_bytes_per_s")
    doubled = [
        dataclasses.replace(H100, **{figure: 2 * getattr(H100, figure)})
        for figure in figures
    ]
    return [time_ps(H100, shape) / time_ps(chip, shape) for chip in doubled]

  by_compute, by_bandwidth = gains(prefill((2048, 0)))
  assert by_compute > 1.5 and by_bandwidth < 1.1
  by_compute, by_bandwidth = gains(decode(32, 1000))
  assert by_compute < 1.01 and by_bandwidth > 1.5


def test_more_tensor_parallel_chips_are_faster():
  by_tp = [
      first_ps(cost("llama-3-70b", tp=tp), prefill((2048, 0)))
      for tp in (1, 2, 4, 8)
  ]
  assert by_tp == sorted(by_tp, reverse=True)
  assert by_tp[1] > by_tp[0] / 2  # never more than twice as fast


def test_pipeline_stages_cost_a_hop_and_save_no_time():
  one, four = cost("llama-3-70b"), cost("llama-3-70b", pp=4)
  hop_ps = 5_400_000 - (-2048 * 8192 * 2 * 10**12 // A100.peer_bytes_per_s)
  shape = prefill((2048, 0))
  assert first_ps(four, shape) - first_ps(one, shape) == 3 * hop_ps


def test_all_reduces_by_hand():
  """tp 4: 2 a layer, 6 hops and 6/4 of [T, D] each; logits 3 hops, 3/4."""
  slow = dataclasses.replace(A100, interconnect_bytes_per_s=10**6)
  scalars = dataclasses.replace(
      NO_OVERHEAD, link_efficiency=1, hop_latency_s=1e-3
  )
  fast = dataclasses.replace(A100, interconnect_bytes_per_s=10**18)
  no_hops = dataclasses.replace(scalars, hop_latency_s=0)
  shape = prefill((8, 0))
  comms_ps = first_ps(
      cost("llama-3-8b", slow, tp=4, scalars=scalars), shape
  ) - first_ps(cost("llama-3-8b", fast, tp=4, scalars=no_hops), shape)
  hops = 64 * 6 + 3
  sent_bytes = 64 * 6 * 8 * 4096 * 2 // 4 + 3 * 128256 * 2 // 4
  assert comms_ps == pytest.approx(hops * 10**9 + sent_bytes * 10**6, abs=200)


@pytest.mark.parametrize(
    "field", [field.name for field in dataclasses.fields(Scalars)]
)
def test_every_scalar_has_an_effect(field):
  def prices(scalars):
    small = cost("llama-3-70b", tp=2, pp=2, scalars=scalars, microbatches=2)
    large = cost("llama-3-70b", tp=16, scalars=scalars)
    bridged = cost("llama-3-70b", CHIPS["a40"], tp=4, scalars=scalars)
    steps = [
        priced.step(s) for s in SHAPES for priced in (small, large, bridged)
    ]
    return steps, small.gather_ps(10**6)

  value = {
      "launch_s": 1e-4, "host_overlap": 1.0, "chunk_overhead_s": 1e-3,
      "own_reduce_bytes": 0,
  }.get(field, getattr(Scalars(), field) * 0.9)
  changed = dataclasses.replace(Scalars(), **{field: value})
  assert prices(changed) != prices(Scalars())


def test_what_the_host_does_ahead_is_a_floor():
  """Hidden behind kernels that take longer, and a step's time where not."""
  slow_host = dataclasses.replace(
      NO_OVERHEAD, step_overhead_s=5e-3, request_overhead_s=1e-3
  )
  ahead = dataclasses.replace(slow_host, host_overlap=1.0)
  small, large = decode(1, 1), decode(4, 20_000)
  for model, shape in (("tiny", small), ("llama-3-8b", large)):
    plain = first_ps(cost(model, scalars=NO_OVERHEAD), shape)
    host_ps = (5 + shape.decode_seqs) * MS
    waited = first_ps(cost(model, scalars=slow_host), shape)
    assert waited == plain + host_ps
    hidden = cost(model, scalars=ahead)
    assert first_ps(hidden, shape) == max(plain, host_ps)
    assert sum(hidden.parts(shape).values()) == max(plain, host_ps)
  half = dataclasses.replace(slow_host, host_overlap=0.5)
  assert first_ps(cost("tiny", scalars=half), small) == 6 * MS


def test_scalars_out_of_range_are_refused():
  with pytest.raises(ValueError, match="host_overlap"):
    Scalars(host_overlap=1.5)
  with pytest.raises(ValueError, match="hbm_efficiency"):
    Scalars(hbm_efficiency=1.2)
  for value in (-1, float("nan"), float("inf")):
    with pytest.raises(ValueError, match="step_overhead_s"):
      Scalars(step_overhead_s=value)


def test_work_of_a_run_is_the_sum_of_its_steps():
  priced = cost()
  flops, size_bytes = priced.work(decode(7, 100, 20))
  singles = [priced.work(decode(7, 100 + step)) for step in range(20)]
  assert flops == sum(single[0] for single in singles)
  assert size_bytes == sum(single[1] for single in singles)


def test_work_is_bound_by_the_time_it_takes():
  """Neither compute nor bandwidth is ever used beyond its peak."""
  priced = cost("llama-3-70b", H100, tp=4)
  for shape in SHAPES:
    seconds = first_ps(priced, shape) / 1e12
    flops, size_bytes = priced.work(shape)
    assert 0 < flops / seconds < priced.peak_flops
    assert 0 < size_bytes / seconds < priced.peak_bytes_per_s


@pytest.mark.parametrize("name", ["mixtral-8x7b", "deepseek-v3"])
@pytest.mark.parametrize(
    "degrees", [{}, {"tp": 4, "ep": 4}, {"tp": 4, "dp": 2, "ep": 8, "pp": 2}]
)
def test_no_chip_moves_more_than_its_memory_can(name, degrees):
  """However few tokens use few experts of each part: MBU is at most 1."""
  perfect = dataclasses.replace(
      NO_OVERHEAD, hbm_efficiency=1, kv_efficiency=1, link_efficiency=1,
      hop_latency_s=0,
  )
  links = {"interconnect_bytes_per_s": 10**15, "bf16_flops": 10**21}
  chip = dataclasses.replace(H100, **links)
  priced = cost(name, chip, scalars=perfect, **degrees)
  for seqs in range(1, 65):
    shape = decode(seqs, 1)
    least_s = priced.work(shape).bytes / priced.peak_bytes_per_s
    assert first_ps(priced, shape) >= least_s * 10**12


def test_provenance_says_what_the_prices_rest_on():
  told = json.loads(json.dumps(cost().provenance))
  assert told["kind"] == "analytical"
  assert "uncalibrated, +-20 %" in told["accuracy"]
  assert told["step_overhead_s"] == Scalars().step_overhead_s
  assert told["chip"] == "a100-80gb-sxm"
