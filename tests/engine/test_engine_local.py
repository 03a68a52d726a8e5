"""The engine as an upstream: events on the event loop, closing, refusals."""

import asyncio
import threading

import pytest
from generating import ENDLESS, batch_of, until
from stub_models import BagModel, PrefixModel, ScriptModel, StubVocabulary

from backends.engine.loop import Engine
from backends.engine.thread.courier import Courier
from backends.engine.upstream.local import LocalUpstream
from backends.errors import UpstreamError
from backends.messages import ChatRequest, Delta, Finish, Message, Sampling, Usage
from backends.upstream import TimeLimits, UpstreamCall

GREEDY = Sampling(temperature=0.0)
NO_HURRY = TimeLimits()


def request(text="hello there", **fields):
    fields.setdefault("sampling", GREEDY)
    return ChatRequest(raw=b"", model="m", messages=(Message(role="user", text=text),), **fields)


@pytest.fixture
async def upstream():
    made = []

    async def build(model=None, vocabulary=ENDLESS, **options):
        courier = Courier()
        engine = Engine(lambda: batch_of(model or PrefixModel(), vocabulary), step_ended=courier.step_ended)
        made.append(LocalUpstream(engine, courier, StubVocabulary(), revision="test", window=1024, **options))
        await asyncio.to_thread(until, lambda: not engine.why_not)
        return made[-1]

    yield build
    for each in made:
        await each.aclose()


async def start(upstream, asked, limits=NO_HURRY, salt=b""):
    return await upstream.start(UpstreamCall(request=asked, prepared=upstream.prepare(asked, salt), limits=limits))


async def events(upstream, asked, **options):
    return [event async for event in await start(upstream, asked, **options)]


def text_of(given, index=0):
    return "".join(event.text for event in given if isinstance(event, Delta) and event.index == index)


async def test_an_answer_is_deltas_then_one_finish_then_usage(upstream):
    replica = await upstream(ScriptModel([1, 2, 0], prompt=2), StubVocabulary({1: "Hel", 2: "lo"}, eos=0))

    given = await events(replica, request("hi"))

    assert given == [Delta("Hel"), Delta("lo"), Finish("stop"), Usage(2, 3, 0)]


async def test_logprobs_come_with_their_text(upstream):
    replica = await upstream(ScriptModel([1, 0], prompt=2), StubVocabulary({1: "Hel"}, eos=0))

    [delta, *_] = await events(replica, request("hi", sampling=Sampling(temperature=0.0, logprobs=True)))

    assert [entry.data for entry in delta.logprobs] == [b"Hel"]


async def test_what_a_request_leaves_open_is_the_models_own_and_what_it_states_is_not(upstream):
    replica = await upstream(BagModel({1: 2.0, 2: 1.9, 3: 1.8}), own_sampling={"temperature": 0.0, "top_p": 0.9})
    hot = Sampling(temperature=5.0, seed=1)

    left_open = request("hi", sampling=hot, left_open=frozenset({"temperature", "top_p"}), max_tokens=12)
    stated = request("hi", sampling=hot, max_tokens=12)

    assert len(set(text_of(await events(replica, left_open)).split())) == 1
    assert len(set(text_of(await events(replica, stated)).split())) > 1


async def test_a_prompt_that_cannot_fit_is_refused_without_being_tokenised(upstream):
    engine, nothing_that_encodes = (await upstream()).engine, object()
    replica = LocalUpstream(engine, Courier(), nothing_that_encodes, revision="test", window=1024, longest_token=4)

    with pytest.raises(UpstreamError, match=r"maximum context length is 1024 tokens.*1025 in the messages") as told:
        replica.prepare(request("x" * 4100, max_tokens=1), b"")

    assert (told.value.kind, told.value.sent, told.value.param) == ("too_long", False, "messages")


async def test_numbers_of_any_size_in_a_tool_are_no_fault_of_ours(upstream):
    replica = await upstream()
    tool = {"type": "function", "function": {"name": "f", "parameters": {"maximum": 2**70}}}

    assert replica.prepare(request("hi", tools=(tool,)), b"").tokens == 2


async def test_a_second_identical_prompt_reports_cached_tokens_and_residency(upstream):
    replica = await upstream()
    asked = request("x" * 50, max_tokens=2)
    assert replica.resident_tokens(replica.prepare(asked, b"mine")) == 0

    first, second = [await events(replica, asked, salt=b"mine") for _ in range(2)]
    theirs = await events(replica, asked, salt=b"theirs")

    assert [answer[-1].cached_tokens for answer in (first, second, theirs)] == [0, 48, 0]
    assert text_of(first) == text_of(second) == text_of(theirs)
    assert replica.resident_tokens(replica.prepare(asked, b"mine")) == 48
    assert replica.resident_tokens(replica.prepare(asked, b"nobody")) == 0


async def test_n_choices_share_the_prompt_and_draw_with_following_seeds(upstream):
    replica = await upstream()
    sampling = Sampling(temperature=1.0, seed=5)

    given = await events(replica, request("x" * 40, n=3, max_tokens=12, sampling=sampling))

    texts = [text_of(given, index) for index in range(3)]
    assert len(set(texts)) == 3
    assert sorted(event.index for event in given if isinstance(event, Finish)) == [0, 1, 2]
    assert given[-1] == Usage(40, 36, 0)
    assert sum(isinstance(event, Usage) for event in given) == 1
    single = Sampling(temperature=1.0, seed=7)
    assert text_of(await events(replica, request("x" * 40, max_tokens=12, sampling=single))) == texts[2]


async def test_sixty_four_answers_at_once_all_finish(upstream):
    replica = await upstream(PrefixModel(blocks=96))

    answers = await asyncio.gather(*[events(replica, request(f"number {n}", max_tokens=10)) for n in range(64)])

    assert all(answer[-2:] == [Finish("length"), Usage(len(f"number {n}"), 10, 0)] for n, answer in enumerate(answers))


async def test_closing_in_the_middle_frees_the_blocks_and_closing_twice_is_harmless(upstream):
    replica = await upstream()
    answer = await start(replica, request(max_tokens=900))
    await anext(answer)

    await answer.aclose()
    await answer.aclose()

    await asyncio.to_thread(until, lambda: not replica.load().running)
    assert replica.engine.load().free_blocks == 64
    assert [event async for event in answer] == []


async def test_a_reader_that_is_cancelled_can_still_close(upstream):
    replica = await upstream()
    answer = await start(replica, request(max_tokens=900))
    started = asyncio.Event()

    async def read():
        try:
            async for _ in answer:
                started.set()
        finally:
            await answer.aclose()

    reader = asyncio.create_task(read())
    await started.wait()
    reader.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reader
    await asyncio.to_thread(until, lambda: not replica.load().running)


async def test_one_step_wakes_the_loop_once_for_all_its_jobs(upstream, monkeypatch):
    replica = await upstream()
    loop = asyncio.get_running_loop()
    wakes = []
    calling = loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *call: (wakes.append(call), calling(*call))[1])
    before = replica.engine.stats().steps

    await asyncio.gather(*[events(replica, request(f"number {n}", max_tokens=10)) for n in range(16)])

    assert 10 <= len(wakes) <= replica.engine.stats().steps - before + 1


class StuckModel(PrefixModel):
    """Warms up, then waits for ever, or for the end of the test."""

    def __init__(self):
        super().__init__()
        self.let_go = threading.Event()
        self.is_stuck = False

    def forward(self, step):
        if self.is_stuck:
            self.let_go.wait(20)
        return super().forward(step)


@pytest.fixture
async def stuck(upstream):
    model = StuckModel()
    replica = await upstream(model)
    model.is_stuck = True
    yield replica
    model.let_go.set()


async def test_an_engine_that_gives_no_content_in_time_is_a_first_content_timeout(stuck):
    answer = await start(stuck, request(), TimeLimits(first_content_s=0.01))

    with pytest.raises(UpstreamError) as error:
        await anext(answer)

    assert (error.value.kind, error.value.sent) == ("first_content_timeout", True)
    await answer.aclose()


async def test_the_time_limit_over_all_ends_the_answer(upstream):
    replica = await upstream()

    with pytest.raises(UpstreamError) as error:
        await events(replica, request(max_tokens=900), limits=TimeLimits(total_s=0.0))

    assert error.value.kind == "total_timeout"


async def test_a_fault_of_the_engine_comes_after_the_text_before_it(upstream):
    class Dies(PrefixModel):
        def forward(self, step):
            if step.positions.max() == 12:
                raise ValueError("bad lanes")
            return super().forward(step)

    replica = await upstream(Dies(blocks=2))
    answer = await start(replica, request("hello", max_tokens=20))
    seen = []

    async def read():
        async for event in answer:
            seen.append(event)

    with pytest.raises(UpstreamError, match="bad lanes") as error:
        await read()

    assert error.value.kind == "engine_failed"
    assert len(seen) == 8


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": ({"type": "function"},)}, "tools"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"messages": (Message(role="user", text="what is this", images=1),)}, "messages"),
        ({"raw": b'{"functions":[{"name":"f"}]}'}, "functions"),
        ({"raw": b'{"function_call":{"name":"f"}}'}, "function_call"),
        ({"raw": b'{"modalities":["text","audio"]}'}, "modalities"),
        ({"raw": b'{"web_search_options":{}}'}, "web_search_options"),
    ],
)
async def test_what_the_engine_cannot_honour_is_refused_by_its_name(upstream, fields, param):
    replica = await upstream()
    asked = ChatRequest(**{"raw": b"", "model": "m", "messages": request().messages, **fields})

    with pytest.raises(UpstreamError) as error:
        await start(replica, asked)

    assert (error.value.kind, error.value.param) == ("unsupported", param)


async def test_what_asks_for_nothing_is_refused_by_nobody(upstream):
    replica = await upstream()
    idle = b'{"functions":[],"function_call":"none","modalities":["text"],"audio":null,"x":{"web_search_options":{}}}'

    answer = await start(replica, ChatRequest(raw=idle, model="m", messages=request().messages, max_tokens=1))

    assert [event async for event in answer]


async def test_a_prompt_that_is_too_long_is_refused_with_the_numbers(upstream):
    replica = await upstream()

    with pytest.raises(UpstreamError) as error:
        await start(replica, request("x" * 1020, max_tokens=20))

    assert error.value.message == (
        "This model's maximum context length is 1024 tokens. However, you requested 1040 tokens "
        "(1020 in the messages, 20 in the completion)."
    )
    with pytest.raises(UpstreamError, match="1025 tokens"):
        await start(replica, request("x" * 1024))
    assert replica.load().running == 0


@pytest.mark.parametrize(("bound", "expected"), [(None, 1014), (30, 30)])
async def test_without_max_tokens_an_answer_may_fill_the_window_or_its_bound(upstream, bound, expected):
    replica = await upstream(output_tokens=bound)

    given = await events(replica, request("x" * 10))

    assert given[-1].completion_tokens == expected


async def test_a_choice_that_is_refused_leaves_none_running(upstream):
    courier = Courier()
    engine = Engine(lambda: batch_of(PrefixModel(), ENDLESS), step_ended=courier.step_ended, max_jobs=2)
    replica = LocalUpstream(engine, courier, StubVocabulary(), revision="test", window=1024)
    await asyncio.to_thread(until, lambda: not engine.why_not)

    with pytest.raises(UpstreamError) as error:
        await start(replica, request(n=3, max_tokens=900))

    assert error.value.kind == "overloaded"
    await asyncio.to_thread(until, lambda: not replica.load().running)
    await replica.aclose()
    assert replica.load().why_not == "the engine was closed"


async def test_a_prompt_is_tokenised_once_for_routing_and_all_attempts():
    class Counting(StubVocabulary):
        calls = 0

        def encode_chat(self, messages, tools=()):
            self.calls += 1
            return super().encode_chat(messages, tools)

    tokenizer, courier = Counting(), Courier()
    engine = Engine(lambda: batch_of(PrefixModel()), step_ended=courier.step_ended)
    replica = LocalUpstream(engine, courier, tokenizer, revision="test", window=1024)

    for _ in range(3):
        replica.prepare(request("the same"), b"")
    for number in range(100):
        replica.prepare(request(f"another {number}"), b"")

    assert tokenizer.calls == 101
    await replica.aclose()
