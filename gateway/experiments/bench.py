"""Where outcomes become evidence. Owned by one thread at a time; requests never come here."""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import msgspec

from gateway.experiments import chapter as chapters
from gateway.experiments.chapter import Chapter
from gateway.experiments.orders import ordered
from gateway.experiments.shelf import Order
from policies.experiments import rollout
from policies.experiments import trial as trials
from policies.experiments.assign import draw
from policies.experiments.enrol import Ramps
from policies.experiments.evidence import Value
from policies.experiments.plan import REST, Experiment
from policies.experiments.standing import Standing
from policies.experiments.trial import Exposure, Trial

REMEMBERED = 50_000
"""Requests that a caller may still judge; the oldest are forgotten first. Some 30 MB when full."""

SEEN_BYTES = 1 << 20
"""Of each experiment: which units were seen, a bit for each of eight million slots. A unit whose slot is taken counts as seen,
which hangs on no variant: so nobody is new twice, and only after millions of units are some of them never new."""

AGAIN_WITHIN_S = 600.0
"""How long a request may be asked again (`gateway.decisions.signals`); after that it was not."""


class Over(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is over: its exposures, and its outcomes by source. `without_unit` names experiments that it would
    have been part of, had it said of which unit it is. `waits`: whether it is asked again will be told."""

    at: float
    tenant: str
    request_id: str
    exposures: tuple[Exposure, ...]
    values: Mapping[str, Value]
    without_unit: tuple[str, ...] = ()
    waits: bool = False


class Told(msgspec.Struct, frozen=True):
    """What was told later of a request of this tenant."""

    tenant: str
    request_id: str
    values: Mapping[str, Value]


class Pair(msgspec.Struct, frozen=True):
    """What a request came to, and what it would have with a rollout's change, by source; drawn in this round of the rollout."""

    experiment: str
    round: int
    change: Mapping[str, float]
    control: Mapping[str, float]


class Shadowed(msgspec.Struct, frozen=True):
    """A rollout whose change is asked as well, for this share of its requests."""

    share: float
    round: int


class Recent(msgspec.Struct, frozen=True):
    """A request of which something may still be told: its exposures, and the sources that were told of already."""

    exposures: tuple[Exposure, ...]
    told: frozenset[str] = frozenset()


Key = tuple[str, str]
"""A tenant, and a request of its."""


Event = Over | Told | Pair


class Bench:
    """`chapters` are those of the experiments of the policy in force. `most` requests may still be judged, and so many bytes
    say which units of an experiment were seen."""

    def __init__(self, most: int = REMEMBERED, seen_bytes: int = SEEN_BYTES) -> None:
        self.chapters: dict[str, Chapter] = {}
        self._most, self._seen_bytes = most, seen_bytes
        self._recent: OrderedDict[Key, Recent] = OrderedDict()
        self._awaited: deque[tuple[float, Key]] = deque()
        self._units: dict[str, bytearray] = {}

    def load(self, experiments: Sequence[Experiment], kept: Mapping[str, Chapter], now: float) -> None:
        """These are the experiments from here on. `kept` is what is known from before this process."""
        known = {**kept, **self.chapters}
        self.chapters = {found.name: chapters.carried(known.get(found.name), found, now) for found in experiments}

    def take(self, events: Iterable[Event], now: float) -> None:
        """All evidence moves on."""
        for event in events:
            if isinstance(event, Over):
                self._over(event)
            elif isinstance(event, Told):
                self._told(event)
            else:
                self._pair(event)
        self._wait_over(now)
        self.guard(now)

    def judge(self, now: float) -> None:
        """What the evidence makes of each experiment."""
        self.chapters = {name: chapters.judged(chapter, now) for name, chapter in self.chapters.items()}

    def guard(self, now: float) -> None:
        """Guardrails that are broken act at once; the rest of the verdict can wait for `judge`."""
        broken = [name for name, chapter in self.chapters.items() if chapter.is_broken]
        self.chapters |= {name: chapters.judged(self.chapters[name], now) for name in broken}

    def hear(self, name: str, parts: Iterable[Trial], standing: Standing | None) -> None:
        """What other gateways know of an experiment; of two ways that it may stand the later one holds."""
        chapter = self.chapters.get(name)
        if chapter is None:
            return
        if standing is not None and chapters.holds(standing, chapter):
            chapter = self._stand(chapter, standing)
        others = [part for part in parts if part.round == chapter.trial.round]
        known = reduce(trials.merged, others) if others else None
        self.chapters[name] = msgspec.structs.replace(chapter, others=known)

    def obey(self, name: str, order: Order) -> None:
        chapter = self.chapters.get(name)
        if chapter is None:
            return
        self.chapters[name] = self._stand(chapter, ordered(chapter, order))

    def _stand(self, chapter: Chapter, standing: Standing) -> Chapter:
        if standing.round != chapter.trial.round:
            self._units.pop(chapter.experiment.name, None)
        return chapters.standing_so(chapter, standing)

    @property
    def forced(self) -> Mapping[str, str]:
        """Of experiments that are over the variant that everybody gets."""
        standing = {name: chapter.standing.forced for name, chapter in self.chapters.items()}
        return {name: variant for name, variant in standing.items() if variant}

    @property
    def ramps(self) -> Ramps:
        """Of experiments whose weights were changed while they ran those that followed the file's."""
        return {name: chapter.standing.ramp for name, chapter in self.chapters.items() if chapter.standing.ramp}

    @property
    def shadowed(self) -> Mapping[str, Shadowed]:
        """Rollouts that nobody has yet, and that are compared by their shadows."""
        asked = {
            name: rollout.shadowed(chapter.standing, chapter.experiment)
            for name, chapter in self.chapters.items()
            if chapter.experiment.steps
        }
        return {name: Shadowed(share, self.chapters[name].trial.round) for name, share in asked.items() if share}

    def _pair(self, event: Pair) -> None:
        """What comes after its step, or of another round, is nobody's any more."""
        chapter, asked = self.chapters.get(event.experiment), self.shadowed.get(event.experiment)
        if chapter is not None and asked is not None and asked.round == event.round:
            grown = trials.compared(chapter.trial, chapter.experiment, event.change, event.control)
            self.chapters[event.experiment] = msgspec.structs.replace(chapter, trial=grown)

    def _over(self, event: Over) -> None:
        for name in event.without_unit:
            if (chapter := self.chapters.get(name)) is not None:
                self.chapters[name] = msgspec.structs.replace(chapter, without_unit=chapter.without_unit + 1)
        exposures = tuple([self._expose(exposure, event.at) for exposure in event.exposures])
        self._measure(exposures, event.values)
        self._remember(msgspec.structs.replace(event, exposures=exposures))

    def _expose(self, exposure: Exposure, at: float) -> Exposure:
        """It is counted; and now it is known whether its unit was seen before."""
        chapter = self.chapters.get(exposure.experiment)
        if chapter is None:
            return exposure
        fresh = chapter.experiment.unit == "request" or self._is_fresh(exposure)
        seen = trials.exposed(chapter.trial, exposure, fresh=fresh)
        self.chapters[exposure.experiment] = msgspec.structs.replace(chapter, trial=seen, seen_at=at)
        return msgspec.structs.replace(exposure, first=fresh)

    def _is_fresh(self, exposure: Exposure) -> bool:
        known = self._units.setdefault(exposure.experiment, bytearray(self._seen_bytes))
        place, bit = divmod(int(draw("seen", exposure.unit) * 8 * self._seen_bytes), 8)
        fresh = not known[place] >> bit & 1
        known[place] |= 1 << bit
        return fresh

    def _measure(self, exposures: Iterable[Exposure], values: Mapping[str, Value]) -> None:
        for exposure in exposures:
            chapter = self.chapters.get(exposure.experiment)
            if chapter is not None and values:
                grown = trials.measured(chapter.trial, chapter.experiment, exposure, values)
                self.chapters[exposure.experiment] = msgspec.structs.replace(chapter, trial=grown)

    def _remember(self, event: Over) -> None:
        """Who was not drawn would crowd out those who were."""
        drawn = tuple([exposure for exposure in event.exposures if exposure.variant != REST])
        if not drawn:
            return
        key = event.tenant, event.request_id
        self._recent[key] = Recent(drawn)
        if event.waits:
            self._awaited.append((event.at + AGAIN_WITHIN_S, key))
        if len(self._recent) > self._most:
            self._recent.popitem(last=False)

    def _told(self, event: Told) -> None:
        """The first word counts. Of a request that is forgotten, or never was, nothing does."""
        self._hear((event.tenant, event.request_id), event.values)

    def _hear(self, key: Key, values: Mapping[str, Value]) -> None:
        known = self._recent.get(key)
        if known is None:
            return
        fresh = {source: value for source, value in values.items() if source not in known.told}
        self._recent[key] = Recent(known.exposures, known.told | fresh.keys())
        self._measure(known.exposures, fresh)

    def _wait_over(self, now: float) -> None:
        """Who was not asked again in time was not."""
        while self._awaited and self._awaited[0][0] <= now:
            _, key = self._awaited.popleft()
            self._hear(key, {"regenerated": 0.0})
