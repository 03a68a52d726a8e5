"""What a schema may ask for: refused in words, in time, once; and what the upstream makes of it."""

import asyncio
import threading
import time
from contextlib import suppress

import pytest
from generating import batch_of, until
from hypothesis import given, settings
from hypothesis import strategies as st
from json_vocabulary import QUOTE_EARLY, SIZE, VOCABULARY, JsonVocabulary, asks, closed, compiled, grammars
from stub_models import PrefixModel, StubVocabulary

from backends.engine.api import GrammarFault
from backends.engine.grammar.asked import asked_schema
from backends.engine.grammar.compile import CACHED, MOST_WAITING, Grammars
from backends.engine.loop import Engine
from backends.engine.thread.courier import Courier
from backends.engine.upstream.local import LocalUpstream
from backends.errors import UpstreamError
from backends.messages import ChatRequest, Finish, Message, Sampling
from backends.upstream import UpstreamCall

PATIENCE_S = 3.0
"""Far above the bound that is documented (0.2 s), for machines that have other things to do."""


def nested(depth):
    schema = {"type": "integer"}
    for _ in range(depth):
        schema = closed(a=schema)
    return schema


REFUSED = {
    "not": ({"not": {"type": "string"}}, '"not"'),
    "uniqueItems": ({"type": "array", "uniqueItems": True}, '"uniqueItems"'),
    "conditional": ({"if": {"type": "string"}, "then": {"minLength": 3}}, '"if"'),
    "contains": ({"type": "array", "contains": {"type": "integer"}}, '"contains"'),
    "propertyNames": ({"type": "object", "propertyNames": {"pattern": "^a"}}, '"propertyNames"'),
    "dependentRequired": ({"type": "object", "dependentRequired": {"a": ["b"]}}, '"dependentRequired"'),
    "overlapping oneOf": ({"oneOf": [{"type": "string"}, {"const": "a"}]}, "oneOf"),
    "unknown format": ({"type": "string", "format": "banana"}, "banana"),
    "unknown type": ({"type": "banana"}, "banana"),
    "remote reference": ({"$ref": "https://example.com/x.json"}, "https://example.com/x.json"),
    "file reference": ({"$ref": "file:///etc/passwd"}, "file:///etc/passwd"),
    "dangling reference": ({"$ref": "#/$defs/none"}, "/$defs/none"),
    "reference to itself": ({"$ref": "#"}, "cannot be followed"),
    "ring of references": ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, ""),
    "nothing fits": ({"type": "integer", "minimum": 5, "maximum": 3}, "minimum"),
    "required and forbidden": ({"type": "object", "properties": {"a": False}, "required": ["a"]}, "'a'"),
    "back-reference": ({"type": "string", "pattern": r"^(a)\1$"}, "backreferences"),
    "look-ahead": ({"type": "string", "pattern": "^(?=a)a$"}, "look-around"),
    "broken pattern": ({"type": "string", "pattern": "(["}, "regex parse error"),
    "nested very deeply": (nested(300), ""),
    "a huge enum": ({"enum": [f"value number {n}" for n in range(100_000)]}, "longer than 32768 bytes"),
    "a wide object": ({"type": "object", "properties": {f"k{n}": {} for n in range(1500)}}, "items"),
    "a slow multiple": ({"type": "integer", "multipleOf": 999_983}, "multipleOf"),
    "two multiples": ({"allOf": [{"type": "integer", "multipleOf": n} for n in (997, 991)]}, "multipleOf"),
    "a fine multiple": ({"type": "number", "multipleOf": 1.000001}, "multipleOf"),
    "lenient by order": ({"x-guidance": {"lenient": True}, "not": {"type": "string"}}, '"not"'),
}  # fmt: skip
HOSTILE = {
    "exponential pattern": {"type": "string", "pattern": "^(a+)+$"},
    "exponential automaton": {"type": "string", "pattern": "^(a|b)*a(a|b){60}$"},
    "repeated repeats": {"type": "string", "pattern": "^(((a{1,100}){1,100}){1,100})$"},
    "long repeats": {"type": "string", "pattern": r"^(\p{L}{1,500}\s){1,500}$"},
    "many searches": {"anyOf": [{"type": "string", "pattern": f"{n}.*{n + 1}"} for n in range(800)]},
    "a long string": {"type": "string", "minLength": 1_000_000},
    "a long array": {"type": "array", "items": {"type": "array", "minItems": 10**6}, "minItems": 10**9},
    "branches to the power": {
        "allOf": [{"anyOf": [closed(**{f"a{i}{j}": {"type": "string"}}) for j in range(8)]} for i in range(8)]
    },
    "a web of references": {
        "$defs": {f"d{n}": closed(a={"$ref": f"#/$defs/d{(n + 1) % 99}"}, b={"$ref": "#/$defs/d0"}) for n in range(99)},
        "$ref": "#/$defs/d0",
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_followed_is_refused_by_its_name_and_soon(name):
    schema, words = REFUSED[name]
    started = time.monotonic()

    with pytest.raises(UpstreamError) as error:
        compiled(schema)

    assert time.monotonic() - started < PATIENCE_S
    assert (error.value.kind, error.value.param, error.value.sent) == ("unsupported", "response_format", False)
    assert words in error.value.message
    assert len(error.value.message) < 400
    assert "\n" not in error.value.message


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_is_compiled_or_refused_and_masked_in_bounded_time(name):
    started = time.monotonic()

    with suppress(GrammarFault, UpstreamError):
        state = compiled(HOSTILE[name]).begin()
        for byte in b'"' + b"a" * 60:
            allowed = state.allowed()
            if not allowed[byte >> 3] >> (byte & 7) & 1:
                break
            state.accept(byte)

    assert time.monotonic() - started < PATIENCE_S


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = [
    *("type", "properties", "required", "items", "prefixItems", "additionalProperties", "patternProperties", "enum"),
    *("const", "anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "pattern", "format", "minimum", "maximum"),
    *("multipleOf", "minLength", "maxLength", "minItems", "maxItems", "x-guidance"),
]


@settings(deadline=None, max_examples=80)
@given(
    st.dictionaries(st.sampled_from(KEYWORDS), json_values | st.dictionaries(st.sampled_from(KEYWORDS), json_values))
)
def test_any_object_whatever_is_a_grammar_or_an_unsupported_request(schema):
    try:
        compiled(schema).begin().allowed()
    except UpstreamError as error:
        fault = error
    else:
        return

    assert (fault.kind, fault.param) == ("unsupported", "response_format")


def test_unsupported_formats_of_the_answer_are_named():
    for asked, words in (
        ({"type": "yaml"}, "yaml"),
        ({"type": "json_schema", "json_schema": {"name": "x"}}, "json_schema.schema"),
        ({"type": "json_schema", "json_schema": {"schema": True}}, "json_schema.schema"),
        ({}, "type"),
    ):
        with pytest.raises(UpstreamError, match=words):
            asked_schema(asked)
    assert asked_schema(None) is asked_schema({"type": "text"}) is None


async def test_a_schema_is_compiled_once_and_the_least_used_one_is_forgotten():
    by = Grammars(VOCABULARY, SIZE)
    words = [asked_schema(asks({"const": n})) for n in range(CACHED + 1)]

    first = await by.compiled(words[0])
    again = [await by.compiled(words[0]) for _ in range(2)]
    for other in words[1:]:
        await by.compiled(other)

    assert again == [first, first]
    assert await by.compiled(words[0]) is not first
    by.close()


async def test_many_choices_that_ask_at_once_share_one_grammar():
    schema = asked_schema(asks(closed(n={"type": "integer"})))

    found = await asyncio.gather(*[grammars().compiled(schema) for _ in range(8)])

    assert len(set(map(id, found))) == 1


class Slow(JsonVocabulary):
    """Encodes when it is let go."""

    def __init__(self):
        super().__init__()
        self.let_go = threading.Event()
        self.let_go.set()

    def encode(self, text):
        self.let_go.wait(20)
        return super().encode(text)


async def test_a_line_of_schemas_that_grows_too_long_is_told_so_while_the_loop_goes_on():
    vocabulary = Slow()
    by = Grammars(vocabulary, SIZE)
    schemas = [asked_schema(asks({"const": n})) for n in range(MOST_WAITING + 5)]
    vocabulary.let_go.clear()

    asked = [asyncio.create_task(by.compiled(schema)) for schema in schemas]
    done, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)

    assert [each.exception().kind for each in done] == ["overloaded"] * 5
    assert len(waiting) == MOST_WAITING
    vocabulary.let_go.set()
    await asyncio.gather(*waiting)
    assert await by.compiled(schemas[-1])
    by.close()


@pytest.fixture
async def upstream():
    courier = Courier()
    model = PrefixModel(blocks=256, vocab_size=SIZE)
    engine = Engine(lambda: batch_of(model, VOCABULARY), step_ended=courier.step_ended)
    made = LocalUpstream(
        engine, courier, StubVocabulary(), revision="r", window=1024, grammars=Grammars(VOCABULARY, SIZE)
    )
    await asyncio.to_thread(until, lambda: not engine.why_not)
    yield made
    await made.aclose()


async def events(upstream, response_format, **fields):
    asked = ChatRequest(
        raw=b"",
        model="m",
        messages=(Message(role="user", text="an answer, please"),),
        sampling=Sampling(temperature=0.8, seed=4, logit_bias=QUOTE_EARLY),
        response_format=response_format,
        **fields,
    )
    answer = await upstream.start(UpstreamCall(request=asked, prepared=upstream.prepare(asked, b"")))
    return [event async for event in answer]


async def test_a_refused_schema_leaves_nothing_running_and_the_next_request_is_served(upstream):
    with pytest.raises(UpstreamError, match="uniqueItems"):
        await events(upstream, asks(REFUSED["uniqueItems"][0]), n=3)

    assert upstream.load().running == 0
    assert Finish("stop") in await events(upstream, asks({"const": "fine"}))


class Breaks:
    """A grammar that cannot be followed at all, as one whose masks are beyond the limits."""

    async def compiled(self, schema):
        return self

    def close(self):
        pass

    def begin(self):
        return self

    def allowed(self):
        raise GrammarFault("too many cases")


async def test_a_grammar_that_fails_on_the_way_is_told_as_unsupported_not_as_a_failed_engine():
    courier = Courier()
    engine = Engine(lambda: batch_of(PrefixModel(vocab_size=SIZE), VOCABULARY), step_ended=courier.step_ended)
    replica = LocalUpstream(engine, courier, StubVocabulary(), revision="r", window=1024, grammars=Breaks())
    await asyncio.to_thread(until, lambda: not engine.why_not)

    with pytest.raises(UpstreamError, match="too many cases") as error:
        await events(replica, {"type": "json_object"})

    assert (error.value.kind, error.value.param, error.value.sent) == ("unsupported", "response_format", True)
    assert not replica.load().running
    await replica.aclose()
