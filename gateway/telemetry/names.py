"""Every span, attribute and metric name, once: with its unit, its closed label values and the question it answers.

`gen_ai.*` follows the OpenTelemetry GenAI conventions v0.1 (status: Development), `http.*`, `server.*` and `error.type`
the stable ones; `router.*` is ours, because no convention knows routes, decisions or prefix residency.
Ids go on spans, never on metrics.
"""

from typing import Literal, get_args

import msgspec

from backends.errors import Kind
from gateway.budgets.told import By, Result
from gateway.request.hedged import HedgeResult
from gateway.request.settlement import Judgement
from gateway.shadows.chapter import RESULTS

SCOPE = "turnout"
"""The instrumentation scope of all spans."""

# Spans: SERVER `{method} {route}`; INTERNAL ROUTE_SPAN; one CLIENT (INTERNAL in this process) `chat {model}` (or
# `embeddings {model}`) an attempt; INTERNAL ESCALATE_SPAN where an answer was given up; INTERNAL RESERVE_SPAN and SETTLE_SPAN
# where there are budgets.
ROUTE_SPAN = "route"
RESERVE_SPAN = "budget.reserve"
SETTLE_SPAN = "budget.settle"
ESCALATE_SPAN = "escalate"
CHAT = "chat"
EMBEDDINGS = "embeddings"
BARE_TEXT = "text_completion"
OPERATIONS = {"/v1/completions": BARE_TEXT, "/v1/embeddings": EMBEDDINGS}
"""By path; everything else that has attempts is a chat."""

# Of the HTTP request. Who asked for what, and what did they get?
HTTP_METHOD = "http.request.method"
HTTP_ROUTE = "http.route"
HTTP_STATUS = "http.response.status_code"
ERROR_TYPE = "error.type"
REQUEST_ID = "router.request.id"
TENANT = "router.tenant"
DIALECT = "router.dialect"
OUTCOME = "router.outcome"
END = "router.end"
ATTEMPTS = "router.attempts"
SPEND_MICROUSD = "router.spend_microusd"
TTFT_MS = "router.ttft_ms"
KEPT = "router.trace.kept"

# Of the decision. Why this model and this replica?
ROUTE_NAME = "router.route"
POLICY_HASH = "router.policy.hash"
REQUESTED_MODEL = "router.requested_model"
PROMPT_TOKENS = "router.prompt_tokens"
CANDIDATES = "router.candidates.count"
DROPPED = "router.dropped"
DIFFICULTY = "router.difficulty"
ABSTAINS = "router.difficulty.abstains"
ESTIMATE_US = "router.estimate_us"
STAGE = "router.difficulty.stage"
DECISION_US = "router.decision_us"
CHOSEN_MODEL = "router.chosen.model"
CHOSEN_REPLICA = "router.chosen.replica"
REJECT_CODE = "router.reject.code"
REASON = "router.reason"
ARTEFACT = "router.difficulty.artefact"
LINE_LOSS = "router.line.loss"
INSTEAD_OF = "router.explore.instead_of"
EXPLORE_PROPENSITY = "router.explore.propensity"
ESCALATED_TO = "router.conversation.escalated_to"
WAS_ON = "router.conversation.was_on"
STUCK_TURNS = "router.agent.stuck_turns"

# Of the experiments that it is part of: events FLAG_EVALUATION on the route's span. Who tried what?
FLAG_EVALUATION = "feature_flag.evaluation"
FLAG_KEY = "feature_flag.key"
FLAG_VARIANT = "feature_flag.result.variant"
FLAG_REASON = "feature_flag.result.reason"
FLAG_CONTEXT = "feature_flag.context.id"
FLAG_PROVIDER = "feature_flag.provider.name"
PROPENSITY = "router.experiment.propensity"
EXPERIMENT = "router.experiment"
VARIANT = "router.variant"

# Of a call for comparison, in a trace of its own that is linked to the request's. Who was asked the same?
SHADOW = "router.shadow"
SHADOW_RESULT = "router.shadow.result"
SHADOW_MICROUSD = "router.shadow.spend_microusd"

# Of an answer that was held back. Was it good enough, and what did it cost to give it up?
JUDGEMENT = "router.judgement"
P_CORRECT = "router.p_correct"
ABANDONED_MODEL = "router.abandoned.model"
ABANDONED_TOKENS = "router.abandoned.output_tokens"
ABANDONED_MICROUSD = "router.abandoned.spend_microusd"

# Of its budgets. Was there room for it, and what did it take?
BUDGET = "router.budget"
BUDGETS = "router.budget.names"
BUDGET_RESULT = "router.budget.result"
BUDGET_BY = "router.budget.by"
BUDGET_SPENT = "router.budget.spent"
RESERVED_MICROUSD = "router.budget.reserved_microusd"
RESERVED_TOKENS = "router.budget.reserved_tokens"
SPENT_TOKENS = "router.budget.tokens"

# Of one attempt. Who was asked, how long did it think, what did it compute, how did it end?
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
RESPONSE_MODEL = "gen_ai.response.model"
FIRST_CHUNK_S = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
ATTEMPT_NUMBER = "router.attempt"
REPLICA = "router.replica"
PREDICTED_TOKENS = "router.prefix.predicted_tokens"
RESEND_COUNT = "http.request.resend_count"
LINK_TYPE = "router.link.type"
HEDGE_RESULT = "router.hedge.result"
HEDGE_AFTER_S = "router.hedge.after_s"
RETRY_WITHHELD = "router.retry.withheld"

Outcome = Literal["ok", "cancelled", "cut", "error", "rejected"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)
"""ok: a whole answer; cancelled: the client left; cut: an error after content had left; rejected: nobody was asked."""

Kept = Literal["failed", "escalated", "hedged", "slow", "explored", "variant", "caller", "share"]
"""Why a trace was kept, the first reason there was: an error, or an attempt that failed; an answer given up; a race of two
replicas; late content; a drawn choice; of the first requests of a variant; its caller keeps it; the share of all others
has it."""

Link = Literal["retry", "fallback", "escalation", "beside", "hedge", "caller", "shadow"]
"""To the attempt before: the same model again; that one failed; its answer was given up; it goes on; it goes on in silence,
and this is its model elsewhere. Of the request: to who asked, where callers' traces are not continued."""

KINDS: tuple[str, ...] = get_args(Kind)
RELOADS = ("ok", "failed")
SIGNALS = ("span", "log", "decision")
ESTIMATES = ("answered", "abstained")

JUDGED: tuple[str, ...] = tuple(word for word in get_args(Judgement) if word)
"""kept: good enough; over_limit: sent though it was not; escalated: given up; turned_back: given up, and sent after all."""

BUDGET_RESULTS: tuple[str, ...] = get_args(Result)
"""reserved: there was room; downgraded: a lesser model answered; refused: nobody did."""

BUDGET_SAID_BY: tuple[str, ...] = get_args(By)
"""memory: this process, which is alone; store: what gateways share; local_share: this process, while that is away."""

HEDGE_RESULTS: tuple[str, ...] = get_args(HedgeResult)
"""cancelled: the first one spoke; won: the second did; failed: the second failed, and the first went on."""

EXEMPLAR = "trace_id"
"""The one label of an exemplar: a trace that was kept."""

NONE = "none"
"""The label of a route or model that there is not: nothing was decided, nobody answered."""

OTHER = "other"
"""The label that stands for every value outside the closed set."""

DURATION_BUCKETS = tuple(0.01 * 2**k for k in range(14))
TTFT_BUCKETS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
TPOT_BUCKETS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
TOKEN_BUCKETS = tuple(float(4**k) for k in range(14))
DECISION_BUCKETS = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 5e-2)


class Label(msgspec.Struct, frozen=True):
    """A metric's label: its closed set of `values`, or the models or routes that the policy in force names, or the first
    replicas that were asked."""

    name: str
    values: tuple[str, ...] = ()
    of_policy: Literal["", "routes", "models", "replicas", "experiments", "variants", "shadows", "budgets"] = ""


class Metric(msgspec.Struct, frozen=True, eq=False):
    """One metric by its OpenTelemetry name. `question` is what an operator asks it. Each is written once, so it is known by
    identity: to hash its labels and buckets takes longer than to count."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    unit: str
    question: str
    labels: tuple[Label, ...] = ()
    buckets: tuple[float, ...] = ()


BY_ROUTE = Label(ROUTE_NAME, of_policy="routes")
BY_MODEL = Label(RESPONSE_MODEL, of_policy="models")
BY_ASKED_MODEL = Label(REQUEST_MODEL, of_policy="models")
BY_REPLICA = Label(REPLICA, of_policy="replicas")
BY_OUTCOME = Label(OUTCOME, OUTCOMES)
BY_KIND = Label(ERROR_TYPE, KINDS)

BY_EXPERIMENT = Label(EXPERIMENT, of_policy="experiments")
BY_VARIANT = Label(VARIANT, of_policy="variants")
BY_SHADOW = Label(SHADOW, of_policy="shadows")
BY_BUDGET = Label(BUDGET, of_policy="budgets")

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
    (BY_ROUTE, Label(JUDGEMENT, JUDGED)),
)
UNRETRIED = Metric(
    "router.retries.withheld", "counter", "", "How many failures were not followed by another attempt?", (BY_ROUTE,)
)
HEDGES = Metric(
    "router.hedges",
    "counter",
    "",
    "How often was another replica asked beside a silent one, and did it speak first?",
    (BY_ASKED_MODEL, Label(HEDGE_RESULT, HEDGE_RESULTS)),
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
    (Label(BUDGET_RESULT, BUDGET_RESULTS), Label(BUDGET_BY, BUDGET_SAID_BY)),
)
BUDGET_TAKEN = Metric(
    "router.budget.taken", "gauge", "percent", "How much of what everybody may spend is taken?", (BY_BUDGET,)
)
TURNED_AWAY = Metric(
    "router.budget.spent",
    "counter",
    "",
    "Which budget had too little left, and what followed?",
    (BY_BUDGET, Label(BUDGET_RESULT, BUDGET_RESULTS[1:])),
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
    (BY_SHADOW, Label(SHADOW_RESULT, RESULTS)),
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
    "router.estimates", "counter", "", "How often does the classifier abstain?", (Label("router.estimate", ESTIMATES),)
)
RELOAD_COUNT = Metric(
    "router.policy.reloads",
    "counter",
    "",
    "Was a policy file taken or refused?",
    (Label("router.reload", RELOADS),),
)
POLICY_INFO = Metric("router.policy.info", "gauge", "", "Which policy is in force?", (Label(POLICY_HASH),))
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
    "router.telemetry.dropped", "counter", "", "What could not be delivered?", (Label("router.signal", SIGNALS),)
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


def prometheus_name(metric: Metric) -> str:
    """The name at /metrics, without the `_total` that a counter gets.

    >>> prometheus_name(TTFT), prometheus_name(SPEND)
    ('gen_ai_server_time_to_first_token_seconds', 'router_spend_microusd')
    """
    suffix = {"s": "_seconds", "": ""}.get(metric.unit, f"_{metric.unit}")
    return metric.name.replace(".", "_") + suffix


def prometheus_label(label: Label) -> str:
    return label.name.replace(".", "_")
