"""Every span and attribute name, once. Metrics have theirs in `instruments.py`, labels their values in `words.py`.

`gen_ai.*` follows the OpenTelemetry GenAI conventions v0.1 (status: Development), `http.*`, `server.*` and `error.type`
the stable ones; `router.*` is ours, because no convention knows routes, decisions or prefix residency.
Ids go on spans, never on metrics.
"""

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
LANGUAGE = "router.language"
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
WEIGHED_AS = "router.weighed_as"
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
LEFT_OUT = "router.left_out"
