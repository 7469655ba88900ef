"""When the fields of `strategy` are read."""

from pdjax import config
from pdjax.config import Run
from pdjax.reads.implied import caches_prefixes
from pdjax.reads.questions import builtin, measured, moves_pages, users
from pdjax.reads.rule import Rule


def _granularity(run: Run) -> str:
  plan = run.strategy.transfer
  return plan.granularity if plan else "request"


RULES = (
    Rule(
        ("strategy.chunk_size", "cluster.pools.chunk_size"),
        builtin(
            "chunked", "adaptive_chunk", "vllm_v1", "lanes",
            *config.HANDING_OVER,
        ),
        "only chunked prefill cuts prompts",
    ),
    Rule(
        ("strategy.priority",),
        lambda run: run.strategy.kind == "continuous",
        "only continuous batching chooses who goes first",
    ),
    Rule(
        ("strategy.max_num_batched_tokens",),
        builtin("continuous", "static", "lanes", *config.HANDING_OVER),
        "chunked prefill is bounded by strategy.chunk_size",
    ),
    Rule(
        ("strategy.step_costs",),
        lambda run: run.strategy.kind == "adaptive_chunk",
        "only adaptive_chunk asks what a step would take",
    ),
    Rule(
        ("strategy.elastic",),
        lambda run: run.strategy.kind == "elastic",
        "only elastic disaggregation changes roles",
    ),
    Rule(
        ("strategy.lanes",),
        builtin("lanes"),
        "only lanes, or a policy of one's own, shares a chip out",
    ),
    Rule(
        ("strategy.local_prompt_tokens", "strategy.local_prefix_share"),
        lambda run: run.strategy.kind == "conditional",
        "only conditional disaggregation prefills on decode workers",
    ),
    Rule(
        ("strategy.local_prefix_share",),
        caches_prefixes,
        "nothing is cached while strategy.prefix_cache is off",
    ),
    Rule(
        ("strategy.first_token", "strategy.transfer"),
        moves_pages,
        "only disaggregation hands requests over",
    ),
    Rule(
        ("strategy.transfer.layers",),
        lambda run: _granularity(run) == "layers",
        "only granularity='layers' moves pages layer by layer",
    ),
    Rule(
        ("strategy.options",),
        users,
        "only a user's policy ('module:factory') takes options",
    ),
    Rule(
        ("strategy.transfer.verify",),
        lambda run: measured(run) or run.faults.hits_transfers("corrupted"),
        "the simulator moves no bytes, and no fault damages any",
    ),
)
