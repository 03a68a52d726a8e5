"""Every metric, once: with its unit, its closed label values and the question it answers. Ids go on spans, never on metrics."""

from gateway.shadows.chapter import RESULTS
from gateway.telemetry import names, words
from gateway.telemetry.metric import (
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
)

REQUESTS = Metric(
    "router.requests", "counter", "", "How many requests, and how did they end?", (BY_ROUTE, BY_MODEL, BY_OUTCOME)
)
REQUEST_DURATION = Metric(
    "gen_ai.server.request.duration",
    "histogram",
    "s",
    "How long from arrival to the last byte?",
    (BY_MODEL, BY_OUTCOME),
    DURATION_BUCKETS,
)
TTFT = Metric(
    "gen_ai.server.time_to_first_token",
    "histogram",
    "s",
    "How long from arrival to the first content?",
    (BY_MODEL,),
    TTFT_BUCKETS,
)
IN_FLIGHT = Metric("http.server.active_requests", "gauge", "", "How many requests are being answered?")
ATTEMPT_DURATION = Metric(
    "gen_ai.client.inference.duration",
    "histogram",
    "s",
    "How long does one attempt at a model take?",
    (BY_ASKED_MODEL,),
    DURATION_BUCKETS,
)
FIRST_CHUNK = Metric(
    "gen_ai.client.inference.time_to_first_chunk",
    "histogram",
    "s",
    "How long does a model take to its first content?",
    (BY_ASKED_MODEL,),
    DURATION_BUCKETS,
)
TPOT = Metric(
    "gen_ai.server.time_per_output_token",
    "histogram",
    "s",
    "How fast do tokens come in a stream, after the first?",
    (BY_MODEL,),
    TPOT_BUCKETS,
)
INPUT_SIZE = Metric(
    "gen_ai.client.inference.operation.input_tokens",
    "histogram",
    "",
    "How long are prompts?",
    (BY_MODEL,),
    TOKEN_BUCKETS,
)
OUTPUT_SIZE = Metric(
    "gen_ai.client.inference.operation.output_tokens",
    "histogram",
    "",
    "How long are answers?",
    (BY_MODEL,),
    TOKEN_BUCKETS,
)
ATTEMPT_COUNT = Metric("router.attempts", "counter", "", "How many attempts did requests need?", (BY_ASKED_MODEL,))
UPSTREAM_ERRORS = Metric(
    "router.upstream.errors", "counter", "", "Which model fails, and in what way?", (BY_ASKED_MODEL, BY_KIND)
)
USED_INPUT = Metric(
    "gen_ai.client.inference.usage.input_tokens", "counter", "", "How many prompt tokens were asked?", (BY_MODEL,)
)
USED_OUTPUT = Metric(
    "gen_ai.client.inference.usage.output_tokens", "counter", "", "How many tokens were generated?", (BY_MODEL,)
)
USED_CACHED = Metric(
    "gen_ai.client.inference.usage.cache_read.input_tokens",
    "counter",
    "",
    "How many prompt tokens were not computed again?",
    (BY_MODEL,),
)
USED_REASONING = Metric(
    "gen_ai.client.inference.usage.reasoning.output_tokens",
    "counter",
    "",
    "How many of the generated tokens were thought and not said?",
    (BY_MODEL,),
)
SPEND = Metric("router.spend", "counter", "microusd", "What did the answers cost?", (BY_ROUTE, BY_MODEL))
ANSWERS_JUDGED = Metric(
    "router.judgements",
    "counter",
    "",
    "How many answers were held back, and what became of them?",
    (BY_ROUTE, Label(names.JUDGEMENT, words.JUDGED)),
)
UNRETRIED = Metric(
    "router.retries.withheld", "counter", "", "How many failures were not followed by another attempt?", (BY_ROUTE,)
)
HEDGES = Metric(
    "router.hedges",
    "counter",
    "",
    "How often was another replica asked beside a silent one, and did it speak first?",
    (BY_ASKED_MODEL, Label(names.HEDGE_RESULT, words.HEDGE_RESULTS)),
)
HEDGE_SPEND = Metric(
    "router.hedge.spend", "counter", "microusd", "What of the spend went to those who lost a race?", (BY_ASKED_MODEL,)
)
ABANDONED_SPEND = Metric(
    "router.abandoned.spend",
    "counter",
    "microusd",
    "What of the spend went into answers that were given up?",
    (BY_ROUTE, BY_ASKED_MODEL),
)
RESERVED = Metric(
    "router.budget.requests",
    "counter",
    "",
    "How many requests did budgets have room for, and by whose word?",
    (Label(names.BUDGET_RESULT, words.BUDGET_RESULTS), Label(names.BUDGET_BY, words.BUDGET_SAID_BY)),
)
BUDGET_TAKEN = Metric(
    "router.budget.taken", "gauge", "percent", "How much of what everybody may spend is taken?", (BY_BUDGET,)
)
TURNED_AWAY = Metric(
    "router.budget.spent",
    "counter",
    "",
    "Which budget had too little left, and what followed?",
    (BY_BUDGET, Label(names.BUDGET_RESULT, words.BUDGET_RESULTS[1:])),
)
TRIED = Metric(
    "router.experiment.requests",
    "counter",
    "",
    "How many requests had which variant, and how did they end?",
    (BY_EXPERIMENT, BY_VARIANT, BY_OUTCOME),
)
TRIED_SPEND = Metric(
    "router.experiment.spend", "counter", "microusd", "What did each variant cost?", (BY_EXPERIMENT, BY_VARIANT)
)
TRIED_TTFT = Metric(
    "router.experiment.time_to_first_token",
    "histogram",
    "s",
    "How long from arrival to the first content, by variant?",
    (BY_EXPERIMENT, BY_VARIANT),
    TTFT_BUCKETS,
)
SHADOWED = Metric(
    "router.shadow.requests",
    "counter",
    "",
    "What became of the requests that a shadow drew?",
    (BY_SHADOW, Label(names.SHADOW_RESULT, RESULTS)),
)
SHADOW_SPEND = Metric("router.shadow.spend", "counter", "microusd", "What do comparisons cost?", (BY_SHADOW,))
SHADOW_DURATION = Metric(
    "router.shadow.duration",
    "histogram",
    "s",
    "How long does one call for comparison take?",
    (BY_SHADOW,),
    DURATION_BUCKETS,
)
DECISION_DURATION = Metric(
    "router.decision.duration", "histogram", "s", "What does deciding cost?", (), DECISION_BUCKETS
)
ESTIMATE_COUNT = Metric(
    "router.estimates",
    "counter",
    "",
    "How often does the classifier abstain?",
    (Label("router.estimate", words.ESTIMATES),),
)
RELOAD_COUNT = Metric(
    "router.policy.reloads",
    "counter",
    "",
    "Was a policy file taken or refused?",
    (Label("router.reload", words.RELOADS),),
)
POLICY_INFO = Metric("router.policy.info", "gauge", "", "Which policy is in force?", (Label(names.POLICY_HASH),))
LINE = Metric(
    "router.line", "gauge", "", "What may a bad answer cost, in charges of the target's reference model?", (BY_ROUTE,)
)
TARGET = Metric("router.target", "gauge", "percent", "What shall the mix of models come to?", (BY_ROUTE,))
REALISED = Metric(
    "router.target.realised", "gauge", "percent", "What did the last requests of a route come to?", (BY_ROUTE,)
)
PREFIX_PREDICTED = Metric(
    "router.prefix.predicted_tokens",
    "counter",
    "",
    "How many tokens did we expect to be reused, and where?",
    (BY_ASKED_MODEL, BY_REPLICA),
)
PREFIX_REUSED = Metric(
    "router.prefix.reused_tokens",
    "counter",
    "",
    "How many tokens were reused, of those attempts?",
    (BY_ASKED_MODEL, BY_REPLICA),
)
TELEMETRY_DROPPED = Metric(
    "router.telemetry.dropped", "counter", "", "What could not be delivered?", (Label("router.signal", words.SIGNALS),)
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
