"""Each field of a Chat Completions body in Messages. A table: what is mapped, and what `MAPPING.md` says of it, is one row.

A field without a row is refused by its name. A null says nothing, as in Chat Completions.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from backends.dialects.anthropic_messages.server.tools import choice_of, tools_of
from backends.dialects.anthropic_messages.server.turns import spoken
from backends.dialects.faults import RequestFault, decode_body
from backends.dialects.openai_chat.forward import SALT
from backends.dialects.table import Field

Made = Mapping[str, Any]
"""Fields of a Messages body; values may be raw JSON. Objects that several fields write to are put together."""

Write = Callable[[msgspec.Raw, str], Made]
"""The value of the field with this name. Raises RequestFault."""

Row = Field[Write]

_ANY = msgspec.json.Decoder()


def same(name: str, to: str = "", told: str = "the same") -> Row:
    """The value as it was written."""
    return Field(name, to or name, told, lambda raw, _: {to or name: raw})


def idle(name: str, *values: object) -> Row:
    """Values that ask for nothing are left out; any other has no counterpart."""

    def write(raw: msgspec.Raw, name: str) -> Made:
        if value_of(raw, name) not in values:
            raise no_words(name)
        return {}

    return Field(name, "", f"only {', '.join(map(shown, values))}, which asks for nothing", write)


def refused(name: str) -> Row:
    def write(raw: msgspec.Raw, name: str) -> Made:
        raise no_words(name)

    return Field(name, "", "refused", write)


def free(name: str, told: str) -> Row:
    """Changes no answer."""
    return Field(name, "", f"left out: {told}", lambda raw, _: {})


def chosen(name: str, to: str, words: Mapping[str, Made], told: str) -> Row:
    """One of a few words."""

    def write(raw: msgspec.Raw, name: str) -> Made:
        word = value_of(raw, name)
        if not isinstance(word, str) or word not in words:
            raise RequestFault(f"{name}: {shown(word)} has no counterpart in the dialect of this model.", name)
        return words[word]

    return Field(name, to, told, write)


def value_of(raw: msgspec.Raw, name: str) -> Any:
    """Not every field was decoded before. Raises RequestFault."""
    return decode_body(_ANY, bytes(raw), name)


def no_words(name: str) -> RequestFault:
    return RequestFault(f"{name} has no counterpart in the dialect of this model.", name)


def shown(value: object) -> str:
    """A value as it is written, bounded."""
    return f"`{msgspec.json.encode(value).decode()[:40]}`"


def _temperature(raw: msgspec.Raw, name: str) -> Made:
    if float(value_of(raw, name)) > 1:
        raise RequestFault(f"{name} is at most 1 in the dialect of this model.", name)
    return {name: raw}


def _stop(raw: msgspec.Raw, name: str) -> Made:
    stop = value_of(raw, name)
    sequences = [stop] if isinstance(stop, str) else stop
    return {"stop_sequences": sequences} if sequences else {}


def _top_k(raw: msgspec.Raw, name: str) -> Made:
    return {name: raw} if value_of(raw, name) > 0 else {}


def _one_call(raw: msgspec.Raw, name: str) -> Made:
    return {"tool_choice": {"disable_parallel_tool_use": True}} if value_of(raw, name) is False else {}


def _stream_options(raw: msgspec.Raw, name: str) -> Made:
    for key in value_of(raw, name):
        if key not in ("include_usage", "include_obfuscation"):
            raise no_words(f"{name}.{key}")
    return {}


def _modalities(raw: msgspec.Raw, name: str) -> Made:
    if value_of(raw, name) != ["text"]:
        raise no_words(name)
    return {}


class _Schema(msgspec.Struct, forbid_unknown_fields=True):
    schema: msgspec.Raw
    name: str = ""
    strict: bool | None = None


class _Format(msgspec.Struct):
    type: str
    json_schema: msgspec.Raw = msgspec.Raw()


def _format(raw: msgspec.Raw, name: str) -> Made:
    form = msgspec.json.decode(raw, type=_Format)
    if form.type == "text":
        return {}
    if form.type != "json_schema":
        raise RequestFault(f"{name}.type: only text and json_schema have a counterpart here.", f"{name}.type")
    at = f"{name}.json_schema"
    try:
        schema = msgspec.json.decode(form.json_schema, type=_Schema).schema
    except msgspec.ValidationError:
        raise RequestFault(f"{at}: beside schema, name and strict nothing has a counterpart here.", at) from None
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


def _effort(word: str) -> Made:
    return {"output_config": {"effort": word}}


EFFORTS: Mapping[str, Made] = MappingProxyType(
    {
        "none": {"thinking": {"type": "disabled"}},
        **{word: _effort(word) for word in ("low", "medium", "high", "xhigh", "max")},
    }
)
TIERS: Mapping[str, Made] = MappingProxyType(
    {"auto": {"service_tier": "auto"}, "default": {"service_tier": "standard_only"}}
)

FIELDS: tuple[Row, ...] = (
    Field("model", "model", "the name that the server knows it by", lambda raw, _: {}),
    Field("messages", "messages, system", "turns; see below", lambda raw, _: spoken(raw)),
    same("max_completion_tokens", "max_tokens"),
    same("max_tokens", told="the same; where neither is stated, the model's `fits.output`"),
    same("stream"),
    Field("stream_options", "", "`include_usage` is heeded here", _stream_options),
    Field("temperature", "temperature", "the same, up to 1", _temperature),
    same("top_p"),
    Field("top_k", "top_k", "the same; 0 and -1 are left out", _top_k),
    Field("stop", "stop_sequences", "a list", _stop),
    Field("tools", "tools", "functions: `parameters` is `input_schema`, of type `object` where it says none", tools_of),
    Field(
        "tool_choice", "tool_choice", "`required` is `any`, a named function `tool`, `auto` and `none` alike", choice_of
    ),
    Field("parallel_tool_calls", "tool_choice.disable_parallel_tool_use", "the opposite", _one_call),
    Field(
        "response_format", "output_config.format", "`json_schema` its schema, kept to whatever `strict` says", _format
    ),
    chosen("reasoning_effort", "output_config.effort", EFFORTS, "`low` to `max`; `none` is `thinking` disabled"),
    same("thinking", told="the same: this dialect's own field, as clients of Chat Completions send it"),
    same("cache_control", told="the same: this dialect's own field, as clients of Chat Completions send it"),
    Field("user", "metadata.user_id", "the same", lambda raw, _: {"metadata": {"user_id": raw}}),
    Field("safety_identifier", "metadata.user_id", "the same", lambda raw, _: {"metadata": {"user_id": raw}}),
    chosen("service_tier", "service_tier", TIERS, "`auto`, and `standard_only` for `default`"),
    idle("n", 1),
    idle("presence_penalty", 0),
    idle("frequency_penalty", 0),
    idle("repetition_penalty", 1),
    idle("min_p", 0),
    idle("logit_bias", {}),
    idle("logprobs", False),
    idle("top_logprobs", 0),
    idle("store", False),
    Field("modalities", "", 'only `["text"]`, which asks for nothing', _modalities),
    *[refused(name) for name in ("seed", "audio", "verbosity", "web_search_options", "functions", "function_call")],
    free("metadata", "labels for completions that are stored"),
    free(SALT, "whose cache is read is not the client's to say"),
    free("prediction", "it may save time and changes no answer"),
    free("prompt_cache_key", "it may save time and changes no answer"),
    free("prompt_cache_retention", "it may save time and changes no answer"),
)
BY_NAME: Mapping[str, Row] = MappingProxyType({field.name: field for field in FIELDS})
