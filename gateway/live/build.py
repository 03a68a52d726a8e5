"""Part of wiring: from the text of a policy file to what is in force. Reuses the replicas that did not change."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial

from backends.transport import FastTransport
from gateway.control.reload import PolicyRefused
from gateway.extras import needs
from gateway.live.classifier import Classifiers, PolicyReader
from gateway.live.in_force import Live
from gateway.live.remote import built_from, remote_replica
from gateway.live.replicas import Replica
from gateway.live.sharing import Sharing
from gateway.settings import BadSettings, Settings, read_secret
from gateway.shadows.libraries import refuse_missing
from policies.catalogue import Model, SecretRef
from policies.language.load import load_policy
from policies.policy import Policy

READY_WITHIN_S = 120.0
"""How long a changed policy may take to load its engines before it is given up."""


class LiveBuilder:
    """Owns what outlives one policy: the connections to remote replicas, and the classifiers."""

    def __init__(self, settings: Settings, classifiers: Classifiers | None = None) -> None:
        self._settings = settings
        self._transport = FastTransport()
        self._sharing: Sharing | None = None
        self._classifiers = classifiers or Classifiers(settings.artefact, settings.embedder)

    def shares_with(self, sharing: Sharing) -> None:
        """Replicas that are built from here on tell what they are given to do."""
        self._sharing = sharing

    def found(self, model: Model, at: str) -> Replica:
        """A replica that was found at an address."""
        return self._remote(model, at)

    def reading(self) -> AbstractContextManager[PolicyReader]:
        """Around `read` and `live` of one policy; nothing that was opened for a refused one stays open after it."""
        return self._classifiers.reading()

    def read(self, text: str, reader: PolicyReader) -> Policy:
        """Check a policy with its targets and tests; may take seconds. Raises PolicyRefused, BadSettings."""
        name = str(self._settings.policy)
        loaded = load_policy(text, name=name, calibrate=reader.calibrate, estimate=reader.estimate, weigh=reader.weigh)
        if loaded.policy is None:
            raise PolicyRefused("\n".join(problem.render() for problem in loaded.problems))
        refuse_missing(loaded.policy, self._settings.embedder)
        return loaded.policy

    def built(self, text: str, before: Live | None) -> Live:
        """Both. Raises PolicyRefused, BadSettings."""
        with self.reading() as reader:
            return self.live(self.read(text, reader), before, reader)

    def live(self, policy: Policy, before: Live | None, reader: PolicyReader) -> Live:
        """Raises BadSettings. A replica that gave up is made anew: whoever reads the policy again wants another try."""
        kept = {replica.built_from: replica for replica in before or () if not replica.failed}
        groups = self._groups(policy, before, kept)
        beside = {name: self._groups(arm, before, kept) for name, arm in policy.arms.items()}
        for part in (policy, *policy.arms.values()):
            if part.difficulty is not None:
                reader.estimator(
                    part.difficulty.artefact
                )  # whatever is refused is refused before a policy holds anything
        arms = {name: self._one(arm, beside[name], {}, reader) for name, arm in policy.arms.items()}
        return self._one(policy, groups, arms, reader)

    def _groups(
        self, policy: Policy, before: Live | None, kept: dict[object, Replica]
    ) -> Mapping[str, tuple[Replica, ...]]:
        """The replicas of each model; what is built is kept for who asks for the same."""
        if self._sharing is not None and self._sharing.registry is None:
            refuse_unshared(policy)
        return {
            name: tuple(kept.setdefault(fresh.built_from, fresh) for fresh in self._replicas(model, before))
            for name, model in policy.models.items()
        }

    def _one(
        self, policy: Policy, groups: Mapping[str, tuple[Replica, ...]], arms: Mapping[str, Live], reader: PolicyReader
    ) -> Live:
        if policy.difficulty is None:
            return Live(policy, groups, arms=arms)
        estimator = self._classifiers.hold_again(reader.estimator(policy.difficulty.artefact))
        return Live(policy, groups, estimator, partial(self._classifiers.let_go, estimator), arms)

    async def opened(self, text: str, before: Live | None) -> Live:
        """The same with every engine loaded. Raises PolicyRefused, BadSettings; then nothing new is left open."""
        fresh = await asyncio.to_thread(self.built, text, before)
        try:
            await fresh.open(READY_WITHIN_S)
        except Exception as error:
            await fresh.retire()
            raise PolicyRefused(f"a model of it does not open: {str(error) or type(error).__name__}") from error
        return fresh

    async def aclose(self) -> None:
        await self._classifiers.aclose()
        await self._transport.aclose()

    def _replicas(self, model: Model, before: Live | None) -> Iterator[Replica]:
        """Of a model whose replicas are found, those that were found before: a reload loses none."""
        if model.run is not None:
            yield self._engine(model)
        known = before.replicas.get(model.name, ()) if before is not None else ()
        for at in [replica.name for replica in known if replica.is_found] if model.found_by else model.at:
            yield self._remote(model, at)

    def _engine(self, model: Model) -> Replica:
        run = model.run
        assert run is not None
        with needs("engine", f"the model {model.name} runs in this process"):
            from backends.engine.open import open_engine
            from backends.engine.store import WeightsMissing, resolve
        try:
            path = resolve(run.weights, self._settings.cache_dir)
            draft = resolve(run.draft, self._settings.cache_dir) if run.draft else None
        except WeightsMissing as error:
            raise BadSettings(str(error)) from None
        calls_tools = "tools" in model.can
        built_from = (model.name, run, path, draft, model.fits.output, calls_tools)
        opening = partial(open_engine, run, path, draft=draft, output_tokens=model.fits.output, calls_tools=calls_tools)
        return Replica(model.name, model.replicas[0], built_from, open=opening, is_local=True)

    def _remote(self, model: Model, at: str) -> Replica:
        """Nothing is connected until the first request."""
        key = read_secret(model.key) if model.key is not None else None
        if model.key is not None and key is None:
            lacks, is_found = lack_of(model.key), bool(model.found_by)
            return Replica(model.name, at, built_from(model, at, key), lacks=lacks, is_found=is_found)
        try:
            replica = remote_replica(model, at, key, self._transport)
        except ValueError as error:
            raise BadSettings(f"the model {model.name}: {error}") from None
        if self._sharing is not None and self._sharing.work is not None:
            replica.tells = self._sharing.tells
        return replica


def refuse_unshared(policy: Policy) -> None:
    """Raises BadSettings where replicas are to announce themselves, and there is no place for it."""
    for model in policy.models.values():
        if model.found_by == "announced":
            raise BadSettings(
                f"replicas of the model {model.name} announce themselves in Redis: set TURNOUT_STATE to it"
            )


def lack_of(key: SecretRef) -> str:
    return f"the key {key.kind}:{key.name} is not set"
