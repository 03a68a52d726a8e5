"""A chat in any dialect: the straight line from bytes to bytes, one verb after another."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from backends.dialects.dialect import Dialect
from backends.dialects.faults import RequestFault
from backends.messages import ChatRequest
from gateway.decisions.asked import Asked
from gateway.errors import BadRequest, Draining, Internal, Left, RouterError
from gateway.house import Gateway
from gateway.live.in_force import Live
from gateway.request.affinity import Affinity
from gateway.request.bounds import refuse_many
from gateway.request.client import Asker, client_of
from gateway.request.drive import drive
from gateway.request.egress import Egress, StreamEgress
from gateway.request.escalate.cascade import cascade_of
from gateway.request.identity import Principal
from gateway.request.ingress import Receive, Scope, Send, read_body, refuse_deep, refuse_early, too_large
from gateway.request.job import Job
from gateway.request.judge import Judged, judge, past_of
from gateway.request.owner import Owner
from gateway.request.reading.carried import behind_others, with_head
from gateway.request.reading.conversation import Past
from gateway.request.reply import answer_error
from gateway.request.reserve import reserve
from gateway.request.settle import Books
from gateway.request.told import told
from gateway.request.whole_egress import WholeEgress
from gateway.settings import Limits
from gateway.shadows.capture import joined
from gateway.shadows.errand import Drawn
from gateway.telemetry.observe import Observation
from policies.experiments.plan import Experiment

METHOD = "POST"
"""Of all that is asked here."""


class Visit(msgspec.Struct):
    """One HTTP request at the door, with its observation and its books; `judged` from its decision on. `asked` is what the
    log of decisions wants of it, where one is kept; `drawn` what shadows want; `experiments` are those of the policy that
    decided."""

    client: Asker
    headers: Mapping[str, str]
    observation: Observation
    books: Books
    judged: Judged | None = None
    asked: Asked | None = None
    drawn: Drawn | None = None
    experiments: tuple[Experiment, ...] = ()


class ChatEndpoint:
    """Whatever happens inside, the client gets one answer and the request is settled once. It is an ASGI application, too."""

    def __init__(self, gateway: Gateway, dialect: Dialect) -> None:
        self._gateway = gateway
        self._dialect = dialect
        self._limits = gateway.limits
        self._shows_candidates = gateway.settings.debug_headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.attend(client_of(scope))

    async def attend(self, client: Asker) -> None:
        gateway, limits, head = self._gateway, self._limits, client.head
        observation = gateway.observer.begin(head.headers, METHOD, self._dialect.path)
        books = Books(observation.request_id, self._dialect.name, shows_candidates=self._shows_candidates)
        visit = Visit(client, head.headers, observation, books)
        try:
            refuse_early(head, limits)
            principal = gateway.identity.holder(head)
            books.tenant = principal.tenant
            gateway.door.enter()
            try:
                await self._answer(visit, client.whole_body or await read_body(client.receive, limits), principal)
            finally:
                gateway.door.leave()
        except Left:
            books.client_left(begun=client.begun)
        except RouterError as error:
            await self._refuse(visit, error)
        except asyncio.CancelledError:
            await self._refuse(visit, cut_short())
        except Exception:
            await self._apologise(visit)
            raise
        finally:
            self._settle(visit)

    def _settle(self, visit: Visit) -> None:
        gateway, judged, settlement = self._gateway, visit.judged, visit.books.close()
        visit.observation.settle(settlement)
        if judged is None:
            return
        gateway.lines.settled(judged, settlement)
        if gateway.decisions is not None:
            gateway.decisions.settled(judged, settlement, visit.asked)
        if visit.experiments:
            gateway.experiments.settled(visit.experiments, judged, settlement)
        if visit.drawn is not None and gateway.shadows is not None:
            gateway.shadows.settled(visit.drawn, settlement)

    async def _answer(self, visit: Visit, body: bytes, principal: Principal) -> None:
        """From the moment in which the request is read the client is watched, and everything taken has an owner."""
        request = self._read(visit, body, principal)
        out, client = self._egress(visit, request), visit.client
        client.watch()
        try:
            owner = Owner(self._gateway.live, visit.observation)
            try:
                await drive(await self._decide(visit, request, principal, owner, out))
            finally:
                await owner.aclose()
        except asyncio.CancelledError:
            if client.left or not out.is_open:
                raise
            visit.books.failed(cut_short(), begun=True)
            await out.fail(cut_short())
        finally:
            out.close()
            client.unwatch()

    def _read(self, visit: Visit, body: bytes, principal: Principal) -> ChatRequest:
        """Raises RouterError."""
        request = read_request(body, self._limits, self._dialect.read)
        if request.native is not None:
            request = with_head(request, visit.client.head)
        if principal.is_relayed:
            request = behind_others(request, visit.headers, principal)
        visit.books.stream = request.stream
        return request

    async def _decide(self, visit: Visit, request: ChatRequest, principal: Principal, owner: Owner, out: Egress) -> Job:
        """Decided, within its budgets where there are any."""
        gateway, live, books, headers = self._gateway, owner.live, visit.books, visit.headers
        total_at = asyncio.get_running_loop().time() + live.policy.resilience.total_s
        judged = await judge(live, request, principal, headers, gateway.world, books.request_id)
        owner.live = arm = live.arm(judged.decision.assignments)
        if arm.policy.budgets:
            ledger = gateway.budgets
            judged = await reserve(live, request, principal, headers, judged, ledger=ledger, owner=owner, books=books)
            owner.live = arm = live.arm(judged.decision.assignments)
        visit.judged, visit.experiments = judged, live.policy.experiments
        if gateway.shadows is not None:
            visit.drawn = gateway.shadows.drawn(live, visit, request, judged, principal.salt)
        if gateway.decisions is not None:
            visit.asked = gateway.decisions.asked(request, principal, arm.estimator)
        self._note(visit, judged, arm)
        return self._job(visit, request, principal, owner, out, judged=judged, total_at=total_at)

    def _note(self, visit: Visit, judged: Judged, arm: Live) -> None:
        """The books, the conversation, the lines and the trace learn what was decided."""
        decision = judged.decision
        visit.books.decision, visit.books.reason = decision, decision.reason
        if judged.turn is not None and (past := past_of(arm.policy, judged)) != Past():
            judged.turn.leave(past)
        self._gateway.lines.saw(judged.facts, judged.estimate, decision)
        visit.observation.decided(judged.facts, decision, judged.estimate, judged.took_us)

    def _job(
        self,
        visit: Visit,
        request: ChatRequest,
        principal: Principal,
        owner: Owner,
        out: Egress,
        *,
        judged: Judged,
        total_at: float,
    ) -> Job:
        live, world, books, asked, drawn = owner.live, self._gateway.world, visit.books, visit.asked, visit.drawn
        policy = live.policy
        budget = policy.resilience.retry_budget
        if budget is not None:
            world.retries.came(budget)
        return Job(
            live,
            request,
            principal.salt,
            judged,
            Affinity(live, world.residency, principal.is_relayed),
            owner,
            out,
            books,
            cascade_of(policy, request, judged, world.escalations, books) if policy.escalations else None,
            total_at,
            ear=joined(asked.ear if asked else None, drawn.capture if drawn else None) if asked or drawn else None,
            hedges=world.hedges if policy.resilience.hedge is not None else None,
            retries=world.retries if budget is not None else None,
        )

    def _egress(self, visit: Visit, request: ChatRequest) -> Egress:
        request_id = visit.books.request_id
        if request.stream:
            return StreamEgress(self._dialect, visit.client, request, request_id, silence_s=self._limits.silence_s)
        return WholeEgress(self._dialect, visit.client, request, request_id)

    async def _refuse(self, visit: Visit, error: RouterError) -> None:
        visit.books.failed(error, begun=False)
        await self._tell(visit, error)

    async def _apologise(self, visit: Visit) -> None:
        """A fault of ours: the client learns the request's id, the process's log has the rest."""
        error = Internal(f"Something broke here. Give this id to the operator: {visit.books.request_id}.")
        begun = visit.client.begun
        visit.books.failed(error, begun=begun)
        if not begun:
            await self._tell(visit, error)

    async def _tell(self, visit: Visit, error: RouterError) -> None:
        await visit.client.room()
        answer_error(visit.client, error, told(visit.books), self._dialect, visit.books.request_id)


def cut_short() -> Draining:
    """The server cancels what is still under way when its time to drain is over."""
    return Draining("This process stopped before the answer was whole.")


def read_request(body: bytes, limits: Limits, read: Callable[[bytes], ChatRequest]) -> ChatRequest:
    """Raises RouterError."""
    if len(body) > limits.body_bytes:
        raise too_large(limits)
    refuse_deep(body, limits.json_depth)
    try:
        request = read(body)
    except RequestFault as fault:
        raise BadRequest(fault.message, param=fault.param, code=fault.code) from fault
    refuse_many(request, limits)
    return request
