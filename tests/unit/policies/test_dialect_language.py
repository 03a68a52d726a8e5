"""`dialect:` of a model in a policy file, and models that a request passes by because theirs has no words for it."""

from typing import Any

import pytest

from policies.catalogue import Model
from policies.decide import decide
from policies.decision import Call, Reject
from policies.estimates import Calibration, Estimate
from policies.facts import Facts, Uncarried
from policies.language.load import Loaded, load_policy
from policies.policy import Policy
from policies.snapshot import Snapshot

FAULT = Uncarried("n has no counterpart in the dialect of this model.", "n")


def no_sample(artefact: str) -> Calibration:
    raise ValueError("no route of these policies chooses by difficulty")


def load(models: str, route: str = "use: a") -> Loaded:
    return load_policy(f"policy: 1\nmodels: {{{models}}}\nroutes: [{{{route}}}]\n", name="p.yaml", calibrate=no_sample)


def good(models: str, route: str = "use: a") -> Policy:
    loaded = load(models, route)
    assert loaded.policy is not None, loaded.problems
    return loaded.policy


def model(fields: str) -> Model:
    return good(f"a: {{{fields}}}").models["a"]


def test_a_model_speaks_chat_completions_unless_its_file_says_otherwise() -> None:
    silent, stated = model("at: 'http://a'"), model("at: 'http://a', dialect: anthropic, fits: {output: 8k}")

    assert (silent.dialect, stated.dialect) == ("openai_chat", "anthropic")
    assert silent.can - stated.can == {"audio", "logprobs"}, "what the dialect cannot ask for is no ability"


def test_a_dialect_is_inherited_and_stays_behind_when_a_model_moves_into_the_process() -> None:
    there = "a: {at: 'http://a', dialect: anthropic, fits: {output: 8k}}"
    policy = good(f"{there}, b: {{like: a, serves: other}}, c: {{like: a, run: {{weights: w}}}}")

    assert [policy.models[name].dialect for name in "abc"] == ["anthropic", "anthropic", "openai_chat"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("at: 'http://a', dialect: anthropic", "models.a needs fits: {output: ...}"),
        ("at: 'http://a', dialect: antropic, fits: {output: 8k}", "models.a.dialect"),
        ("at: 'http://a', worker: true, dialect: anthropic, fits: {output: 8k}", "models.a.dialect has no use"),
        ("run: {weights: w}, dialect: anthropic, fits: {output: 8k}", "models.a.dialect has no use"),
        (
            "at: 'http://a', dialect: anthropic, speaks: {limit: max_tokens}, fits: {output: 8k}",
            "models.a.speaks has no use",
        ),
        ("at: 'http://a', dialect: anthropic, can: [tools, logprobs], fits: {output: 8k}", "models.a.can has logprobs"),
    ],
)
def test_what_does_not_go_with_a_dialect_is_told(fields: str, told: str) -> None:
    loaded = load(f"a: {{{fields}}}")

    assert loaded.policy is None
    assert told in loaded.problems[0].message


TWO = "a: {at: 'http://a'}, b: {at: 'http://b', dialect: anthropic, fits: {output: 8k}}"


def decided(uncarried: dict[str, Uncarried], **facts: Any) -> Any:
    policy = good(TWO, "use: b, fallback: [a]")
    return decide(policy, Facts(uncarried=uncarried, **facts), Estimate(abstains="none"), Snapshot(replicas={}))


def test_a_request_passes_by_a_model_whose_dialect_has_no_words_for_it() -> None:
    decision = decided({"b": FAULT})

    assert decision.steps == (Call("a", "http://a"),)
    assert [(drop.model, drop.filter) for drop in decision.dropped] == [("b", "dialect")]
    assert FAULT.message in decision.dropped[0].reason


@pytest.mark.parametrize(("uncarried", "facts"), [({"a": FAULT, "b": FAULT}, {}), ({"b": FAULT}, {"requested": "b"})])
def test_where_none_is_left_the_field_is_named(uncarried: dict[str, Uncarried], facts: dict[str, Any]) -> None:
    assert decided(uncarried, **facts).choice == Reject("unsupported_content", FAULT.message, "n")
