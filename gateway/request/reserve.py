"""Between deciding and doing: what a request may come to is set aside in its budgets, or a lesser model answers, or nobody."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from backends.messages import ChatRequest, Usage
from backends.upstream import Prepared
from gateway.budgets.accounts import Whose, accounts_of
from gateway.budgets.ledger import Answer, Ask, Ledger, Ticket
from gateway.budgets.told import Budgeted
from gateway.live.in_force import Live
from gateway.live.replicas import Claim
from gateway.request.identity import Principal
from gateway.request.judge import Judged
from gateway.request.owner import Owner
from gateway.request.settle import Books
from policies.budgets.afford import Left, is_firm, of
from policies.budgets.need import Use, need
from policies.budgets.plan import Budget, Per
from policies.decide import decide
from policies.decision import Call, Decision
from policies.facts import Facts
from policies.policy import Policy


async def reserve(
    live: Live,
    request: ChatRequest,
    principal: Principal,
    headers: Mapping[str, str],
    judged: Judged,
    *,
    ledger: Ledger,
    owner: Owner,
    books: Books,
) -> Judged:
    """The same request within its budgets; the owner holds what was set aside for it.

    What an account has left is only believed less on the way, so this ends: each round but the last knows of one more budget
    that has too little.
    """
    policy, began_at = live.arm(judged.decision.assignments).policy, time.time_ns()
    whose = accounts_of(policy.budgets, request, principal, headers)
    left: Left = {}
    while isinstance(judged.decision.choice, Call):
        use = of(policy, judged.decision, judged.facts)
        with place_kept(live, judged, ledger):
            answer = await ledger.reserve(asks_of(policy, whose, judged.decision, judged.facts))
        if answer.ticket is not None:
            books.budgeted = told_of(policy, judged, answer, began_at)
            owner.holds(Reservation(ledger, answer.ticket, use, policy, judged.facts, books))
            break
        left = less(left, answer.left)
        judged = judged_with(live.policy, judged, left)
        books.budgeted = told_of(policy, judged, answer, began_at)
    return judged


async def foreseen(  # noqa: PLR0917  what a request is, and of whom
    live: Live,
    request: ChatRequest,
    principal: Principal,
    headers: Mapping[str, str],
    judged: Judged,
    ledger: Ledger,
) -> Judged:
    """The same request within its budgets as they stand, without taking anything of them."""
    policy = live.arm(judged.decision.assignments).policy
    if not policy.budgets or not isinstance(judged.decision.choice, Call):
        return judged
    whose = accounts_of(policy.budgets, request, principal, headers)
    left = await ledger.look(asks_of(policy, whose, judged.decision, judged.facts))
    return judged_with(live.policy, judged, left)


def asks_of(policy: Policy, whose: Mapping[Per, Whose], decision: Decision, facts: Facts) -> list[Ask]:
    use = of(policy, decision, facts)
    return [Ask(budget, whose[budget.per], use, is_firm(budget, decision)) for budget in policy.budgets]


@contextmanager
def place_kept(live: Live, judged: Judged, ledger: Ledger) -> Iterator[None]:
    """While others are waited for, the request counts where it will be asked: who is decided meanwhile sees it there."""
    call = judged.decision.choice
    if not ledger.waits or not isinstance(call, Call):
        yield
        return
    replica = live.arm(judged.decision.assignments).replica(call)
    prepared = judged.prepared.get(call.model) or Prepared(tokens=judged.facts.prompt_tokens, exact=False)
    claim = Claim(replica, prepared.tokens, judged.resident_tokens(call) or 0, prepared.blocks)
    try:
        yield
    finally:
        claim.release()


def less(left: Left, told: Left) -> Left:
    """Of each account the least that it was said to have."""
    return {**left, **{name: least(left.get(name, amount), amount) for name, amount in told.items()}}


def least(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else min(one, other)


def judged_with(policy: Policy, judged: Judged, left: Left) -> Judged:
    """Decided again, now that it is known what is left."""
    snapshot = msgspec.structs.replace(judged.snapshot, budgets=left)
    began = time.perf_counter_ns()
    decision = decide(policy, judged.facts, judged.estimate, snapshot)
    took_us = judged.took_us + (time.perf_counter_ns() - began) // 1_000
    return msgspec.structs.replace(judged, decision=decision, snapshot=snapshot, took_us=took_us)


def told_of(policy: Policy, judged: Judged, answer: Answer, began_at: int) -> Budgeted:
    decision, refused = judged.decision, not isinstance(judged.decision.choice, Call)
    use = of(policy, decision, judged.facts)
    return Budgeted(
        budgets=tuple([budget.name for budget in policy.budgets]),
        result="refused" if refused else "downgraded" if decision.over_budget else "reserved",
        by=answer.by,
        spent=decision.over_budget,
        reserved_microusd=use.microusd,
        reserved_tokens=use.tokens,
        taken={
            budget.name: taken_of(budget, answer.left[budget.name]) for budget in policy.budgets if budget.per == "all"
        },
        began_at=began_at,
        ended_at=time.time_ns(),
    )


def taken_of(budget: Budget, left: int | None) -> float:
    """The share of a budget that is taken, as far as it is known."""
    return 1.0 if left is None else 1 - left / budget.at_once


class Reservation:
    """What one request has set aside. Its owner says when it goes on to others, and once, when it is over."""

    __slots__ = ("_beside", "_books", "_facts", "_ledger", "_policy", "_reserved", "_ticket")

    def __init__(  # noqa: PLR0917  one request
        self, ledger: Ledger, ticket: Ticket, reserved: Use, policy: Policy, facts: Facts, books: Books
    ) -> None:
        self._ledger = ledger
        self._ticket = ticket
        self._policy = policy
        self._facts = facts
        self._books = books
        self._reserved = reserved
        self._beside = Use()

    def covers(self, call: Call) -> None:
        """`call` is asked, and whoever was asked before it came to what the books say. What that is more than was set aside
        is set aside as well."""
        use = need(self._policy.models[call.model], self._facts)
        self._grow(spent_by(self._books).plus(self._beside).plus(use).beyond(self._reserved))

    def covers_beside(self, call: Call) -> None:
        """`call` is asked beside others."""
        use = need(self._policy.models[call.model], self._facts)
        self._beside = self._beside.plus(use)
        self._grow(use)

    def _grow(self, more: Use) -> None:
        if any(more):
            self._reserved = self._reserved.plus(more)
            self._ledger.grow(self._ticket, more)

    def settle(self) -> None:
        spent = spent_by(self._books)
        self._ledger.settle(self._ticket, spent)
        told = self._books.budgeted
        if told is not None:
            self._books.budgeted = msgspec.structs.replace(
                told, microusd=spent.microusd, tokens=spent.tokens, settled_at=time.time_ns()
            )


def spent_by(books: Books) -> Use:
    """All calls of the request together."""
    raced = books.hedged.usage if books.hedged is not None else None
    usages: tuple[Usage | None, ...] = (books.usage, books.abandoned, books.beside_usage, raced)
    tokens = sum([usage.prompt_tokens + usage.completion_tokens for usage in usages if usage is not None])
    return Use(tokens, books.microusd)
