"""What is known of one request before anything is decided. Counts, never text."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from policies.escalate.stuck import NOT_STUCK, Stuck
from policies.escalate.task import Task
from policies.experiments.plan import Unit

Ability = Literal["tools", "json_schema", "vision", "audio", "logprobs", "reasoning", "embeddings"]

ThinkingAsked = Literal["", "words", "tokens"]
"""How the client says how much is to be thought: not at all, in a word, or as tokens at most."""

AUTO = "auto"
"""The model name by which a client asks to be routed."""


class Uncarried(msgspec.Struct, frozen=True):
    """Why a model cannot be asked this at all, whatever it can do: a sentence, and the field of the request at fault."""

    message: str
    param: str = ""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The request as deciding sees it.

    `prompt_tokens` is an estimate that errs high; `exact_tokens` holds the count by the model's own tokenizer and
    chat template for the models where it is known. `history_tokens` of the estimate are what the conversation had come to
    with its last answer. `headers` holds only those that the policy reads, names in
    lower case. `allowed_models` is None when the caller may use every model. `prefix` is a stable name of how the prompt
    begins (its first block key in hex), or "": equal candidates are then told apart alike for equal prefixes. `choices` is
    how many answers are asked for. `longest_tokens` is what one window must hold where the prompt is several texts that
    stand for themselves (embeddings), 0 where it is one. `uncarried` holds the models whose dialect has no words for the
    request. `thinking` says in what the client states how much is to be thought.
    `units` are digests of who and what the request is of, as far as an experiment asks for them. `escalated_to` is the model
    that took over from a lower one in an earlier turn of the conversation, `was_on` the one that its last turn was for where
    another process, whose lines differ, may have decided that; "" where there was none or nobody remembers. `stuck` tells
    whether its calls of tools come to nothing, `task` what form of answer it asks for, each where the policy asks.
    """

    requested: str = AUTO
    prompt_tokens: int = 0
    exact_tokens: Mapping[str, int] = {}
    history_tokens: int = 0
    max_tokens: int | None = None
    needs: frozenset[Ability] = frozenset()
    stream: bool = False
    tools: int = 0
    images: int = 0
    user_turns: int = 1
    tenant: str = "default"
    plan: str = ""
    headers: Mapping[str, str] = {}
    allowed_models: frozenset[str] | None = None
    prefix: str = ""
    choices: int = 1
    longest_tokens: int = 0
    uncarried: Mapping[str, Uncarried] = {}
    thinking: ThinkingAsked = ""
    units: Mapping[Unit, str] = {}
    escalated_to: str = ""
    was_on: str = ""
    stuck: Stuck = NOT_STUCK
    task: Task = ""

    def tokens_for(self, model: str) -> int:
        """Prompt length in tokens of `model`: exact where known, else the estimate.

        >>> Facts(prompt_tokens=9, exact_tokens={"small": 7}).tokens_for("small")
        7
        """
        return self.exact_tokens.get(model, self.prompt_tokens)
