"""A gateway in front of an engine in this process, with a stand-in for the model."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from engine.stub_models import StubVocabulary
from servers.running_gateway import QUIET, RunningGateway, serving

from backends.engine.api import LanguageModel
from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.grammar.compile import Grammars
from backends.engine.loop import Engine
from backends.engine.thread.courier import Courier
from backends.engine.thread.restart import Restart
from backends.engine.upstream.local import LocalUpstream
from gateway.control.reload import PolicyRefused, Reloader
from gateway.control.upkeep import Upkeep
from gateway.house import Gateway
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.door import Door
from gateway.request.identity import Identity, KeyEntry
from gateway.request.snapshot import World
from gateway.settings import Settings
from gateway.state.memory import MemoryResidency
from gateway.telemetry.unseen import NullObserver
from gateway.wiring import Built
from policies.catalogue import Fits, Model, Run
from policies.facts import Ability
from policies.policy import Policy, Route

WINDOW = 512


def engine_of(build: Callable[[], Batch], vocabulary: StubVocabulary, **options: Any) -> LocalUpstream:
    """An upstream around what `build` makes on the engine's thread; `restart` and `max_jobs` are the engine's."""
    courier = Courier()
    restart, max_jobs = options.pop("restart", Restart()), options.pop("max_jobs", 512)
    options.setdefault("window", WINDOW)
    engine = Engine(build, max_jobs=max_jobs, step_ended=courier.step_ended, restart=restart, name="engine under test")
    return LocalUpstream(engine, courier, vocabulary, revision="r", **options)


async def refuses(text: str, before: Live | None) -> Live:
    raise PolicyRefused("this policy was not read from a file")


@asynccontextmanager
async def in_process_gateway(
    model: LanguageModel,
    vocabulary: StubVocabulary,
    folder: Path,
    grammars: Grammars | None = None,
    keys: Sequence[KeyEntry] = (),
    *,
    port: int = 0,
    window: int = WINDOW,
) -> AsyncIterator[tuple[RunningGateway, LocalUpstream]]:
    """One model `m`, an engine around `model`, that is ready. It can answer in JSON when it has `grammars`."""
    batch = lambda: Batch(model, vocabulary, revision="r", budget=Budget(), clock=time.perf_counter)  # noqa: E731
    upstream = engine_of(batch, vocabulary, grammars=grammars, window=window)
    can: frozenset[Ability] = frozenset({"json_schema", "logprobs"} if grammars else {"logprobs"})
    async with gateway_around(upstream, folder, can=can, keys=keys, port=port, window=window) as running:
        await running.until(lambda _: upstream.load().ready)
        yield running, upstream


@asynccontextmanager
async def gateway_around(
    upstream: LocalUpstream,
    folder: Path,
    *,
    can: frozenset[Ability] = frozenset({"logprobs"}),
    keys: Sequence[KeyEntry] = (),
    port: int = 0,
    window: int = WINDOW,
) -> AsyncIterator[RunningGateway]:
    """A gateway of one model `m`, which is `upstream`."""
    entry = Model(name="m", run=Run(weights="none"), fits=Fits(context=window), can=can)
    policy = Policy(hash="0" * 16, name="test", models={"m": entry}, routes=(Route(name="default", use="m"),))
    replica = Replica("m", entry.replicas[0], "m", lambda: upstream, is_local=True)
    file = folder / "policy.yaml"
    file.write_text("")
    settings = Settings(policy=file, port=port, telemetry=QUIET)
    world = World(residency=MemoryResidency(10, time.monotonic), now=time.time)
    gateway = Gateway(
        settings=settings,
        live=Live(policy, {"m": (replica,)}),
        identity=Identity(keys),
        door=Door(512),
        world=world,
        observer=NullObserver(),
    )
    reloader = Reloader(gateway, file, refuses, "")
    async with serving(Built(gateway, Upkeep(gateway, reloader, {}, ()), reloader), settings) as running:
        await running.until(lambda _: replica.upstream is not None)
        yield running
