"""A small world to decide in: two or three models, a solved policy, idle replicas."""

from collections.abc import Mapping, Sequence

from policies.catalogue import Model, Price
from policies.facts import Ability
from policies.policy import Choose, Expected, MayMove, Policy, Resilience, Route, Target
from policies.snapshot import ReplicaState, Snapshot
from policies.targets import relative_costs

ALL: frozenset[Ability] = frozenset({"tools", "json_schema", "vision", "audio", "logprobs", "reasoning"})


def model(name: str, price: int, *, at: Sequence[str] = (), **facts: object) -> Model:
    rate = Price(price, price // 10, price * 4)
    return Model(name=name, at=tuple(at) or (f"http://{name}/v1",), price=rate, head=name, **{"can": ALL, **facts})


SMALL = model("small", 100_000)
MEDIUM = model("medium", 500_000)
LARGE = model("large", 2_000_000)


def choose(
    *models: Model, loss: float = 2.0, when_unsure: str = "", prices: Mapping[str, Price] | None = None
) -> Choose:
    """A ladder against its last model, with the loss given rather than solved."""
    rates = prices or {m.name: m.price for m in models}
    top = models[-1].name
    return Choose(
        among=tuple(m.name for m in models),
        target=Target("cost", 40, top),
        when_unsure=when_unsure or top,
        prices=rates,
        relative_cost=relative_costs(rates, top) or {},
        loss_per_reference=loss,
        expected=Expected(40, 97, {}),
    )


def policy(
    *models: Model,
    routes: Sequence[Route] | None = None,
    may_move: MayMove = "up",
    resilience: Resilience | None = None,
) -> Policy:
    """Without routes, one that chooses among all models by difficulty."""
    listed = models or (SMALL, LARGE)
    default = [Route(name="default", choose=choose(*listed))]
    return Policy(
        hash="0123456789abcdef",
        name="test",
        models={m.name: m for m in listed},
        routes=tuple(default if routes is None else routes),
        may_move=may_move,
        resilience=resilience or Resilience(),
    )


def world(**states: Sequence[ReplicaState]) -> Snapshot:
    """The replicas' states by model; who is not named is ready and idle."""
    return Snapshot(replicas={name: tuple(known) for name, known in states.items()})
