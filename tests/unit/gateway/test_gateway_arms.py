"""Arms of what is in force: replicas are shared where a variant changes nothing, opened and closed with the rest."""

from pathlib import Path

import pytest

from gateway.live.build import LiveBuilder
from gateway.live.in_force import Live
from gateway.settings import Settings

POLICY = """policy: 1
models:
  small: {at: ["http://127.0.0.1:9001/v1", "http://127.0.0.1:9011/v1"], key: env:SMALL_KEY}
  large: {at: "http://127.0.0.1:9002/v1"}
routes: [{name: default, use: small, fallback: [large]}]
experiments:
  - name: e
    variants:
      control: {weight: 1}
      treat: {weight: 1, set: {models.small.serves: other, models.small.key: env:OTHER_KEY}}
      plain: {weight: 1, set: {resilience.attempts: 1}}
"""


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LiveBuilder:
    monkeypatch.setenv("SMALL_KEY", "one-secret")
    monkeypatch.setenv("OTHER_KEY", "another-secret")
    return LiveBuilder(Settings(policy=tmp_path / "p.yaml"))


def built(builder: LiveBuilder, text: str = POLICY, before: Live | None = None) -> Live:
    return builder.built(text, before)


async def test_an_arm_shares_what_it_does_not_change_and_has_its_own_of_what_it_does(builder: LiveBuilder) -> None:
    live = built(builder)
    treat, plain = live.arms["e=treat"], live.arms["e=plain"]

    assert treat.replicas["large"] == plain.replicas["large"] == live.replicas["large"]
    assert plain.replicas["small"] == live.replicas["small"]
    assert not set(treat.replicas["small"]) & set(live.replicas["small"])
    assert len(list(live)) == 5
    assert len(set(live)) == 5
    await builder.aclose()


async def test_replicas_of_arms_are_closed_with_their_policy_and_kept_by_the_next_one_that_has_them(
    builder: LiveBuilder,
) -> None:
    first = built(builder)
    second = built(builder, POLICY.replace("weight: 1, set: {resil", "weight: 2, set: {resil"), first)
    assert set(second) == set(first)

    await first.retire()
    assert {replica.lives for replica in second} == {3, 1, 2}  # large in three, treat's small in one, small in two
    third = built(builder, POLICY[: POLICY.index("experiments:")], second)
    await second.retire()

    assert {replica.lives for replica in third} == {1}
    assert {replica.lives for replica in set(second) - set(third)} == {0}
    await third.retire()
    await builder.aclose()


async def test_keys_and_names_of_arms_are_known_as_those_of_the_file(builder: LiveBuilder) -> None:
    policy = built(builder).policy

    assert [(m.name, m.key.name) for m in policy.every_model if m.key] == [
        ("small", "SMALL_KEY"),
        ("small", "OTHER_KEY"),
    ]
    await builder.aclose()
