"""From the file's values to what deciding uses: the sections put together."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import msgspec

from policies.catalogue import Model
from policies.escalate.plan import Escalation
from policies.escalate.prior import PRIOR
from policies.language.meanings.budgets import compile_budgets
from policies.language.meanings.conditions import headers_of
from policies.language.meanings.resilience import compile_resilience
from policies.language.meanings.routes import compile_route, routes_of
from policies.language.meanings.shadows import compile_shadows, shadow_headers
from policies.language.schema import PolicyFile
from policies.policy import Affinity, Choose, Difficulty, Policy


def text_hash(text: str) -> str:
    """16 hex digits that stand for this text.

    >>> text_hash("policy: 1")
    '4d4070c356bbdc42'
    """
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def policy_hash(digest: str, escalations: Iterable[Escalation]) -> str:
    """The text's own `digest` where no weights are fitted: other weights under the same name are another policy."""
    fitted = [plan.weights for plan in escalations if plan.weights != {"": PRIOR}]
    return text_hash(digest + msgspec.json.encode(fitted, order="deterministic").decode()) if fitted else digest


def compile_policy(
    file: PolicyFile,
    models: Mapping[str, Model],
    choices: Sequence[Choose | None],
    *,
    escalations: Mapping[str, Escalation],
    name: str,
    digest: str,
) -> Policy:
    """The policy. `choices` are the solved choices, one for each route."""
    routes = tuple(compile_route(file, i, choice) for i, choice in enumerate(choices))
    difficulty = Difficulty(file.difficulty.artefact, file.difficulty.within)
    return Policy(
        hash=digest,
        name=name,
        models=models,
        routes=routes,
        headers_read=headers_read(file),
        difficulty=difficulty if any(choices) else None,
        resilience=compile_resilience(file.resilience),
        affinity=Affinity(file.affinity.max_imbalance, file.affinity.spill_after, file.affinity.spread_after),
        may_move=file.conversations.may_move,
        stay_with=file.conversations.stay_with,
        remember_s=file.conversations.for_,
        id_from=tuple(file.conversations.id_from),
        escalations=escalations,
        shadows=compile_shadows(file.shadows, routes_of(file)),
        budgets=compile_budgets(file.budgets),
    )


def headers_read(file: PolicyFile) -> frozenset[str]:
    of_routes = [header for route in file.routes for header in headers_of(route.when)]
    return frozenset([*of_routes, *shadow_headers(file.shadows)])
