"""The steps of an agent, from the turns of a conversation: its calls of tools and what came of them, as digests."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import msgspec

from backends.messages import ChatRequest, Message
from policies.escalate.stuck import Step, Stuck, Tried, is_failure, stuck_in

MOST_MESSAGES = 400
"""The latest ones; a row that is longer is long enough."""


def stuck_of(request: ChatRequest) -> Stuck:
    return stuck_in(steps_of(request.messages[-MOST_MESSAGES:]))


def steps_of(messages: Sequence[Message]) -> Iterator[Step]:
    """One for each turn of the model, oldest first. Calls without a result yet are none."""
    calls: list[Mapping[str, Any]] = []
    results: dict[str, str] = {}
    for message in messages:
        if message.role == "tool":
            results[message.tool_call_id] = message.text
        elif message.role == "assistant":
            if calls:
                yield from _step(calls, results)
            calls, results = list(message.tool_calls), {}
            if not calls:
                yield ()
    yield from _step(calls, results)


def _step(calls: Sequence[Mapping[str, Any]], results: Mapping[str, str]) -> Iterator[Step]:
    known = [(call, results[call["id"]]) for call in calls if call.get("id") in results]
    if known:
        yield [Tried(_asked(call), _digest(result), is_failure(result)) for call, result in known]


def _asked(call: Mapping[str, Any]) -> str:
    """The same for the same call, however its arguments are spaced and ordered."""
    function = call.get("function")
    if not isinstance(function, Mapping):  # a custom tool's call: alike with the same input
        return _digest(repr([call[key] for key in sorted(call) if key != "id"]))
    arguments = function.get("arguments") or ""
    with suppress(msgspec.DecodeError, TypeError, UnicodeError, RecursionError):  # else as it was written
        arguments = msgspec.json.encode(msgspec.json.decode(arguments), order="deterministic").decode()
    return _digest(f"{function.get('name')}\0{arguments}")


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
