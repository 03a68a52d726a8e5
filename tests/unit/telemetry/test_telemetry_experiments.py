"""A request that is part of an experiment: the event on its route's span, and the counters of its variant."""

import msgspec
from telemetry_world import SMALL, USAGE, decision, facts, settlement

from policies.experiments.plan import Assignment, Experiment, Variant

TRIED = Assignment("second", "treat", "0123abcd", 0.1, True)
KNOWN = Experiment(
    name="second",
    unit="user",
    layer="l",
    salt="",
    variants=(Variant("control", 9.0), Variant("treat", 1.0, "x")),
    routes=frozenset({"chat"}),
)


def played(world, *assignments: Assignment) -> None:
    world.observer.policy_loaded("0123456789abcdef", ["chat"], ["small", "large"], [KNOWN])
    request = world.begin()
    decided = msgspec.structs.replace(decision(SMALL), assignments=assignments)
    request.decided(facts(), decided, None)
    told = {"decision": decided, "answered_by": SMALL, "usage": USAGE, "microusd": 70, "ttft_ms": 250.0}
    request.settle(settlement(request.request_id, **told))


async def test_the_routes_span_has_an_event_for_each_experiment_with_its_propensity(world):
    played(world, TRIED, Assignment("over", "control", "", 1.0))

    (route,) = [span for span in await world.over() if span.name == "route"]

    assert [event.name for event in route.events] == ["feature_flag.evaluation"] * 2
    assert dict(route.events[0].attributes) == {
        "feature_flag.key": "second",
        "feature_flag.provider.name": "turnout",
        "feature_flag.result.variant": "treat",
        "feature_flag.result.reason": "split",
        "feature_flag.context.id": "0123abcd",
        "router.experiment.propensity": 0.1,
    }
    assert route.events[1].attributes["feature_flag.result.reason"] == "static"


def test_variants_are_counted_by_names_of_the_policy_alone(world):
    played(world, TRIED, Assignment("nobody-declared", "this", "u", 1.0))
    labels = {"router_experiment": "second", "router_variant": "treat"}
    stranger = {"router_experiment": "other", "router_variant": "other"}

    assert world.metric("router_experiment_requests_total", **labels, router_outcome="ok") == 1.0
    assert world.metric("router_experiment_requests_total", **stranger, router_outcome="ok") == 1.0
    assert world.metric("router_experiment_spend_microusd_total", **labels) == 70.0
    assert world.metric("router_experiment_time_to_first_token_seconds_sum", **labels) == 0.25


def test_a_request_without_experiments_counts_for_no_variant(world):
    played(world)

    page = world.metrics.page().decode()
    assert not [
        line for line in page.splitlines() if line.startswith("router_experiment") and not line.endswith(" 0.0")
    ]
