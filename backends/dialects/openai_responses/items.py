"""The items of `input` and the parts of their content as msgspec checks them. A type that is not here is refused by name.

The docstrings are what `MAPPING.md` says of them.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from backends.dialects.faults import RequestFault, decode_body, decode_past_nulls

Status = Literal["in_progress", "completed", "incomplete"]
Id = Annotated[str, Meta(min_length=1)]


class InputText(msgspec.Struct, tag="input_text", forbid_unknown_fields=True):
    """a part `text`; a lone one is a string"""

    text: str


class InputImage(msgspec.Struct, tag="input_image", forbid_unknown_fields=True):
    """a part `image_url` with its `detail`; not by `file_id`"""

    image_url: str
    detail: Literal["low", "high", "auto"] | None = None
    file_id: None = None


class InputFile(msgspec.Struct, tag="input_file", forbid_unknown_fields=True):
    """a part `file`, by `file_data` or `file_id`"""

    file_data: str | None = None
    filename: str | None = None
    file_id: str | None = None
    file_url: None = None


class OutputText(msgspec.Struct, tag="output_text", forbid_unknown_fields=True):
    """a part `text`, without annotations; how it was drawn (`logprobs`) is left out"""

    text: str
    annotations: Annotated[list[Any], Meta(max_length=0)] | None = None
    logprobs: Any = None


class Refusal(msgspec.Struct, tag="refusal", forbid_unknown_fields=True):
    """a part `refusal`"""

    refusal: str


Part = InputText | InputImage | InputFile | OutputText | Refusal


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """a turn of its role"""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[Part]
    type: Literal["message"] = "message"
    id: str | None = None
    status: Status | None = None
    phase: None = None


class SummaryText(msgspec.Struct, tag="summary_text", forbid_unknown_fields=True):
    text: str


class ReasoningText(msgspec.Struct, tag="reasoning_text", forbid_unknown_fields=True):
    text: str


class Reasoning(msgspec.Struct, tag="reasoning", forbid_unknown_fields=True):
    """`reasoning_content` of the assistant's turn that follows; its summary where the thought is not told; not encrypted"""

    id: str | None = None
    summary: list[SummaryText] = []
    content: list[ReasoningText] | None = None
    encrypted_content: None = None
    status: Status | None = None


class FunctionCall(msgspec.Struct, tag="function_call", forbid_unknown_fields=True):
    """one of `tool_calls` of the assistant's turn before it"""

    call_id: Id
    name: str
    arguments: str
    id: str | None = None
    status: Status | None = None


class CallOutput(msgspec.Struct, tag="function_call_output", forbid_unknown_fields=True):
    """a turn of role `tool`; `input_image` is `[image 1]` there, and the user's after it"""

    call_id: Id
    output: str | list[InputText | InputImage]
    id: str | None = None
    status: Status | None = None


Item = Message | Reasoning | FunctionCall | CallOutput


class _Kind(msgspec.Struct):
    type: str = "message"


_KIND = msgspec.json.Decoder(_Kind)
_DECODERS: dict[str, "msgspec.json.Decoder[Any]"] = {
    "message": msgspec.json.Decoder(Message),
    "reasoning": msgspec.json.Decoder(Reasoning),
    "function_call": msgspec.json.Decoder(FunctionCall),
    "function_call_output": msgspec.json.Decoder(CallOutput),
}


def read_item(raw: bytes, at: str) -> Item:
    """Raises RequestFault with the path of what is wrong, which begins with `at`.

    >>> read_item(b'{"role": "user", "content": "hi"}', "input[0]").content
    'hi'
    """
    try:
        kind = decode_body(_KIND, raw).type
        if kind not in _DECODERS:
            instead = " Nothing is kept: send the item itself." if kind == "item_reference" else ""
            raise RequestFault(f"type {kind[:64]!r} cannot be honoured here.{instead}", "type")
        item: Item = decode_past_nulls(_DECODERS[kind], raw, depth=2)
    except RequestFault as fault:
        param = f"{at}.{fault.param}" if fault.param else at
        raise RequestFault(f"{at}.{fault.message}" if fault.param else f"{at}: {fault.message}", param) from None
    return item
