"""`explore:` in a policy file."""

import pytest

from policies.estimates import Calibration
from policies.language.load import Loaded, load_policy

SAMPLE = Calibration(p_good={"small": (0.2, 0.5, 0.9), "large": (0.8, 0.9, 0.95)})
HEAD = "policy: 1\nmodels: {small: {at: 'http://s/v1'}, large: {at: 'http://l/v1'}}\nroutes:\n"
CHOICE = "choose: {by: difficulty, among: [small, large], target: {cost: 50% of large}}"


def load(route: str) -> Loaded:
    return load_policy(f"{HEAD}  - {{{route}}}\n", name="p.yaml", calibrate=lambda _: SAMPLE)


def test_a_share_of_conversations_is_read() -> None:
    for text, share in ((f"{CHOICE}, explore: 2%", 0.02), (CHOICE, 0.0)):
        policy = load(text).policy
        assert policy is not None
        assert policy.routes[0].explore == share


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("use: small, explore: 2%", "explore has no tiers to draw from; it stands beside choose"),
        (f"{CHOICE}, explore: 2", "explore needs a unit: 2%"),
        (f"{CHOICE}, explore: 0%", "explore should be above 0% and below 100%"),
        (f"{CHOICE}, explore: 100%", "explore should be above 0% and below 100%"),
    ],
)
def test_what_makes_no_sense_is_told(text: str, told: str) -> None:
    loaded = load(text)

    assert loaded.policy is None
    assert told in loaded.problems[0].message
