"""How much is to be thought: what a file means where it does not say, and who of those asked does not hear of it."""

import json
from typing import Any

import pytest

from policies.catalogue import Thinks
from policies.decide import decide
from policies.estimates import Estimate
from policies.facts import Facts, ThinkingAsked
from policies.language.load import load_policy
from policies.policy import Policy
from policies.snapshot import Snapshot

HERE = {"run": {"weights": "w"}}
THERE = {"at": "http://a"}
MESSAGES = {**THERE, "dialect": "anthropic", "fits": {"output": 9}}
SILENT: list[tuple[dict[str, Any], Thinks]] = [
    (THERE, "pass"),
    ({**THERE, "can": ["tools"]}, "drop"),
    ({**THERE, "can": ["reasoning"]}, "tell"),
    (HERE, "drop"),
    ({**THERE, "worker": True}, "drop"),
    ({"replicas": "announced"}, "drop"),
    (MESSAGES, "pass"),
    ({**MESSAGES, "can": ["tools"]}, "pass"),
]
TOLD: list[tuple[dict[str, Any], ThinkingAsked, bool]] = [
    (THERE, "words", True),
    (THERE, "tokens", False),
    ({**THERE, "can": ["reasoning"]}, "tokens", True),
    ({**THERE, "thinking": "drop"}, "words", False),
    (MESSAGES, "tokens", True),
    ({**MESSAGES, "thinking": "drop"}, "tokens", False),
    (HERE, "words", False),
]


def never(artefact: str) -> Any:
    raise AssertionError(artefact)


def loaded(models: dict[str, Any], **route: Any) -> Policy:
    policy = load_policy(
        json.dumps({"policy": 1, "models": models, "routes": [{"use": "m", **route}]}), name="p", calibrate=never
    ).policy
    assert policy is not None
    return policy


@pytest.mark.parametrize(("entry", "means"), SILENT)
def test_what_a_model_is_told_hangs_on_what_is_known_of_it(entry: dict[str, Any], means: Thinks) -> None:
    assert loaded({"m": entry}).models["m"].thinking == means
    assert loaded({"m": {**entry, "thinking": "refuse"}}).models["m"].thinking == "refuse"


@pytest.mark.parametrize("entry", [HERE, {**THERE, "worker": True}])
@pytest.mark.parametrize("word", ["tell", "pass"])
def test_our_own_engine_heeds_no_such_word_and_no_file_may_say_so(entry: dict[str, Any], word: str) -> None:
    file = {"policy": 1, "models": {"m": {**entry, "thinking": word}}, "routes": [{"use": "m"}]}

    problems = [problem.render() for problem in load_policy(json.dumps(file), name="p", calibrate=never).problems]

    assert len(problems) == 1
    assert "drop or refuse" in problems[0]


@pytest.mark.parametrize(("entry", "asked", "hears"), TOLD)
def test_a_decision_names_those_who_do_not_hear_of_it(entry: dict[str, Any], asked: ThinkingAsked, hears: bool) -> None:
    policy = loaded({"m": {**THERE, "can": ["reasoning"]}, "n": entry}, fallback=["n"])

    decisions = [
        decide(policy, Facts(thinking=thinking), Estimate(abstains="none"), Snapshot(replicas={}))
        for thinking in (asked, "")
    ]

    assert decisions[0].untold == (() if hears else ("n",))
    assert decisions[1].untold == ()
