"""Traffic whose difficulty can be shifted, decided by a policy whose line follows it, or does not."""

from collections.abc import Iterable, Iterator, Sequence
from random import Random

from deciding_world import LARGE, SMALL, choose, policy

from policies.catalogue import Model
from policies.decide import decide
from policies.decision import Decision
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Choose, Line, Policy, Route, Target
from policies.snapshot import Snapshot
from policies.steering.helm import Helm, turn
from policies.steering.sight import Decided, sight, sights
from policies.steering.steer import EVERY
from policies.steering.window import Sighting
from policies.targets import Rung, Solved, solve

IDLE = Snapshot(replicas={})
Request = tuple[Facts, Estimate]


def requests(seed: int, count: int, *, harder: float = 0.0, tenant: str = "default") -> Iterator[Request]:
    """Prompts of which small answers most: `harder` moves its chances down, below 0 up. Lengths as in chat, skewed."""
    random = Random(seed)
    for _ in range(count):
        large = 0.6 + 0.4 * random.random()
        small = min(large, max(0.02, large - 0.45 * random.random() ** (2 - harder)))
        yield (
            Facts(prompt_tokens=round(random.lognormvariate(6.5, 0.6)), tenant=tenant),
            Estimate(p_good={"small": small, "large": large}),
        )


def solved_for(
    target: Target, adapts: bool = True, floor: Target | None = None, *, small: Model = SMALL, solved_at: float = 0.0
) -> Policy:
    """Small and large with a target, solved on traffic that has not shifted, or is by so much harder."""
    sample = [estimate.p_good for _, estimate in requests(99, 2_000, harder=solved_at)]
    ladder = choose(small, LARGE)
    rungs = [Rung(name, ladder.relative_cost[name], [p[name] for p in sample]) for name in ladder.among]
    solved = solve(target, rungs)
    assert isinstance(solved, Solved)
    chosen = Choose(
        among=ladder.among,
        target=target,
        when_unsure="large",
        prices=ladder.prices,
        relative_cost=ladder.relative_cost,
        loss_per_reference=solved.loss,
        expected=solved.expected,
        adapts=adapts,
        floor=floor,
    )
    return policy(small, LARGE, routes=[Route(name="default", choose=chosen)])


class Gateway:
    """One process: decides, and redraws its line after every `EVERY` requests."""

    def __init__(self, rules: Policy) -> None:
        self.policy = rules
        self.lines: list[Line] = []
        self.decisions: list[Decision] = []
        self.sightings: list[Sighting] = []
        self.helm = Helm()
        self._waiting: list[Decided] = []

    @property
    def choose(self) -> Choose:
        found = self.policy.routes[0].choose
        assert found is not None
        return found

    def serve(self, traffic: Iterable[Request], now: float = 0.0) -> Sequence[Sighting]:
        """What these requests came to."""
        before = len(self.sightings)
        for facts, estimate in traffic:
            decision = decide(self.policy, facts, estimate, IDLE)
            self.decisions.append(decision)
            decided = Decided(facts, estimate, decision)
            self._waiting.append(decided)
            one = sight(self.policy, self.policy.routes[0], self.choose, decided, self.choose.target)
            if one is not None:
                self.sightings.append(one)
            if len(self._waiting) >= EVERY and self.choose.adapts:
                self._redraw(now)
        return self.sightings[before:]

    def _redraw(self, now: float) -> None:
        fresh = sights(self.policy, self.policy.routes[0], self.choose, self._waiting)
        self.helm, line = turn(self.helm, self.choose, fresh, now=now, remember_s=self.policy.remember_s)
        self._waiting = []
        self.lines.append(line)
        self.policy = self.policy.redrawn({"default": line})


def share(sightings: Sequence[Sighting]) -> float:
    """Percent of the reference."""
    return 100 * sum(one.spent for one in sightings) / sum(one.base for one in sightings)
