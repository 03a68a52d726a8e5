"""`budgets:` of a policy file: what is compiled, what is refused, and who answers when too little is left."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.budgets.account import Account, at, changed, room
from policies.budgets.need import Use, need
from policies.budgets.period import began_at, ends_at
from policies.budgets.plan import Budget
from policies.catalogue import Model, Price
from policies.decide import decide
from policies.decision import Call, Reject
from policies.estimates import Estimate
from policies.facts import Facts
from policies.language.load import load_policy
from policies.snapshot import ReplicaState, Snapshot

FILE = """policy: 1
models:
  small: {at: "http://a/v1", price: {input: $1/M, output: $2/M}, fits: {context: 1000}}
  large: {at: "http://b/v1", price: {input: $10/M, output: $20/M}, fits: {output: 500}}
routes: [{name: r, use: large, fallback: [small]}]
budgets:
  - {per: tenant, limit: $50/day, when_spent: {downgrade_to: small}}
  - {per: api_key, limit: 200k/min, burst: 30s}
  - {name: house, per: all, limit: $2000/month, if_store_is_down: reject}
tests:
  - {given: {text: hi}, expect: {model: large}}
  - {given: {text: hi, spent: [tenant-day]}, expect: {model: small}}
"""
UNKNOWN = Estimate(abstains="no route asks for difficulty")
NOON = 1_760_000_000.0
NAMES = {"tenant_day": "tenant-day", "key_min": "api_key-min"}
ASKED = Facts(prompt_tokens=100)


def load(text=FILE):
    return load_policy(text, name="p", calibrate=lambda _: None)


def told(text):
    loaded = load(text)
    assert loaded.policy is None
    return [f"{problem.line}:{problem.column} {problem.message}" for problem in loaded.problems]


def decided(facts=ASKED, text=FILE, **left):
    policy = load(text).policy
    replicas = {name: (ReplicaState(replica=model.at[0]),) for name, model in policy.models.items()}
    budgets = {NAMES.get(name, name): amount for name, amount in left.items()}
    return decide(policy, facts, UNKNOWN, Snapshot(replicas=replicas, now=NOON, budgets=budgets))


def test_budgets_of_the_file_are_what_accounts_are_kept_by():
    day, minute, month = load().policy.budgets

    assert (day.name, day.per, day.unit, day.limit, day.at_once) == (
        "tenant-day",
        "tenant",
        "microusd",
        50_000_000,
        50_000_000,
    )
    assert (day.downgrade_to, day.when_away, day.flow) == ("small", "local_share", 0.0)
    assert (minute.name, minute.unit, minute.at_once, minute.period) == ("api_key-min", "tokens", 100_000, "min")
    assert minute.flow == 200_000 / 60
    assert (month.name, month.limit, month.when_away, month.downgrade_to) == ("house", 2_000_000_000, "reject", "")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("$50/day", "50", "7:26 budgets.0.limit needs a unit: $50/day (money) or 50/min (tokens)"),
        (
            "$50/day",
            "$50/week",
            "7:26 budgets.0.limit should be money or tokens for a min, hour, day or month, such as",
        ),
        ("$50/day", "$0/day", "7:26 budgets.0.limit should come to a whole number, above none"),
        ("200k/min", "1.5/min", "8:27 budgets.1.limit should come to a whole number, above none"),
        ("{downgrade_to: small}", "rejct", "7:47 budgets.0.when_spent should be reject, or {downgrade_to: MODEL}"),
        (
            "{downgrade_to: small}",
            "{downgrade_to: smal}",
            "7:62 budgets.0.when_spent.downgrade_to names the model smal, which",
        ),
        (
            "$2000/month",
            "$2000/month, burst: 3s",
            "9:49 budgets.house.burst goes with a limit for a minute; all of $2000/month",
        ),
        (
            "per: api_key, limit: 200k/min, burst: 30s",
            "per: tenant, limit: $1/day",
            "7:5 budgets.0 is called tenant-day, as another budget is",
        ),
        (
            'small: {at: "http://a/v1", price: {input: $1/M, output: $2/M}',
            'small: {at: "http://a/v1"',
            "7:26 budgets.0.limit is money, but small has no price; state it, and price: {input: $0/M, output: $0/M} where",
        ),
        (
            "spent: [tenant-day]",
            "spent: [tenant]",
            "12:32 tests.1.given.spent names the budget tenant, which there is not; did",
        ),
        ("per: api_key", "per: key", "8:11 budgets.1.per should be one of tenant, api_key, user, all"),
    ],
)
def test_a_budget_that_makes_no_sense_is_told_where_and_why(old, new, problem):
    found = told(FILE.replace(old, new, 1))

    assert any(line.startswith(problem) for line in found), found


def test_tokens_need_no_price():
    free = 'policy: 1\nmodels: {m: {at: "http://a/v1"}}\nroutes: [{use: m}]\nbudgets: [{per: all, limit: 1k/min}]\n'

    assert load(free).policy is not None


def test_a_request_that_every_budget_has_room_for_is_decided_as_without_them():
    assert decided(tenant_day=50_000_000, house=10_000_000) == decided()
    assert decided().choice == Call("large", "http://b/v1")


def test_a_spent_budget_downgrades_and_says_so():
    decision = decided(tenant_day=6_999)

    assert decision.choice == Call("small", "http://a/v1")
    assert decision.steps == (Call("small", "http://a/v1"),)
    assert decision.reason == "small: budget tenant-day is spent; else large"
    assert decision.over_budget == "tenant-day"
    assert [(drop.model, drop.filter) for drop in decision.dropped] == [("large", "budget")]


def test_what_is_set_aside_decides_by_one_micro_dollar():
    facts = Facts(prompt_tokens=100)
    large = load().policy.models["large"]
    assert need(large, facts) == Use(400, 7_000)

    assert decided(tenant_day=7_000).choice.model == "large"
    assert decided(tenant_day=6_999).choice.model == "small"


def test_a_lesser_model_that_cannot_answer_leaves_nobody():
    decision = decided(Facts(prompt_tokens=5_000), tenant_day=0)

    assert isinstance(decision.choice, Reject)
    assert decision.choice.code == "over_budget"
    assert "small cannot answer instead: maximum context length is 1000 tokens" in decision.choice.message


def test_a_lesser_model_that_is_down_is_no_reason_to_wait_for_the_next_day():
    policy = load().policy
    down = {
        "small": (ReplicaState(replica="http://a/v1", ready=False),),
        "large": (ReplicaState(replica="http://b/v1"),),
    }

    choice = decide(policy, ASKED, UNKNOWN, Snapshot(replicas=down, now=NOON, budgets={"tenant-day": 0})).choice

    assert (choice.code, choice.again_in_s) == ("unavailable", None)
    assert choice.message.startswith("budget tenant-day ($50/day for each tenant) is spent; no replica is ready: small")


def test_who_names_a_model_is_refused_rather_than_given_another():
    decision = decided(Facts(prompt_tokens=100, requested="large"), tenant_day=0)

    assert decision.choice.code == "over_budget"
    assert decision.choice.message.endswith("it names its model; auto would be answered by another one")


def test_whoever_is_on_the_lesser_model_already_goes_on():
    assert decided(Facts(prompt_tokens=100, requested="small"), tenant_day=-5).choice.model == "small"


def test_a_budget_that_refuses_goes_before_one_that_downgrades():
    decision = decided(tenant_day=0, house=0)

    assert (decision.choice.code, decision.over_budget) == ("over_budget", "house")


def test_a_lesser_model_too_must_find_room():
    left = need(load().policy.models["small"], Facts(prompt_tokens=100)).microusd

    assert decided(tenant_day=0, house=left).over_budget == "house", "large was what it had no room for"
    both = FILE.replace("{name: house", "{when_spent: {downgrade_to: small}, name: house")
    assert decided(text=both, tenant_day=0, house=left - 1).choice.model == "small"


def test_when_it_refills_is_told_and_what_others_took_is_not():
    own, house = decided(Facts(prompt_tokens=100, requested="large"), tenant_day=3).choice, decided(house=3).choice

    assert own.message.startswith(
        "budget tenant-day ($50/day for each tenant) is spent; it is whole again at 2025-10-10T00:"
    )
    assert own.again_in_s == ends_at("day", NOON) - NOON
    assert house.message == "budget house is spent; it is whole again at 2025-11-01T00:00:00Z"
    assert house.again_in_s == ends_at("month", NOON) - NOON


def test_a_flowing_budget_says_in_how_many_seconds():
    minute = FILE.replace(", burst: 30s", "")

    choice = decided(Facts(prompt_tokens=700), text=minute, key_min=0).choice

    assert choice.again_in_s == pytest.approx(1_000 / (200_000 / 60))
    assert choice.message == "budget api_key-min (200k/min for each API key) is spent; it has room again in 1 s"


def test_what_never_fits_is_told_so():
    choice = decided(Facts(prompt_tokens=150_000), key_min=100_000).choice

    assert choice.again_in_s is None
    assert "never has at once the 150300 tokens that this request may take" in choice.message


def test_what_nobody_can_tell_while_the_store_is_away_leaves_nobody():
    choice = decided(house=None).choice

    assert (choice.code, choice.again_in_s) == ("unavailable", 1.0)
    assert decided(
        tenant_day=None
    ).reason == "small: budget tenant-day cannot be looked up while the store is away that " + (
        "gateways share; else large"
    )


def test_what_costs_nothing_passes_a_spent_budget():
    free = FILE.replace("input: $10/M, output: $20/M", "input: $0/M, output: $0/M").partition("tests:")[0]

    assert decided(text=free, tenant_day=-9, house=-9).choice.model == "large"


def test_the_longest_answer_is_what_is_set_aside_where_the_client_limits_it():
    model = Model(name="m", price=Price(output=1_000_000))

    assert need(model, Facts(max_tokens=5_000, choices=3)).tokens == 15_000
    assert need(load().policy.models["large"], Facts(max_tokens=5_000)).tokens == 500, "as long as its answers can be"
    assert need(model, Facts(needs=frozenset({"embeddings"}), prompt_tokens=9)).tokens == 9


@given(st.floats(0, 4e9), st.sampled_from(["hour", "day", "month"]))
def test_every_instant_is_in_one_period_that_ends_where_the_next_begins(now, period):
    began, ends = began_at(period, now), ends_at(period, now)

    assert began <= now < ends
    assert began_at(period, ends) == ends
    assert began_at(period, ends - 1) == began


FLOWS = Budget(name="b", per="all", unit="tokens", limit=600, period="min", at_once=300)


@given(
    st.lists(st.tuples(st.floats(0, 60), st.integers(1, 400)), max_size=30),
    st.integers(1, 4),
    st.integers(0, 300),
)
def test_gateways_on_their_shares_take_no_more_together_than_one(steps, gateways, known):
    """Each takes whatever it has room for: together what was left, and what flowed back since."""
    now, took = 0.0, 0
    accounts = [Account(0.0, known=known) for _ in range(gateways)]
    for passed, wanted in steps:
        now += passed
        for i in range(gateways):
            account = at(accounts[i], FLOWS, now, gateways)
            amount = max(0, min(wanted, room(account, FLOWS, gateways)))
            accounts[i], took = changed(account, amount), took + amount

    assert took <= (300 - known) + FLOWS.flow * now + 1e-6
