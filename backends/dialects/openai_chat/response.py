"""A whole chat.completion from events, and the error envelope.

`stop_reason` beside `finish_reason` is no field of OpenAI's: it is how vLLM names the stop string that was met, and absent
where none was.
"""

from dataclasses import dataclass, field

import msgspec

from backends.dialects.openai_chat.shapes import call_object, fingerprint, logprobs_object, usage_object
from backends.messages import ChatRequest, Delta, Event, Finish, FinishReason, TokenLogprob, ToolCall, Usage, Whole


def error_body(message: str, *, type: str, param: str | None = None, code: str | None = None) -> bytes:
    """OpenAI's error envelope.

    >>> error_body("no", type="invalid_request_error")
    b'{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}'
    """
    return msgspec.json.encode({"error": {"message": message, "type": type, "param": param, "code": code}})


@dataclass(slots=True)
class _Choice:
    texts: list[str] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    finish: FinishReason | None = None
    stopped_by: str = ""


class Completion:
    """Takes the events of an answer; `body()` is the answer. A Whole stands for itself."""

    def __init__(self, request: ChatRequest, model: str, id: str, created: int) -> None:
        self._request = request
        self._model, self._id, self._created = model, id, created
        self._choices: list[_Choice] = []
        self._usage: Usage | None = None
        self._whole: bytes | None = None

    def add(self, event: Event) -> None:
        if isinstance(event, Whole):
            self._whole = event.body
        elif isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, Delta):
            choice = self._of(event.index)
            choice.texts.append(event.text)
            choice.logprobs.extend(event.logprobs)
        elif isinstance(event, ToolCall):
            self._of(event.index).calls.append(event)
        elif isinstance(event, Finish):
            choice = self._of(event.index)
            choice.finish, choice.stopped_by = event.reason, event.stopped_by

    def body(self) -> bytes:
        if self._whole is not None:
            return self._whole
        self._of(self._request.n - 1)
        choices = [self._choice(index, choice) for index, choice in enumerate(self._choices)]
        usage = {} if self._usage is None else {"usage": usage_object(self._usage)}
        head = {"id": self._id, "object": "chat.completion", "created": self._created, "model": self._model}
        system = {"system_fingerprint": fingerprint(self._model)}
        return msgspec.json.encode({**head, "choices": choices, **usage, **system})

    def _of(self, index: int) -> _Choice:
        if not self._choices:
            self._choices = [_Choice() for _ in range(self._request.n)]
        return self._choices[index]

    def _choice(self, index: int, choice: _Choice) -> dict[str, object]:
        asked = self._request.sampling.logprobs
        text = "".join(choice.texts)
        calls = {"tool_calls": [call_object(call) for call in choice.calls]} if choice.calls else {}
        content = None if calls and not text else text
        stop = {"stop_reason": choice.stopped_by} if choice.stopped_by else {}
        return {
            "index": index,
            "message": {"role": "assistant", "content": content, "refusal": None, **calls},
            "logprobs": logprobs_object(tuple(choice.logprobs)) if asked else None,
            "finish_reason": choice.finish,
            **stop,
        }
