"""What gateways tell each other of experiments: each its own part of the evidence, whole, and how an experiment stands."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Protocol, TypeVar

import msgspec

from gateway.experiments.bench import Bench
from gateway.experiments.chapter import Chapter
from policies.experiments.plan import Experiment
from policies.experiments.standing import Standing
from policies.experiments.trial import Trial

Told = TypeVar("Told")


class Heard(Protocol):
    @property
    def parts(self) -> tuple[bytes, ...]: ...

    @property
    def standing(self) -> bytes | None: ...


class Shared(Protocol):
    async def tell(self, name: str, part: bytes, standing: bytes) -> None: ...

    async def hear(self, name: str) -> Heard | None: ...


class Exchange:
    """`shared` None: this gateway is alone."""

    def __init__(self, shared: Shared | None) -> None:
        self._shared = shared
        self._agreed: set[str] = set()

    def remember(self, kept: Mapping[str, Chapter]) -> None:
        """What was begun before this process goes on as its own file says, until others are heard."""
        self._agreed |= {name for name, chapter in kept.items() if chapter.has_begun}

    def begun(self, told: Mapping[str, Told], experiments: Iterable[Experiment]) -> Mapping[str, Told]:
        """Without rollouts of which other gateways may know better: none begins before they were heard, or its own file was."""
        waits = {found.name for found in experiments if found.steps and self._shared is not None} - self._agreed
        return {name: value for name, value in told.items() if name not in waits}

    async def with_others(self, bench: Bench) -> None:
        """That have the same experiments. Who never heard how one stands has nothing to say of that."""
        if self._shared is None:
            return
        for name, chapter in list(bench.chapters.items()):
            known_as = f"{name}:{chapter.print}"
            heard = await self._shared.hear(known_as)
            if heard is not None:
                standing = None if heard.standing is None else msgspec.json.decode(heard.standing, type=Standing)
                bench.hear(name, parts_of(heard), standing)
                self._agreed.add(name)
            own = bench.chapters[name]
            if heard is not None or name in self._agreed:
                await self._shared.tell(known_as, msgspec.json.encode(own.trial), msgspec.json.encode(own.standing))


def parts_of(heard: Heard) -> Iterator[Trial]:
    """The parts of other gateways; one that cannot be read here is left out."""
    for told in heard.parts:
        with suppress(msgspec.MsgspecError):
            yield msgspec.json.decode(told, type=Trial)
