"""Whose account of each budget a request is charged to. Names of accounts are digests: no key, tenant or user is kept."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple

from backends.messages import ChatRequest
from gateway.request.identity import Principal, presented_key
from gateway.request.reading.units import named_in
from policies.budgets.plan import Budget, Per

EVERYBODY = "all"


class Whose(NamedTuple):
    """The request's account of a budget, and the one that it is charged to where there are too many: its tenant's."""

    own: str
    tenants: str


def accounts_of(
    budgets: tuple[Budget, ...], request: ChatRequest, principal: Principal, headers: Mapping[str, str]
) -> Mapping[Per, Whose]:
    """By who has accounts. A user is who the client says; whoever says none shares one account with all of the tenant who say
    none. Without keys everybody has the same."""
    wanted = {budget.per for budget in budgets}
    tenants = digest(principal, "tenant")
    found: dict[Per, Whose] = {"all": Whose(EVERYBODY, EVERYBODY), "tenant": Whose(tenants, tenants)}
    if "api_key" in wanted:
        found["api_key"] = Whose(digest(principal, "api_key", presented_key(headers)), tenants)
    if "user" in wanted:
        found["user"] = Whose(digest(principal, "user", user_of(request)), tenants)
    return found


def user_of(request: ChatRequest) -> str:
    named = named_in(request)
    data = named.metadata
    return named.user or named.safety_identifier or (data.user_id if data is not None else None) or ""


def digest(principal: Principal, per: Per, word: str = "") -> str:
    """Tenants never share an account, nor do those that a gateway before us speaks for."""
    behind = principal.salt.hex() if principal.is_relayed else ""
    told = "\0".join((per, principal.tenant, behind, word)).encode("utf-8", "surrogatepass")
    return blake2b(told, digest_size=12, person=b"turnout-budget").hexdigest()
