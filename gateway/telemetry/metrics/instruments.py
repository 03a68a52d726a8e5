"""Every metric, once: with its unit, its closed label values and the question it answers. Ids go on spans, never on metrics."""

from gateway.shadows.chapter import RESULTS
from gateway.telemetry import names, words
from gateway.telemetry.metrics.metric import (
    BY_ASKED_MODEL,
    BY_BUDGET,
    BY_EXPERIMENT,
    BY_KIND,
    BY_MODEL,
    BY_OUTCOME,
    BY_REPLICA,
    BY_ROUTE,
    BY_SHADOW,
    BY_VARIANT,
    DECISION_BUCKETS,
    DURATION_BUCKETS,
    TOKEN_BUCKETS,
    TPOT_BUCKETS,
    TTFT_BUCKETS,
    Label,
    Metric,
    counter,
    gauge,
    histogram,
)

REQUESTS = counter("router.requests", "How many requests, and how did they end?", BY_ROUTE, BY_MODEL, BY_OUTCOME)
REQUEST_DURATION = histogram(
    "gen_ai.server.request.duration", "How long from arrival to the last byte?", DURATION_BUCKETS, BY_MODEL, BY_OUTCOME
)
TTFT = histogram(
    "gen_ai.server.time_to_first_token", "How long from arrival to the first content?", TTFT_BUCKETS, BY_MODEL
)
IN_FLIGHT = gauge("http.server.active_requests", "How many requests are being answered?")
ATTEMPT_DURATION = histogram(
    "gen_ai.client.inference.duration", "How long does one attempt at a model take?", DURATION_BUCKETS, BY_ASKED_MODEL
)
FIRST_CHUNK = histogram(
    "gen_ai.client.inference.time_to_first_chunk",
    "How long does a model take to its first content?",
    DURATION_BUCKETS,
    BY_ASKED_MODEL,
)
TPOT = histogram(
    "gen_ai.server.time_per_output_token",
    "How fast do tokens come in a stream, after the first?",
    TPOT_BUCKETS,
    BY_MODEL,
)
INPUT_SIZE = histogram(
    "gen_ai.client.inference.operation.input_tokens", "How long are prompts?", TOKEN_BUCKETS, BY_MODEL, unit=""
)
OUTPUT_SIZE = histogram(
    "gen_ai.client.inference.operation.output_tokens", "How long are answers?", TOKEN_BUCKETS, BY_MODEL, unit=""
)
ATTEMPT_COUNT = counter("router.attempts", "How many attempts did requests need?", BY_ASKED_MODEL)
UPSTREAM_ERRORS = counter("router.upstream.errors", "Which model fails, and in what way?", BY_ASKED_MODEL, BY_KIND)
USED_INPUT = counter("gen_ai.client.inference.usage.input_tokens", "How many prompt tokens were asked?", BY_MODEL)
USED_OUTPUT = counter("gen_ai.client.inference.usage.output_tokens", "How many tokens were generated?", BY_MODEL)
USED_CACHED = counter(
    "gen_ai.client.inference.usage.cache_read.input_tokens", "How many prompt tokens were not computed again?", BY_MODEL
)
USED_REASONING = counter(
    "gen_ai.client.inference.usage.reasoning.output_tokens",
    "How many of the generated tokens were thought and not said?",
    BY_MODEL,
)
SPEND = counter("router.spend", "What did the answers cost?", BY_ROUTE, BY_MODEL, unit="microusd")
ANSWERS_JUDGED = counter(
    "router.judgements",
    "How many answers were held back, and what became of them?",
    BY_ROUTE,
    Label(names.JUDGEMENT, words.JUDGED),
)
UNRETRIED = counter("router.retries.withheld", "How many failures were not followed by another attempt?", BY_ROUTE)
HEDGES = counter(
    "router.hedges",
    "How often was another replica asked beside a silent one, and did it speak first?",
    BY_ASKED_MODEL,
    Label(names.HEDGE_RESULT, words.HEDGE_RESULTS),
)
HEDGE_SPEND = counter(
    "router.hedge.spend", "What of the spend went to those who lost a race?", BY_ASKED_MODEL, unit="microusd"
)
ABANDONED_SPEND = counter(
    "router.abandoned.spend",
    "What of the spend went into answers that were given up?",
    BY_ROUTE,
    BY_ASKED_MODEL,
    unit="microusd",
)
RESERVED = counter(
    "router.budget.requests",
    "How many requests did budgets have room for, and by whose word?",
    Label(names.BUDGET_RESULT, words.BUDGET_RESULTS),
    Label(names.BUDGET_BY, words.BUDGET_SAID_BY),
)
BUDGET_TAKEN = gauge("router.budget.taken", "How much of what everybody may spend is taken?", BY_BUDGET, unit="percent")
TURNED_AWAY = counter(
    "router.budget.spent",
    "Which budget had too little left, and what followed?",
    BY_BUDGET,
    Label(names.BUDGET_RESULT, words.BUDGET_RESULTS[1:]),
)
TRIED = counter(
    "router.experiment.requests",
    "How many requests had which variant, and how did they end?",
    BY_EXPERIMENT,
    BY_VARIANT,
    BY_OUTCOME,
)
TRIED_SPEND = counter(
    "router.experiment.spend", "What did each variant cost?", BY_EXPERIMENT, BY_VARIANT, unit="microusd"
)
TRIED_TTFT = histogram(
    "router.experiment.time_to_first_token",
    "How long from arrival to the first content, by variant?",
    TTFT_BUCKETS,
    BY_EXPERIMENT,
    BY_VARIANT,
)
SHADOWED = counter(
    "router.shadow.requests",
    "What became of the requests that a shadow drew?",
    BY_SHADOW,
    Label(names.SHADOW_RESULT, RESULTS),
)
SHADOW_SPEND = counter("router.shadow.spend", "What do comparisons cost?", BY_SHADOW, unit="microusd")
SHADOW_DURATION = histogram(
    "router.shadow.duration", "How long does one call for comparison take?", DURATION_BUCKETS, BY_SHADOW
)
DECISION_DURATION = histogram("router.decision.duration", "What does deciding cost?", DECISION_BUCKETS)
ESTIMATE_COUNT = counter(
    "router.estimates", "How often does the classifier abstain?", Label("router.estimate", words.ESTIMATES)
)
RELOAD_COUNT = counter(
    "router.policy.reloads", "Was a policy file taken or refused?", Label("router.reload", words.RELOADS)
)
POLICY_INFO = gauge("router.policy.info", "Which policy is in force?", Label(names.POLICY_HASH))
LINE = gauge("router.line", "What may a bad answer cost, in charges of the target's reference model?", BY_ROUTE)
TARGET = gauge("router.target", "What shall the mix of models come to?", BY_ROUTE, unit="percent")
REALISED = gauge("router.target.realised", "What did the last requests of a route come to?", BY_ROUTE, unit="percent")
PREFIX_PREDICTED = counter(
    "router.prefix.predicted_tokens",
    "How many tokens did we expect to be reused, and where?",
    BY_ASKED_MODEL,
    BY_REPLICA,
)
PREFIX_REUSED = counter(
    "router.prefix.reused_tokens", "How many tokens were reused, of those attempts?", BY_ASKED_MODEL, BY_REPLICA
)
TELEMETRY_DROPPED = counter(
    "router.telemetry.dropped", "What could not be delivered?", Label("router.signal", words.SIGNALS)
)

METRICS: tuple[Metric, ...] = (
    REQUESTS,
    REQUEST_DURATION,
    TTFT,
    TPOT,
    IN_FLIGHT,
    ATTEMPT_DURATION,
    FIRST_CHUNK,
    ATTEMPT_COUNT,
    UPSTREAM_ERRORS,
    USED_INPUT,
    USED_OUTPUT,
    USED_CACHED,
    USED_REASONING,
    INPUT_SIZE,
    OUTPUT_SIZE,
    SPEND,
    ANSWERS_JUDGED,
    ABANDONED_SPEND,
    UNRETRIED,
    HEDGES,
    HEDGE_SPEND,
    RESERVED,
    BUDGET_TAKEN,
    TURNED_AWAY,
    TRIED,
    TRIED_SPEND,
    TRIED_TTFT,
    SHADOWED,
    SHADOW_SPEND,
    SHADOW_DURATION,
    DECISION_DURATION,
    ESTIMATE_COUNT,
    RELOAD_COUNT,
    POLICY_INFO,
    LINE,
    TARGET,
    REALISED,
    PREFIX_PREDICTED,
    PREFIX_REUSED,
    TELEMETRY_DROPPED,
)
