"""Deciding, branch by branch. Names are of the rules, not of the functions."""

import msgspec
import pytest
from deciding_world import ALL, LARGE, MEDIUM, SMALL, choose, model, policy, world

from policies.catalogue import Fits
from policies.decide import decide
from policies.decision import Call, Decision, Reject
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Resilience, Route
from policies.snapshot import ReplicaState, Snapshot

EASY = {"small": 0.95, "medium": 0.96, "large": 0.97}
HARD = {"small": 0.10, "medium": 0.40, "large": 0.95}
IDLE = Snapshot(replicas={})
ASK = Facts(prompt_tokens=100)


def estimate(now: dict[str, float], *earlier: dict[str, float]) -> Estimate:
    return Estimate(p_good=now, earlier=earlier, artefact="shipped")


def models(decision: Decision) -> list[str]:
    return [step.model if isinstance(step, Call) else step.code for step in decision.steps]


def rejected(decision: Decision) -> Reject:
    assert isinstance(decision.choice, Reject)
    assert decision.steps == (decision.choice,)
    return decision.choice


def test_the_easy_goes_to_small_and_the_hard_to_large() -> None:
    assert models(decide(policy(), ASK, estimate(EASY), IDLE)) == ["small", "large"]
    assert models(decide(policy(), ASK, estimate(HARD), IDLE)) == ["large", "small"]


def test_the_middle_of_three_gets_what_it_alone_is_good_value_for() -> None:
    middling = {"small": 0.2, "medium": 0.85, "large": 0.9}
    assert models(decide(policy(SMALL, MEDIUM, LARGE), ASK, estimate(middling), IDLE))[0] == "medium"


def test_a_decision_carries_route_hash_artefact_reason_and_terms() -> None:
    decision = decide(policy(), ASK, estimate(EASY), IDLE)
    assert (decision.route, decision.policy_hash, decision.artefact) == ("default", "0123456789abcdef", "shipped")
    assert decision.reason == "small: least expected cost for cost 40% of large; p_good small 0.95, large 0.97"
    assert [term.name for term in decision.candidates[0].terms] == ["price", "quality", "affinity", "again", "wait"]
    assert msgspec.json.decode(msgspec.json.encode(decision), type=Decision) == decision


def test_the_length_of_a_request_does_not_move_the_line_between_tiers() -> None:
    near = {"small": 0.40, "large": 0.86}  # large saves 0.46 x 2.0 = 0.92 of its own price; small saves 0.95
    for tokens in (1, 100, 10_000, 1_000_000):
        assert models(decide(policy(), Facts(prompt_tokens=tokens), estimate(near), IDLE))[0] == "small"
        assert (
            models(decide(policy(), Facts(prompt_tokens=tokens), estimate({**near, "large": 0.9}), IDLE))[0] == "large"
        )


# ── names ───────────────────────────────────────────────────────────────────


def test_a_named_model_is_honoured_without_any_route_for_it() -> None:
    decision = decide(policy(), Facts(requested="small", prompt_tokens=9), estimate(HARD), IDLE)
    assert (models(decision), decision.route, decision.reason) == (["small"], "pinned", "small: asked for by name")
    assert [(drop.model, drop.filter) for drop in decision.dropped] == [("large", "route")]


def test_a_route_that_honours_names_gives_its_name_and_fallbacks() -> None:
    named = Route(name="by-name", use="requested", fallback=("large", "small"))
    built = policy(routes=[Route(name="all", use="large"), named])
    decision = decide(built, Facts(requested="large"), Estimate(), IDLE)
    assert (models(decision), decision.route) == (["large", "small"], "by-name")


def test_an_unknown_model_is_told_the_names_that_the_caller_may_use() -> None:
    facts = Facts(requested="gpt-9", allowed_models=frozenset({"small"}))
    fault = rejected(decide(policy(), facts, estimate(EASY), IDLE))
    assert (fault.code, fault.param) == ("unknown_model", "model")
    assert fault.message == "there is no model 'gpt-9'; the models are: auto, small"


def test_a_model_that_the_key_may_not_use_is_refused_by_name_and_avoided_by_auto() -> None:
    mine = frozenset({"small"})
    fault = rejected(decide(policy(), Facts(requested="large", allowed_models=mine), estimate(HARD), IDLE))
    assert (fault.code, fault.param) == ("model_not_allowed", "model")
    decision = decide(policy(), Facts(allowed_models=mine), estimate(HARD), IDLE)
    assert (models(decision), decision.reason) == (["small"], "small: the only candidate left")
    assert decision.dropped[0].reason == "the caller may not use large"


def test_no_matching_route_is_a_reject_of_its_own() -> None:
    built = policy(routes=[Route(name="never", matches=lambda facts: False, use="small")])
    decision = decide(built, ASK, Estimate(), IDLE)
    assert rejected(decision).code == "no_route"
    assert {drop.model for drop in decision.dropped} == {"small", "large"}


def test_the_first_matching_route_wins() -> None:
    routes = [
        Route(name="images", matches=lambda facts: facts.images > 0, use="large"),
        Route(name="rest", use="small"),
    ]
    assert decide(policy(routes=routes), Facts(images=1), Estimate(), IDLE).route == "images"
    plain = decide(policy(routes=routes), Facts(), Estimate(), IDLE)
    assert (plain.route, plain.reason) == ("rest", "small: route rest uses it")


# ── filters ─────────────────────────────────────────────────────────────────


def test_tools_go_where_tools_are() -> None:
    plain = model("small", 100_000, can=frozenset())
    decision = decide(policy(plain, LARGE), Facts(needs=frozenset({"tools"}), tools=1), estimate(EASY), IDLE)
    assert (models(decision), decision.dropped[0].reason) == (["large"], "small lacks tools")


@pytest.mark.parametrize(
    ("ability", "param", "words"),
    [
        ("vision", "messages", "read images"),
        ("tools", "tools", "use tools"),
        ("json_schema", "response_format", "keep to a JSON schema"),
        ("logprobs", "logprobs", "give log-probabilities"),
    ],
)
def test_what_no_model_can_is_refused_by_the_field_that_asks_for_it(ability: str, param: str, words: str) -> None:
    blind = [model(name, 100_000, can=ALL - {ability}) for name in ("small", "large")]
    fault = rejected(decide(policy(*blind), Facts(needs=frozenset({ability})), estimate(EASY), IDLE))  # type: ignore[arg-type]
    assert (fault.code, fault.param) == ("unsupported_content", param)
    assert fault.message == f"no model that may answer this request (small, large) can {words}"


def test_what_no_single_model_combines_is_told_by_the_nearest() -> None:
    eyes, hands = model("small", 1, can=frozenset({"vision"})), model("large", 2, can=frozenset({"tools", "logprobs"}))
    needs = Facts(needs=frozenset({"vision", "tools", "logprobs"}))
    assert rejected(decide(policy(eyes, hands), needs, estimate(EASY), IDLE)).param == "messages"


@pytest.mark.parametrize(
    ("prompt", "output", "expected"), [(1000, 16, "small"), (1000, 200, "large"), (1024, None, "large")]
)
def test_prompt_and_output_must_fit_together(prompt: int, output: int | None, expected: str) -> None:
    ladder = (model("small", 1, fits=Fits(context=1024)), model("large", 2, fits=Fits(context=8192)))
    facts = Facts(prompt_tokens=prompt, max_tokens=output)
    assert models(decide(policy(*ladder), facts, estimate(EASY), IDLE))[0] == expected


def test_a_prompt_that_fits_nowhere_is_told_the_widest_window_and_the_numbers() -> None:
    ladder = (model("small", 1, fits=Fits(context=1024)), model("large", 2, fits=Fits(context=8192)))
    fault = rejected(decide(policy(*ladder), Facts(prompt_tokens=9000, max_tokens=16), estimate(EASY), IDLE))
    assert (fault.code, fault.param) == ("context_length_exceeded", "messages")
    assert fault.message.startswith(
        "maximum context length is 8192 tokens, but 9016 are asked for: 9000 of prompt and 16 of output"
    )


def test_the_exact_count_of_a_model_is_used_for_it_alone() -> None:
    ladder = (model("small", 1, fits=Fits(context=64)), model("large", 2, fits=Fits(context=64)))
    facts = Facts(prompt_tokens=90, max_tokens=10, exact_tokens={"small": 54})
    assert models(decide(policy(*ladder), facts, estimate(HARD), IDLE)) == ["small"]
    fault = rejected(decide(policy(*ladder), msgspec.structs.replace(facts, exact_tokens={}), estimate(HARD), IDLE))
    assert "64 tokens, but 100 are asked for: 90 of prompt and 10 of output" in fault.message


def test_too_much_output_for_every_model_is_a_fault_of_max_tokens() -> None:
    ladder = (model("small", 1, fits=Fits(context=100)), model("large", 2, fits=Fits(context=9000, output=512)))
    fault = rejected(decide(policy(*ladder), Facts(prompt_tokens=9, max_tokens=600), estimate(EASY), IDLE))
    assert fault.param == "max_tokens"
    assert fault.message == "maximum output is 512 tokens, but 600 are asked for; lower max_tokens"


def test_a_replica_that_is_down_is_left_out_and_its_model_is_not() -> None:
    pair = model("small", 100_000, at=("a", "b"))
    states = world(small=[ReplicaState(replica="a", ready=False, why_not="loading"), ReplicaState(replica="b")])
    decision = decide(policy(pair, LARGE), ASK, estimate(EASY), states)
    assert decision.choice == Call("small", "b")
    assert [(d.model, d.filter, d.reason, d.replica) for d in decision.dropped] == [
        ("small", "healthy", "loading", "a")
    ]


def test_an_outage_goes_up_and_a_whole_outage_is_unavailable() -> None:
    small, large = (
        ReplicaState(replica="http://small/v1", ready=False),
        ReplicaState(replica="http://large/v1", ready=False),
    )
    assert models(decide(policy(), ASK, estimate(EASY), world(small=[small]))) == ["large"]
    fault = rejected(decide(policy(), ASK, estimate(EASY), world(small=[small], large=[large])))
    assert (fault.code, fault.param) == ("unavailable", "")
    assert "small (not ready), large (not ready)" in fault.message


def test_the_fault_told_is_of_the_model_that_came_nearest() -> None:
    plain, short = model("small", 1, can=frozenset()), model("large", 2, fits=Fits(context=10))
    facts = Facts(prompt_tokens=50, needs=frozenset({"tools"}))
    assert rejected(decide(policy(plain, short), facts, estimate(EASY), IDLE)).code == "context_length_exceeded"


# ── fallbacks ───────────────────────────────────────────────────────────────


def test_fallbacks_pass_the_same_filters() -> None:
    short = model("small", 1, fits=Fits(context=1024))
    named = Route(name="by-name", use="requested", fallback=("large", "small"))
    built = policy(
        short, LARGE, routes=[named, Route(name="default", choose=choose(short, LARGE), fallback=("small",))]
    )
    assert models(decide(built, Facts(prompt_tokens=5000), estimate(HARD), IDLE)) == ["large"]
    assert models(decide(built, Facts(prompt_tokens=5), estimate(HARD), IDLE)) == ["large", "small"]
    assert models(decide(built, Facts(requested="large"), Estimate(), IDLE)) == ["large", "small"]


def test_a_named_model_that_cannot_take_the_request_is_not_replaced_but_one_that_is_down_is() -> None:
    short = model("small", 1, fits=Fits(context=10))
    built = policy(short, LARGE, routes=[Route(name="by-name", use="requested", fallback=("large",))])
    long = Facts(requested="small", prompt_tokens=50)
    assert rejected(decide(built, long, Estimate(), IDLE)).code == "context_length_exceeded"
    down = world(small=[ReplicaState(replica="http://small/v1", ready=False)])
    decision = decide(built, Facts(requested="small", prompt_tokens=5), Estimate(), down)
    assert (models(decision), decision.reason) == (["large"], "large: fallback of route by-name")


def test_a_route_whose_model_cannot_take_the_request_uses_its_fallback() -> None:
    short = model("small", 1, fits=Fits(context=10))
    built = policy(short, LARGE, routes=[Route(name="r", use="small", fallback=("large",))])
    decision = decide(built, Facts(prompt_tokens=50), Estimate(), IDLE)
    assert (models(decision), decision.reason) == (["large"], "large: fallback of route r")


def test_a_replica_near_the_least_loaded_keeps_its_prefix_however_low_the_mean() -> None:
    fleet = [ReplicaState(replica=f"w{i}", running=n) for i, n in enumerate([0, 0, 0, 9])]
    assert replicas(ReplicaState(replica="holder", running=3, resident_tokens=96), *fleet) == "holder"


def test_listed_fallbacks_replace_the_ladder_and_an_empty_list_means_none() -> None:
    ladder = choose(SMALL, MEDIUM)
    only = policy(SMALL, MEDIUM, LARGE, routes=[Route(name="r", choose=ladder, fallback=("large",))])
    none = policy(SMALL, MEDIUM, LARGE, routes=[Route(name="r", choose=ladder, fallback=())])
    assert models(decide(only, ASK, estimate(EASY), IDLE)) == ["small", "large"]
    assert models(decide(none, ASK, estimate(EASY), IDLE)) == ["small"]


def test_other_replicas_of_the_chosen_model_come_before_listed_fallbacks() -> None:
    pair = model("small", 100_000, at=("a", "b"))
    built = policy(pair, LARGE, routes=[Route(name="r", use="small", fallback=("large",))])
    assert models(decide(built, ASK, Estimate(), IDLE)) == ["small", "small", "large"]


def test_no_more_calls_than_attempts() -> None:
    built = policy(SMALL, MEDIUM, LARGE, resilience=Resilience(attempts=2))
    decision = decide(built, ASK, estimate(EASY), IDLE)
    assert len(decision.steps) == 2
    assert len(decision.candidates) == 3


# ── doubt and conversation ──────────────────────────────────────────────────


def test_without_an_estimate_the_model_for_doubt_is_asked_then_those_above_it() -> None:
    ladder = choose(SMALL, MEDIUM, LARGE, when_unsure="medium")
    built = policy(SMALL, MEDIUM, LARGE, routes=[Route(name="r", choose=ladder)])
    decision = decide(built, ASK, Estimate(abstains="late"), IDLE)
    assert (models(decision), decision.reason) == (["medium", "large", "small"], "medium: unsure (late)")
    assert decision.candidates[0].terms[1].why == "no estimate: neutral"


def test_an_artefact_without_a_head_for_the_ladder_is_doubt() -> None:
    decision = decide(policy(), ASK, estimate({"small": 0.9}), IDLE)
    assert decision.reason == "large: unsure (the artefact lacks a head)"


def test_a_short_follow_up_stays_on_the_tier_of_the_conversation() -> None:
    hard_then_easy, easy_then_easy = estimate(EASY, HARD), estimate(EASY, EASY)
    decision = decide(policy(), ASK, hard_then_easy, IDLE)
    assert (models(decision), decision.reason) == (["large", "small"], "large: the conversation needed large before")
    assert models(decide(policy(), ASK, easy_then_easy, IDLE))[0] == "small"


def test_a_conversation_still_goes_up_from_its_floor() -> None:
    middling = {"small": 0.2, "medium": 0.85, "large": 0.9}
    built = policy(SMALL, MEDIUM, LARGE)
    assert models(decide(built, ASK, estimate(HARD, middling), IDLE))[0] == "large"
    assert models(decide(built, ASK, estimate(EASY, middling), IDLE)) == ["medium", "large", "small"]


def test_a_conversation_that_may_move_freely_has_no_floor() -> None:
    assert models(decide(policy(may_move="freely"), ASK, estimate(EASY, HARD), IDLE))[0] == "small"


def test_a_conversation_that_never_moves_stays_with_its_first_turn() -> None:
    decision = decide(policy(may_move="never"), ASK, estimate(HARD, EASY, HARD), IDLE)
    assert (models(decision)[0], decision.reason) == ("small", "small: the conversation began on small")


def test_doubt_does_not_take_a_conversation_down() -> None:
    ladder = choose(SMALL, MEDIUM, LARGE, when_unsure="small")
    built = policy(SMALL, MEDIUM, LARGE, routes=[Route(name="r", choose=ladder)])
    assert models(decide(built, ASK, Estimate(abstains="late", earlier=(HARD,)), IDLE))[0] == "large"


def test_an_earlier_prefix_that_the_artefact_is_silent_on_sets_no_floor() -> None:
    assert models(decide(policy(), ASK, estimate(EASY, {"small": 0.1}), IDLE))[0] == "small"


def test_a_lower_tier_answers_when_the_needed_one_is_down() -> None:
    down = world(large=[ReplicaState(replica="http://large/v1", ready=False)])
    assert models(decide(policy(SMALL, MEDIUM, LARGE), ASK, estimate(EASY, HARD), down))[0] == "small"


# ── replicas: cases AFF-01, AFF-02, AFF-03 ──────────────────────────────────


def replicas(*states: ReplicaState, price: int = 100_000, facts: Facts = ASK) -> str:
    fleet = model("m", price, at=[state.replica for state in states])
    built = policy(fleet, routes=[Route(name="r", use="m")])
    choice = decide(built, facts, Estimate(), world(m=states)).choice
    assert isinstance(choice, Call)
    return choice.replica


def test_a_hot_prefix_spills_to_an_idle_replica_past_the_threshold() -> None:
    idle = ReplicaState(replica="w2")
    assert replicas(ReplicaState(replica="w1", resident_tokens=96, running=8), idle) == "w2"
    assert replicas(ReplicaState(replica="w1", resident_tokens=96, running=3), idle) == "w1"


def test_a_miss_goes_to_the_least_loaded_replica() -> None:
    assert replicas(ReplicaState(replica="w1", running=6), ReplicaState(replica="w2")) == "w2"
    assert replicas(ReplicaState(replica="w1"), ReplicaState(replica="w2", running=1)) == "w1"


def test_imbalance_elsewhere_does_not_switch_affinity_off() -> None:
    holder = ReplicaState(replica="w1", resident_tokens=96)
    assert replicas(holder, ReplicaState(replica="w2", running=20), ReplicaState(replica="w3")) == "w1"


def test_queued_work_outweighs_a_shorter_resident_prefix() -> None:
    facts, idle = Facts(prompt_tokens=2000), ReplicaState(replica="w2")
    holder = ReplicaState(replica="w1", resident_tokens=512, queued_tokens=256)
    assert replicas(holder, idle, facts=facts, price=0) == "w1"
    assert replicas(msgspec.structs.replace(holder, queued_tokens=5_000), idle, facts=facts, price=0) == "w1"
    assert replicas(msgspec.structs.replace(holder, queued_tokens=7_000), idle, facts=facts, price=0) == "w2"


@pytest.mark.parametrize(("line", "chosen"), [(0, "w2"), (40_000, "w1")])
def test_needless_work_is_dearer_the_longer_the_line_is_where_it_would_stand(line: int, chosen: str) -> None:
    holder = ReplicaState(replica="w1", resident_tokens=1000, queued_tokens=line + 15_000)
    other = ReplicaState(replica="w2", queued_tokens=line)
    assert replicas(holder, other, facts=Facts(prompt_tokens=5000), price=0) == chosen


def test_a_prefix_that_a_crowd_shares_is_computed_elsewhere_too() -> None:
    facts, idle = Facts(prompt_tokens=2000), ReplicaState(replica="w2")
    holder = ReplicaState(replica="w1", resident_tokens=1500, queued_tokens=1000, running=3, alike=1)
    assert replicas(holder, idle, facts=facts, price=0) == "w1"
    assert replicas(msgspec.structs.replace(holder, alike=2), idle, facts=facts, price=0) == "w2"
    assert replicas(msgspec.structs.replace(holder, alike=2, running=4), idle, facts=facts, price=0) == "w1"


def test_a_crowd_does_not_tell_those_apart_that_hold_the_prefix() -> None:
    facts = Facts(prompt_tokens=2000)
    crowded = ReplicaState(replica="w1", resident_tokens=1500, queued_tokens=100, running=3, alike=3)
    other = ReplicaState(replica="w2", resident_tokens=1500, queued_tokens=200, running=3, alike=1)
    nobody = ReplicaState(replica="w3")
    assert replicas(crowded, other, nobody, facts=facts, price=0) == "w1", "the one with less to do"
    busy = msgspec.structs.replace(crowded, queued_tokens=1_400)
    assert replicas(busy, other, nobody, facts=facts, price=0) == "w2", "before it is computed once more"


def test_a_crowd_at_a_short_prefix_takes_nothing_from_a_longer_one() -> None:
    shallow = ReplicaState(replica="w2", resident_tokens=512, running=4, alike=4)
    deep = ReplicaState(replica="w1", resident_tokens=4096, queued_tokens=3000)
    assert replicas(shallow, deep, facts=Facts(prompt_tokens=5000), price=0) == "w1"


def test_no_more_of_a_prompt_is_resident_than_it_is_long() -> None:
    one = ReplicaState(replica="w1", resident_tokens=100)
    other = ReplicaState(replica="w2", resident_tokens=900, running=1)
    assert replicas(one, other, facts=Facts(prompt_tokens=100)) == "w1"


def test_equal_replicas_are_told_apart_by_the_prefix_alone() -> None:
    two = (ReplicaState(replica="w1"), ReplicaState(replica="w2"))
    chosen = {prefix: replicas(*two, facts=Facts(prefix=prefix)) for prefix in map(str, range(20))}
    swapped = {prefix: replicas(*reversed(two), facts=Facts(prefix=prefix)) for prefix in map(str, range(20))}
    assert chosen == swapped
    assert set(chosen.values()) == {"w1", "w2"}


def test_a_free_model_still_weighs_waiting() -> None:
    free = model("m", 0, at=("w1", "w2"))
    states = world(m=[ReplicaState(replica="w1", queued_tokens=900), ReplicaState(replica="w2", running=3)])
    decision = decide(policy(free, routes=[Route(name="r", use="m")]), ASK, Estimate(), states)
    assert decision.choice == Call("m", "w2")


def test_load_bends_the_line_between_tiers_by_no_more_than_its_price() -> None:
    busy = world(large=[ReplicaState(replica="http://large/v1", queued_tokens=20_000)])
    assert models(decide(policy(), ASK, estimate(HARD), busy))[0] == "large"


def test_each_candidate_says_what_waits_and_lies_at_its_own_replica() -> None:
    two = model("small", 100_000, at=("http://a", "http://b"))
    busy = ReplicaState(replica="http://a", queued_tokens=50_000)
    warm = ReplicaState(replica="http://b", resident_tokens=60, knows_residency=True)
    decision = decide(policy(two, LARGE), ASK, estimate(EASY), world(small=[busy, warm]))
    said = {one.replica: {term.name: term.why for term in one.terms} for one in decision.candidates}
    assert said["http://a"]["wait"].startswith("50000 tokens queued")
    assert said["http://b"]["affinity"] == "60 tokens resident"
    assert "queued" not in said["http://b"]["wait"]
    assert "60" not in said["http://a"]["affinity"]
    assert [one.replica for one in decision.candidates[:2]] == ["http://b", "http://a"]
