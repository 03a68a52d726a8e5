"""Part of wiring: the upstreams of shadows, on connections of their own. They count for nobody's load and learn no prefix."""

from weakref import WeakKeyDictionary

from backends.messages import ChatRequest
from backends.transport import Transport
from backends.upstream import Prepared, Upstream
from gateway.live.in_force import Live
from gateway.live.remote import remote_replica
from gateway.settings import read_secret
from policies.catalogue import Model
from policies.decision import Call
from policies.facts import Facts


class Reach:
    """`transport` is nobody else's."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._known: WeakKeyDictionary[Live, dict[tuple[str, str], Upstream]] = WeakKeyDictionary()

    def replicas(self, live: Live, model: str) -> list[str]:
        return [replica.name for replica in live.replicas.get(model, ())]

    def upstream(self, live: Live, call: Call) -> Upstream | None:
        """Who is to be asked; None where it is not there, or lacks its key. An engine of this process is nobody else's."""
        known = self._known.setdefault(live, {})
        group = live.replicas.get(call.model, ())
        replica = next((found for found in group if found.name == call.replica), None)
        if replica is None or replica.lacks:
            return None
        if replica.is_local:
            return replica.upstream
        key = call.model, call.replica
        if key not in known:
            known[key] = self._opened(live.policy.models[call.model], call.replica)
        return known[key]

    def _opened(self, model: Model, at: str) -> Upstream:
        """Nothing is connected until it is asked."""
        key = read_secret(model.key) if model.key is not None else None
        upstream = remote_replica(model, at, key, self._transport).upstream
        assert upstream is not None
        return upstream

    async def aclose(self) -> None:
        await self._transport.aclose()


def prepared(upstream: Upstream, model: Model, request: ChatRequest, facts: Facts, salt: bytes) -> Prepared:
    """The prompt as an engine of ours reads it; of others its length is enough. Raises UpstreamError."""
    if model.run is not None or model.worker:
        return upstream.prepare(request, salt)
    return Prepared(tokens=facts.tokens_for(model.name), exact=False, salt=salt)
