"""A policy as a log keeps it: the text of its file, and what was solved when that came into force.

So decisions can be made again where neither the classifier nor the files of weights are that the policy was read with.
"""

from collections.abc import Mapping

import msgspec

from policies.escalate.plan import Escalation
from policies.language.arms import Solved, joined, restored_arms, solved
from policies.language.compile import compile_policy, text_hash
from policies.language.load import shape
from policies.language.meanings.experiments import compile_experiments
from policies.language.meanings.models import compile_models
from policies.language.meanings.rollouts import compile_rollouts
from policies.language.problem import Source
from policies.policy import Choose, Policy


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """`choices` has one entry for each route: None where it does not choose by difficulty. `arms` are what its experiments'
    variants came to."""

    text: str
    name: str
    choices: tuple[Choose | None, ...]
    escalations: Mapping[str, Escalation] = {}
    arms: Mapping[str, Solved] = {}


def keep(policy: Policy, text: str) -> Kept:
    """`text` is what `policy` was read from."""
    choices = tuple([route.choose for route in policy.routes])
    arms = {name: solved(arm) for name, arm in policy.arms.items()}
    return Kept(text=text, name=policy.name, choices=choices, escalations=policy.escalations, arms=arms)


def restored(kept: Kept, digest: str = "") -> Policy:
    """The policy that was kept by the hash `digest`, else by its text's. Raises ValueError where its text is none that is read
    here."""
    found, problems = shape(Source.of(kept.name, kept.text), kept.text)
    if found is None or problems:
        raise ValueError("\n".join([problem.render() for problem in problems]))
    base = compile_policy(
        found.file,
        compile_models(found.file),
        kept.choices,
        escalations=kept.escalations,
        name=kept.name,
        digest=digest or text_hash(kept.text),
    )
    experiments = (*compile_experiments(found.file), *compile_rollouts(found.file))
    return joined(base, experiments, restored_arms(found, kept.arms, base, experiments))
