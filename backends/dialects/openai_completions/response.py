"""A whole text_completion from events."""

from dataclasses import dataclass, field

import msgspec

from backends.dialects.openai_chat.shapes import fingerprint, usage_object
from backends.dialects.openai_completions.choices import Choices, choice_object
from backends.messages import ChatRequest, Delta, Event, Finish, FinishReason, TokenLogprob, Usage, Whole


@dataclass(slots=True)
class _Choice:
    texts: list[str] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finish: FinishReason | None = None


class Completion:
    """Takes the events of an answer; `body()` is the answer. A Whole stands for itself."""

    def __init__(self, request: ChatRequest, model: str, id: str, created: int) -> None:
        self._head = {"id": id, "object": "text_completion", "created": created, "model": model}
        self._shared = Choices(request)
        self._choices = [_Choice() for _ in range(request.n)]
        self._usage: Usage | None = None
        self._whole: bytes | None = None

    def add(self, event: Event) -> None:
        if isinstance(event, Delta):
            self._choices[event.index].texts.append(event.text)
            self._choices[event.index].logprobs += event.logprobs
        elif isinstance(event, Finish):
            self._choices[event.index].finish = event.reason
        elif isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, Whole):
            self._whole = event.body

    def body(self) -> bytes:
        if self._whole is not None:
            return self._whole
        choices = [
            choice_object(
                index,
                self._shared.beginning(index) + "".join(choice.texts),
                self._shared.logprobs(index, tuple(choice.logprobs)),
                choice.finish,
            )
            for index, choice in enumerate(self._choices)
        ]
        usage = {} if self._usage is None else {"usage": usage_object(self._usage)}
        system = {"system_fingerprint": fingerprint(str(self._head["model"]))}
        return msgspec.json.encode({**self._head, "choices": choices, **usage, **system})
