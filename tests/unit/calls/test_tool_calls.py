"""What a model writes, cut anywhere, comes out as the same text and calls; and no text is lost on the way."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.engine.calls.bare import BareCalls
from backends.engine.calls.choose import READERS, reader_for, refuse_tools
from backends.engine.calls.reader import Call, CallFormat, CallReader, format_of
from backends.engine.calls.tagged import TaggedCalls
from backends.engine.upstream.speech import Speech
from backends.errors import UpstreamError
from backends.messages import ChatRequest, Delta, Message, TokenLogprob, ToolCall

TOOLS = ({"type": "function", "function": {"name": "look"}}, {"type": "function", "function": {"name": "add"}})
LOOK, ADD = Call("look", '{"at":"a"}'), Call("add", '{"n":[1,2]}')
TAGGED_LOOK = '<tool_call>\n{"name": "look", "arguments": {"at": "a"}}\n</tool_call>'
TAGGED_ADD = '<tool_call>{"name": "add", "arguments": {"n": [1, 2]}}</tool_call>'
QUOTE = Call("look", '{"at":"say \\"</tool_call>\\" </tool_call>"}')
TAGGED_QUOTE = r"""<tool_call>{"name": "look", "arguments": {"at": "say \"</tool_call>\" </tool_call>"}}</tool_call>"""

WRITTEN: list[tuple[CallFormat, str, list[str | Call]]] = [
    ("hermes", "plain text", ["plain text"]),
    ("hermes", TAGGED_LOOK, [LOOK]),
    ("hermes", f"Let me see.\n{TAGGED_LOOK}", ["Let me see.", LOOK]),
    ("hermes", f"{TAGGED_LOOK}\n{TAGGED_ADD}\n", [LOOK, ADD]),
    ("hermes", f"{TAGGED_LOOK}\n\nThat was it.", [LOOK, "That was it."]),
    ("hermes", TAGGED_ADD.removesuffix("</tool_call>"), [ADD]),
    ("hermes", "a < b and <tool", ["a < b and <tool"]),
    ("hermes", "<tool_call>{never mind</tool_call> ok", ["<tool_call>{never mind</tool_call> ok"]),
    ("hermes", '<tool_call>{"name": "look", "argu', ['<tool_call>{"name": "look", "argu']),
    ("hermes", '<tool_call>{"name": "look", "arguments": "{}"}</tool_call>', [Call("look", "{}")]),
    ("hermes", f"{TAGGED_QUOTE}{TAGGED_ADD} ok", [QUOTE, ADD, "ok"]),
    ("hermes", TAGGED_QUOTE.removesuffix("</tool_call>"), [QUOTE]),
    ("hermes", f'<tool_call>{{"name</tool_call> or {TAGGED_LOOK}!', ['<tool_call>{"name</tool_call> or', LOOK, "!"]),
    ("hermes", '<tool_call>say "hm</tool_call> ok', ['<tool_call>say "hm</tool_call> ok']),
    ("hermes", f"<tool_call>{TAGGED_LOOK}", [f"<tool_call>{TAGGED_LOOK}"]),
    ("llama3", '{"name": "look", "parameters": {"at": "a"}}', [LOOK]),
    ("llama3", '\n{"name": "look", "parameters": {"at": "a"}}; {"name": "add", "parameters": {"n": [1, 2]}}', [LOOK, ADD]),
    ("llama3", '{"name": "Paris", "parameters": {}}', ['{"name": "Paris", "parameters": {}}']),
    ("llama3", '{"name": "look", "parameters": {"at": "a"}} done', ['{"name": "look", "parameters": {"at": "a"}} done']),
    ("llama3", "It is {", ["It is {"]),
    ("mistral", ' [{"name": "look", "arguments": {"at": "a"}}, {"name": "add", "arguments": {"n": [1, 2]}}]', [LOOK, ADD]),
    ("mistral", "[1, 2]", ["[1, 2]"]),
    ("mistral", "No [tools] here", ["No [tools] here"]),
]  # fmt: skip


def reader(written: CallFormat) -> CallReader:
    return READERS[written](frozenset({"look", "add"}))


def read(written: CallFormat, pieces: Sequence[str]) -> list[str | Call]:
    """Everything, with texts that follow each other joined."""
    reading, joined = reader(written), list[str | Call]()
    found = [piece for text in pieces for piece in reading.push(text)] + reading.finish()
    for piece in found:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


@pytest.mark.parametrize(("written", "text", "expected"), WRITTEN)
def test_every_form_is_read_whole_and_letter_by_letter(
    written: CallFormat, text: str, expected: list[str | Call]
) -> None:
    assert read(written, [text]) == read(written, list(text)) == expected


@given(case=st.sampled_from(WRITTEN), data=st.data())
def test_where_an_answer_is_cut_makes_no_difference(
    case: tuple[CallFormat, str, list[str | Call]], data: st.DataObject
) -> None:
    written, text, expected = case
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))

    assert read(written, [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]) == expected


SAID_BY = {"hermes": ("<tool_call>", "arguments"), "llama3": ("", "parameters"), "mistral": ("", "arguments")}
NO_OBJECT = [
    '{"x": "\\ud800"}', '{"\\udfff": 1}', '{"x": NaN}', '{"x": -Infinity}', '{"x": 1e999}', '{"x": "a\nb"}', "[1]", "7",
    "null", '"never mind"', '"[1]"', '"{\\"x\\": NaN}"', "[" * 100_000, '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}",
]  # fmt: skip


@pytest.mark.parametrize("arguments", NO_OBJECT, ids=lambda text: text[:16])
@pytest.mark.parametrize("written", sorted(READERS))
def test_arguments_that_are_no_json_object_make_no_call_and_the_answer_is_text_to_the_letter(
    written: CallFormat, arguments: str
) -> None:
    opens, key = SAID_BY[written]
    said = f'{{"name": "look", "{key}": {arguments}}}'
    text = f"[{said}]" if written == "mistral" else opens + said

    assert read(written, [text]) == [text]


scraps = st.sampled_from(["<tool_call>", "</tool_call>", "\n", " ", "{", '{"name": "look"}', "[", "text", ";", "<tool"])


@given(written=st.sampled_from(sorted(READERS)), pieces=st.lists(scraps, max_size=8))
def test_what_is_no_call_loses_no_letter(written: CallFormat, pieces: list[str]) -> None:
    found = read(written, pieces)

    if not any(isinstance(piece, Call) for piece in found):
        assert "".join(map(str, found)) == "".join(pieces)


def test_text_passes_on_before_the_answer_ends() -> None:
    tagged, bare = TaggedCalls(), BareCalls("{", "parameters", frozenset({"look"}))

    assert tagged.push("Hello there <") == ["Hello there"]
    assert tagged.push("b>") == [" <b>"]
    assert bare.push("Hello") == ["Hello"]
    assert bare.push(" {") == [" {"]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{%- if tools %}{{ '<tool_call>' }}{% endif %}", "hermes"),
        ("{%- if tools %}<tool_call><function=name>{% endif %}", None),
        ("{{ '[TOOL_CALLS] [' }}{{ tools }}", "mistral"),
        ("{{ '[TOOL_CALLS]' }}{{ name }}[ARGS]{{ tools }}", None),
        ("<|start_header_id|>{% if tools %}{\"name\": name, \"parameters\": x}", "llama3"),
        ("<|im_start|>{{ messages }}", None),
    ],
)  # fmt: skip
def test_the_form_is_known_from_the_chat_template(template: str, expected: CallFormat | None) -> None:
    assert format_of(template) == expected


def asks(**fields: object) -> ChatRequest:
    return ChatRequest(raw=b"", model="m", messages=(Message(role="user", text="x"),), **{"tools": TOOLS, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "speaks", "param"),
    [
        ({}, None, "tools"),
        ({"tool_choice": "required"}, "hermes", "tool_choice"),
        ({"tool_choice": "function"}, "hermes", "tool_choice"),
        ({"response_format": {"type": "json_object"}}, "hermes", "response_format"),
    ],
)
def test_what_a_model_cannot_be_held_to_is_refused_by_name(
    fields: dict[str, object], speaks: CallFormat | None, param: str
) -> None:
    with pytest.raises(UpstreamError) as refusal:
        refuse_tools(asks(**fields), speaks)

    assert (refusal.value.kind, refusal.value.sent, refusal.value.param) == ("unsupported", False, param)


@pytest.mark.parametrize("fields", [{"tool_choice": "none"}, {"tools": ()}])
def test_who_may_not_call_is_read_as_text(fields: dict[str, object]) -> None:
    refuse_tools(asks(**fields), None)

    assert reader_for(asks(**fields), "hermes") is None


def logprob(token: str) -> TokenLogprob:
    return TokenLogprob(token, token.encode(), -1.0)


def test_log_probabilities_stay_with_their_text_and_those_of_calls_are_not_told() -> None:
    speech = Speech(2, TaggedCalls())
    said = [*speech.say("a <", [logprob("a"), logprob(" <")]), *speech.say("b", [logprob("b")])]
    said += [*speech.say(TAGGED_LOOK, [logprob("call")]), *speech.say(" after", [logprob(" after")]), *speech.end()]

    texts = [event for event in said if isinstance(event, Delta)]
    [call] = [event for event in said if isinstance(event, ToolCall)]
    assert "".join(event.text for event in texts) == "a <bafter"
    assert [entry.token for event in texts for entry in event.logprobs] == ["a", " <", "b", " after"]
    assert (call.name, json.loads(call.arguments), call.place, call.index) == ("look", {"at": "a"}, 0, 2)


@pytest.mark.parametrize(("one_call", "expected"), [(False, ["look", "add"]), (True, ["look"])])
def test_calls_are_numbered_with_ids_of_their_own_and_one_is_enough_where_one_was_asked_for(
    one_call: bool, expected: list[str]
) -> None:
    speech = Speech(0, TaggedCalls(), one_call=one_call)

    calls = [event for event in speech.say(TAGGED_LOOK + TAGGED_ADD, []) if isinstance(event, ToolCall)]

    assert [call.name for call in calls] == expected
    assert [call.place for call in calls] == list(range(len(expected)))
    assert len({call.id for call in calls}) == len(expected)
    assert all(call.id.isalnum() and len(call.id) == 9 for call in calls)
