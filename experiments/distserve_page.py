"""The words of docs/fidelity_distserve.md; its numbers are computed."""

PAGE = """\
# Fidelity: DistServe's figures for OPT-13B

Made by `python experiments/distserve_sharegpt.py --data=DATA
--document=FILE`; not edited by hand. Everything but the published columns is
simulated. Steps cost what the authors' published fits say of their own engine
and of the vLLM of their time, unless a column says first principles; queues,
batches and hand-offs are ours. (Zhong et al., OSDI 2024; LLMServe/DistServe.)

## Figure 1

Prompts of 512 tokens, answers of 64, one A100; the highest rate at which 90 %
of 1000 requests keep TTFT 0.4 s and TPOT 0.04 s. Requests a second for each
GPU.

{figure1}

With vLLM's fits all four are 1.3 to 1.4 times the published rates and their
ratios agree; so a part of the time, in steps or in waiting, is in no fit.

## ShareGPT

TTFT 0.25 s and TPOT 0.1 s, 90 % of requests; 100 requests for each GPU;
colocated on one GPU (whole prompts first, as vLLM did), disaggregated with
prefill at TP 2 and decode at TP 1; `max_num_batched_tokens` 16384,
`max_num_seqs` 1024; KV capacities as the authors' table has them. Shares of
requests in percent, medians of 20 draws: within both limits / TTFT alone /
TPOT alone.

{sharegpt}

![share of requests within the SLO against the rate]({picture})

Colocation at DistServe's own step costs is no system of theirs. It says how
much of the gain is the engine's: from the first row to the second steps are
faster, from the second to the third the phases are apart. At these lengths and
limits vLLM's row is bound by TTFT alone, so faster steps are most of the gain.

What is missing for more than that:

- the lengths: ShareGPT itself is not here. They are drawn from lognormal laws
  with means of 755 and 200 tokens, from a secondary source, cut so that both
  fit in 2048 tokens. The TTFT limit is met or missed by the longest prompts,
  so the rates at 90 % hang on that tail.
- the curve: the paper shows it as a drawing without numbers. What its text
  says is the ratio, 2.0 to 4.6 over OPT-13B, 66B and 175B, shaded in the
  picture; which model has which is not told there.
- vLLM's prefill and decode of that time when both share a step: the fits have
  none (whole prompts go alone), and none is needed here.
"""
