"""Traffic on a route that escalates: who answers is drawn, what that is charged is known to the last token, and the books
are closed some requests later."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from deciding_world import LARGE
from steered_traffic import IDLE, Request, solved_for

from policies.catalogue import Price
from policies.decide import decide
from policies.decision import Call
from policies.policy import Choose, Policy, Target
from policies.steering.helm import Helm, turn
from policies.steering.sight import Decided, bill, sights
from policies.steering.steer import EVERY
from policies.steering.window import Bill

HELD_TOKENS = 48


@dataclass(frozen=True)
class Judge:
    """Wrong answers of the small model are seen with the chance `catches`, right ones taken for wrong with `errs`. The less the
    small model knows, the longer answers are: up to `stretch` times."""

    catches: float = 0.8
    errs: float = 0.05
    stretch: float = 1.0


@dataclass(frozen=True)
class Paid:
    """What one request was charged, and what large alone would have been, in micro-dollars."""

    spent: float
    alone: float


def charged(price: Price, prompt: int, output: int) -> float:
    return (prompt * price.input + output * price.output) / 1_000_000


class EscalatingGateway:
    """One process. `lag` is how many requests later a request is settled; `billed`: whether its line knows of escalations, and
    is told of bills."""

    def __init__(
        self,
        target: Target,
        judge: Judge,
        *,
        lag: int = 40,
        billed: bool = True,
        seed: int = 0,
        rules: Policy | None = None,
    ) -> None:
        self.policy: Policy = rules or solved_for(target)
        self._small = self.policy.models["small"].price
        self.paid: list[Paid] = []
        self.helm = Helm()
        self._judge, self._lag, self._billed = judge, lag, billed
        self._random = Random(seed)
        self._waiting: list[Decided] = []
        self._open: deque[tuple[Decided, Paid]] = deque()
        self._bills: list[Bill] = []

    @property
    def choose(self) -> Choose:
        found = self.policy.routes[0].choose
        assert found is not None
        return found

    def serve(self, traffic: Iterable[Request]) -> Sequence[Paid]:
        """What these requests came to."""
        before = len(self.paid)
        for facts, estimate in traffic:
            decided = Decided(facts, estimate, decide(self.policy, facts, estimate, IDLE))
            self.paid.append(self._answer(decided))
            self._waiting.append(decided)
            self._open.append((decided, self.paid[-1]))
            if len(self._open) > self._lag:
                self._settle(*self._open.popleft())
            if len(self._waiting) >= EVERY:
                self._redraw()
        return self.paid[before:]

    def _answer(self, seen: Decided) -> Paid:
        choice = seen.decision.choice
        assert isinstance(choice, Call)
        prompt = seen.facts.prompt_tokens
        length = 1 + (self._judge.stretch - 1) * (1 - seen.estimate.p_good["small"])
        output = round(length * self._random.lognormvariate(5.4, 0.6))
        alone = charged(LARGE.price, prompt, output)
        if choice.model == "large":
            return Paid(alone, alone)
        is_right = self._random.random() < seen.estimate.p_good["small"]
        given_up = self._random.random() < (self._judge.errs if is_right else self._judge.catches)
        if not given_up:
            return Paid(charged(self._small, prompt, output), alone)
        return Paid(charged(self._small, prompt, HELD_TOKENS) + alone, alone)

    def _settle(self, seen: Decided, paid: Paid) -> None:
        found = bill(self.policy, self.policy.routes[0], self.choose, seen, spent=paid.spent, base=paid.alone)
        if found is not None and self._billed:
            self._bills.append(found)

    def _redraw(self) -> None:
        fresh = sights(self.policy, self.policy.routes[0], self.choose, self._waiting, self._bills)
        at_most = 1.0 if self._billed and self._judge.catches else 0.0
        self.helm, line = turn(
            self.helm, self.choose, fresh, now=0.0, remember_s=self.policy.remember_s, at_most=at_most
        )
        self._waiting, self._bills = [], []
        self.policy = self.policy.redrawn({"default": line})


def real_share(paid: Sequence[Paid]) -> float:
    """Percent of what large alone would have charged."""
    return 100 * sum(one.spent for one in paid) / sum(one.alone for one in paid)
