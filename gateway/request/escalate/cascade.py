"""One request on a route that escalates: who is held back, what became of it, and what is learnt of the route."""

from collections.abc import Callable

from backends.dialects.openai_chat.heard import asking_logprobs
from backends.messages import ChatRequest, Event, Usage
from gateway.request.escalate.escalations import Escalations
from gateway.request.escalate.head_start import HeadStart
from gateway.request.escalate.hold import HeldBack
from gateway.request.escalate.listen import Listener, wanted_of
from gateway.request.escalate.second import SecondOpinion
from gateway.request.judge import Judged, past_of
from gateway.request.reading.conversation import Past
from gateway.request.settle import Books, spend_microusd
from policies.decision import Call, Hold
from policies.escalate.plan import Escalation
from policies.escalate.said import Said
from policies.escalate.signals import signals_of
from policies.escalate.verdict import Verdict, verdict
from policies.policy import Policy

WHOLE_TOKENS = 256
"""Of a whole answer that leaves in one piece, the tokens whose probabilities an engine here is asked for."""


class Cascade:
    """`plan` is the route's. `follower` listens to whoever took over from an answer that was given up."""

    def __init__(
        self,
        policy: Policy,
        request: ChatRequest,
        judged: Judged,
        escalations: Escalations,
        *,
        books: Books,
        plan: Escalation,
    ) -> None:
        self._policy = policy
        self._plan = plan
        self._request = request
        self._judged = judged
        self._escalations = escalations
        self._books = books
        self._route = judged.decision.route
        self._began_small = False
        self._first_words = ""
        self.follower: Listener | None = None
        self.kept: list[Event] = []
        escalations.asked(self._route, plan)

    def asking(self, call: Call) -> ChatRequest:
        """The request as a model that is held back is asked: with probabilities where its answer is judged by them."""
        if not self._asks_logprobs(call):
            return self._request
        tokens = self._plan.tokens
        return asking_logprobs(self._request, tokens if self._request.stream else max(tokens, WHOLE_TOKENS))

    def holding(
        self,
        call: Call,
        hold: Hold,
        release: Callable[[], None],
        second: SecondOpinion | None = None,
        head_start: HeadStart | None = None,
    ) -> HeldBack:
        """What keeps the answer of `call` back. `release` is called when it may leave."""
        self._began_small = True
        return HeldBack(
            plan=self._policy.escalations[hold.escalation],
            judge=lambda said, other: self._verdict(call, said, other),
            may_escalate=lambda: self._escalations.take(self._route),
            released=lambda found, spent: self._released(found, spent, release),
            in_pieces=self._request.stream,
            shows_all=self._request.sampling.logprobs or not self._asks_logprobs(call),
            second=second,
            head_start=head_start,
        )

    def starts_early(self) -> bool:
        """Whether the larger model may be asked before the verdict."""
        return self._plan.early_under > 0 and self._request.stream

    async def given_up(self, call: Call, held: HeldBack, usage: Usage | None) -> None:
        """`call` is abandoned for a larger model, which is listened to from here on."""
        assert held.verdict is not None
        self.kept = held.events
        self._first_words = held.listener.said().text
        self.follower = Listener()
        self._books.gave_up(call, held.verdict, usage, self._policy.models[call.model].price)
        if self._plan.moves == "conversation":
            await self._tell(Past(escalated_to=self._plan.to))

    async def answered(self, call: Call) -> None:
        """Somebody answered in full: what that says of the route's escalations."""
        plan, books = self._plan, self._books
        if not self._began_small:
            return
        if self.follower is not None:
            books.judgement = "escalated" if call.model == plan.to else "turned_back"
            if books.judgement == "turned_back":
                await self._tell(past_of(self._policy, self._judged))
            self._escalations.learnt(self._route, gained=call.model == plan.to and self._is_better(call))
        if books.usage is not None:
            alone = spend_microusd(self._policy.models[plan.to].price, books.usage)
            self._escalations.paid(self._route, spent=books.microusd, alone=alone)

    async def _tell(self, past: Past) -> None:
        """Told before the larger model says a word: the next turn may come as soon as the client has read the last one."""
        if self._judged.turn is not None:
            await self._judged.turn.tell(past)

    def _is_better(self, call: Call) -> bool:
        """Nothing is wrong with it that can be seen, and it does not begin as what was given up."""
        assert self.follower is not None
        said = self.follower.said()
        return not self._verdict(call, said).escalates and not (
            self._first_words and said.text.strip().startswith(self._first_words.strip())
        )

    def _asks_logprobs(self, call: Call) -> bool:
        plan = self._plan
        return "token_quantiles" in plan.signals and call.model in plan.logprobs_of

    def _verdict(self, call: Call, said: Said, other: Said | None = None) -> Verdict:
        p_good = self._judged.estimate.p_good.get(self._policy.models[call.model].head)
        signals = signals_of(said, wanted_of(self._request), other)
        return verdict(self._plan, call.model, signals, p_good, self._judged.facts.task)

    def _released(self, found: Verdict, spent: bool, release: Callable[[], None]) -> None:
        self._books.held_and_sent(found, over_limit=spent)
        release()


def cascade_of(
    policy: Policy, request: ChatRequest, judged: Judged, escalations: Escalations, books: Books
) -> Cascade | None:
    """Of one request; None on a route that does not escalate."""
    plan = plan_of(policy, judged)
    return None if plan is None else Cascade(policy, request, judged, escalations, books=books, plan=plan)


def plan_of(policy: Policy, judged: Judged) -> Escalation | None:
    """The escalation of the route that was taken."""
    if not policy.escalations:
        return None
    route = next((route for route in policy.routes if route.name == judged.decision.route), None)
    return policy.escalations.get(route.escalate) if route is not None else None
