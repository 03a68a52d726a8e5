"""Items of `input` as turns of Chat Completions."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.calls import NO_ARGUMENTS
from backends.dialects.openai_responses.items import (
    CallOutput,
    FunctionCall,
    InputFile,
    InputImage,
    InputText,
    Item,
    Message,
    OutputText,
    Part,
    Reasoning,
    Refusal,
)
from backends.dialects.pictured import image_called

ChatTurn = dict[str, Any]

ASSISTANT_SAYS = (InputText, OutputText, Refusal)
OTHERS_SAY = (InputText, InputImage, InputFile)


def chat_turns(items: Sequence[Item]) -> list[ChatTurn]:
    """Raises RequestFault.

    What the assistant thought, said and called in one go are items here and one turn there: a thought begins a turn, words
    follow it, and calls come last.
    """
    turns: list[ChatTurn] = []
    pictured: list[InputImage] = []
    for index, item in enumerate(items):
        at = f"input[{index}]"
        if isinstance(item, CallOutput):
            turns.append({"role": "tool", "tool_call_id": item.call_id, "content": _output(item, len(pictured))})
            pictured += [part for part in item.output if isinstance(part, InputImage)]
            continue
        _show(turns, pictured)
        pictured = []
        if isinstance(item, Reasoning):
            if thought := _thought(item):
                _think(turns, thought)
        elif isinstance(item, FunctionCall):
            _call(turns, item)
        elif item.role == "assistant":
            _say(turns, _turn(item, at))
        else:
            turns.append(_turn(item, at))
    _show(turns, pictured)
    return turns


def _show(turns: list[ChatTurn], pictured: Sequence[InputImage]) -> None:
    """The images of the results before, as the user's: between them they would have no place."""
    if pictured:
        turns.append({"role": "user", "content": [_part(part) for part in pictured]})


def _think(turns: list[ChatTurn], thought: str) -> None:
    if _is_thought(turns):
        turns[-1]["reasoning_content"] += f"\n{thought}"
    else:
        turns.append({"role": "assistant", "content": "", "reasoning_content": thought})


def _say(turns: list[ChatTurn], said: ChatTurn) -> None:
    if _is_thought(turns):
        turns[-1].update(said)
    else:
        turns.append(said)


def _is_thought(turns: list[ChatTurn]) -> bool:
    """Whether the last turn has no more than a thought yet."""
    return bool(turns) and turns[-1].keys() == {"role", "content", "reasoning_content"} and not turns[-1]["content"]


def _call(turns: list[ChatTurn], item: FunctionCall) -> None:
    if not turns or turns[-1]["role"] != "assistant":
        turns.append({"role": "assistant", "content": ""})
    function = {"name": item.name, "arguments": item.arguments if item.arguments.strip() else NO_ARGUMENTS}
    turns[-1].setdefault("tool_calls", []).append({"id": item.call_id, "type": "function", "function": function})
    turns[-1]["content"] = turns[-1]["content"] or None


def _thought(item: Reasoning) -> str:
    """The thought itself where it is known, else what was told of it."""
    return "\n".join(part.text for part in item.content or item.summary)


def _output(item: CallOutput, shown: int) -> str | list[dict[str, Any]]:
    """`shown` images of results before it are the user's in the same turn."""
    if isinstance(item.output, str):
        return item.output
    numbers = count(shown + 1)
    return _texts(
        [part if isinstance(part, InputText) else InputText(image_called(next(numbers))) for part in item.output]
    )


def _texts(parts: list[InputText]) -> str | list[dict[str, Any]]:
    """A lone text is a string, and so is none: not every server reads a list."""
    if len(parts) > 1:
        return [{"type": "text", "text": part.text} for part in parts]
    return parts[0].text if parts else ""


def _turn(item: Message, at: str) -> ChatTurn:
    if isinstance(item.content, str):
        return {"role": item.role, "content": item.content}
    parts = list(_parts(item, at))
    if [part["type"] for part in parts] == ["text"]:
        return {"role": item.role, "content": parts[0]["text"]}
    return {"role": item.role, "content": parts or ""}


def _parts(item: Message, at: str) -> Iterator[dict[str, Any]]:
    allowed = ASSISTANT_SAYS if item.role == "assistant" else OTHERS_SAY
    for index, part in enumerate(item.content):
        where = f"{at}.content[{index}]"
        if not isinstance(part, allowed):
            raise RequestFault(f"{where}: a part of this type has no place in a message of role {item.role}.", where)
        if isinstance(part, InputFile) and not (part.file_data or part.file_id):
            raise RequestFault(f"{where}.file_data is required.", f"{where}.file_data")
        yield _part(part)


def _part(part: Part) -> dict[str, Any]:
    match part:
        case InputText(text=text) | OutputText(text=text):
            return {"type": "text", "text": text}
        case Refusal(refusal=refusal):
            return {"type": "refusal", "refusal": refusal}
        case InputImage(image_url=url, detail=detail):
            return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail else {})}}
        case InputFile():
            told = {"file_data": part.file_data, "filename": part.filename, "file_id": part.file_id}
            return {"type": "file", "file": {name: value for name, value in told.items() if value is not None}}
