"""The policy file, assembled from its sections: validation, messages, the JSON Schema and the reference come from here."""

from typing import Any, Literal

from pydantic import Field

from policies.language.closed import Closed
from policies.language.fields import Name, Title
from policies.language.sections.affinity import AffinityEntry
from policies.language.sections.budgets import BudgetEntry
from policies.language.sections.conversations import ConversationsEntry
from policies.language.sections.difficulty import DifficultyEntry
from policies.language.sections.escalations import EscalationEntry
from policies.language.sections.examples import TestEntry
from policies.language.sections.experiments import ExperimentEntry
from policies.language.sections.guardrails import GuardrailEntry
from policies.language.sections.models import ModelEntry
from policies.language.sections.resilience import ResilienceEntry
from policies.language.sections.rollouts import RolloutEntry
from policies.language.sections.routes import RouteEntry
from policies.language.sections.shadows import ShadowEntry


class PolicyFile(Closed):
    """A policy of Turnout: which models there are, and which one answers which request."""

    policy: Literal[1] = Field(description="Version of this format.", examples=[1])
    name: Title | None = Field(default=None, description="What this policy is called.", examples=["assistant-prod"])
    models: dict[Name, ModelEntry] = Field(min_length=1, description="What can answer, by name.")
    difficulty: DifficultyEntry = Field(
        default_factory=DifficultyEntry, description="How hard a request is, and how soon that must be known."
    )
    routes: list[RouteEntry] = Field(min_length=1, description="Which model, for which request; first match wins.")
    escalations: dict[Name, EscalationEntry] = Field(
        default={}, description="When an answer is given up for a larger model's, by name."
    )
    conversations: ConversationsEntry = Field(
        default_factory=ConversationsEntry, description="Changes within a conversation."
    )
    affinity: AffinityEntry = Field(default_factory=AffinityEntry, description="Prefixes and load.")
    resilience: ResilienceEntry = Field(default_factory=ResilienceEntry, description="Time limits and retries.")
    budgets: list[BudgetEntry] = Field(default=[], description="What may be spent, by whom; all of them apply.")
    guardrails: dict[Name, GuardrailEntry] = Field(
        default={}, description="What must not become worse, by name; for experiments and rollouts."
    )
    experiments: list[ExperimentEntry] = Field(default=[], description="Variants of this policy, tried beside it.")
    shadows: list[ShadowEntry] = Field(
        default=[], description="Models that are asked the same after the answer, for comparison alone."
    )
    rollouts: list[RolloutEntry] = Field(default=[], description="Changes of this policy, brought in step by step.")
    tests: list[TestEntry] = Field(default=[], description="Examples that must hold.")


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the policy file, for editors.

    >>> json_schema()["title"]
    'PolicyFile'
    """
    schema = _without_nulls(PolicyFile.model_json_schema(by_alias=True))
    assert isinstance(schema, dict)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _without_nulls(node: object) -> object:
    """A key that is not stated is left out; the file has no nulls."""
    if isinstance(node, list):
        return [_without_nulls(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _without_nulls(value) for key, value in node.items() if not (key == "default" and value is None)}
    stated = kept.get("anyOf")
    options = [option for option in stated if option != {"type": "null"}] if isinstance(stated, list) else []
    if len(options) == 1:
        return {**options[0], **{key: value for key, value in kept.items() if key != "anyOf"}}
    return {**kept, "anyOf": options} if options else kept
