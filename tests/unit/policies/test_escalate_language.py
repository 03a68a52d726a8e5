"""`escalations:` in a policy file: what it comes to, and what makes no sense, told where it stands."""

import pytest

from policies.escalate.plan import Weights
from policies.escalate.prior import PRIOR
from policies.language.load import Loaded, load_policy

FITTED = {"small": Weights(bias=0.25)}
GOOD = """policy: 1
models:
  small: {at: "http://a/v1", can: [logprobs]}
  large: {at: "http://b/v1"}
routes: [{use: small, escalate: careful}]
escalations:
  careful:
    to: large
    when: {p_correct: {under: 70%}}
    signals: [token_quantiles, refusal]
    hold_back: {tokens: 32, at_most: 300ms}
    at_most: 12% of requests
"""


def weights_of(path: str) -> dict[str, Weights]:
    if path != "weights.json":
        raise OSError(f"there is no {path}")
    return FITTED


def load(text: str) -> Loaded:
    return load_policy(text, name="p.yaml", calibrate=lambda _: pytest.fail("no target"), weigh=weights_of)


def test_an_escalation_comes_to_what_deciding_uses() -> None:
    policy = load(GOOD).policy
    assert policy is not None
    plan = policy.escalations["careful"]
    assert policy.routes[0].escalate == "careful"
    assert (plan.to, plan.under, plan.tokens, plan.hold_s, plan.at_most) == ("large", 0.7, 32, 0.3, 0.12)
    assert plan.signals == {"token_quantiles", "refusal"}
    assert plan.logprobs_of == {"small"}
    assert plan.weights == {"": PRIOR}


def test_fitted_weights_stand_before_the_prior() -> None:
    policy = load(GOOD + "    weights: weights.json\n").policy
    assert policy is not None
    plan = policy.escalations["careful"]
    assert (plan.weights_of("small"), plan.weights_of("large")) == (FITTED["small"], PRIOR)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "to: large",
            "to: lrge",
            "8:9 escalations.careful.to names the model lrge, which is not declared; did you mean",
        ),
        ("to: large", "to: small", "5:33 routes.0.escalate goes to small, and the route has no lower tier"),
        (
            "escalate: careful",
            "escalate: carful",
            "5:33 routes.0.escalate names the escalation carful, which is not decl",
        ),
        (", escalate: careful", "", "7:3 escalations.careful is used by no route"),
        (", can: [logprobs]", "", "10:5 escalations.careful.signals asks for token_quantiles, which small cannot tell"),
        ("[token_quantiles, ", "[token_quantile, ", "10:15 escalations.careful.signals should be one of"),
        (
            "to: large",
            "to: large\n    second_opinion: large",
            "9:21 escalations.careful.second_opinion is large itself",
        ),
        (
            "to: large",
            "to: large\n    second_opinion: lagre",
            "9:21 escalations.careful.second_opinion names the model lagre",
        ),
        (
            "[token_quantiles, ",
            "[agreement, ",
            "10:5 escalations.careful.signals asks for agreement; add second_opinion",
        ),
        ("signals:", "start_early: {under: 60%}\n    signals:", "10:26 escalations.careful.start_early.under is below"),
        ("70%", "70", "9:31 escalations.careful.when.p_correct.under needs a unit: 70%"),
        ("70%", "100%", "9:31 escalations.careful.when.p_correct.under should be above 0% and below 100%"),
        ("12% of requests", "12%", '12:14 escalations.careful.at_most should be a share of requests, such as "12% of'),
        ("12% of requests", "0% of requests", "12:14 escalations.careful.at_most should be above 0% and at most 100%"),
        ("tokens: 32", "tokens: 0", "11:25 escalations.careful.hold_back.tokens should be"),
        ("300ms", "11s", "11:38 escalations.careful.hold_back.at_most should be"),
        (
            "12% of requests\n",
            "1% of requests\n    weights: w\n",
            "13:14 escalations.careful.weights cannot be used: the",
        ),
        (
            "use: small",
            "when: {model.is: concrete}, use: requested",
            "5:55 routes.0.escalate has no use: a model named",
        ),
        ("signals:", "signal:", '10:5 escalations.careful.signal is not a key here; did you mean "signals"?'),
    ],
)
def test_what_makes_no_sense_is_told_where_it_stands(old: str, new: str, problem: str) -> None:
    assert old in GOOD
    loaded = load(GOOD.replace(old, new))
    assert loaded.policy is None
    told = [f"{found.line}:{found.column} {found.message}" for found in loaded.problems]
    assert len(told) == 1, told
    assert told[0].startswith(problem)
