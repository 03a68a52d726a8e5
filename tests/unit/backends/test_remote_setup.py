"""Where a replica lies, what it is sent, whether it is ready, and how long a prompt is taken to be."""

import asyncio
import json

import pytest
from remote_calls import KEY, Ask, ShownKey, chat
from upstreams.fake_upstream import Reply, Until, chat_answer, chat_either, fake_upstream, json_reply, unused_port

from backends.remote import RemoteUpstream
from backends.remote.address import api_base
from backends.remote.prompt import estimate_tokens
from backends.transport import FastTransport, locate
from backends.upstream import UpstreamCall


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("http://u", "/v1"),
        ("http://u/", "/v1"),
        ("http://u/v1", "/v1"),
        ("http://u/v1/", "/v1"),
        ("http://u//v1", "/v1"),
        ("http://u/api/v1", "/api/v1"),
        ("http://u/openai", "/openai/v1"),
        ("http://u/api/paas/v4", "/api/paas/v4"),
    ],
)
def test_a_base_url_with_or_without_version_and_slash_gives_one_path(base: str, path: str) -> None:
    assert api_base(base)[1] == path


@pytest.mark.parametrize("base", ["u:8000", "ftp://u", "http://", "http://user:pw@u", "http://u?x=1", ""])
def test_an_address_that_is_none_is_refused(base: str) -> None:
    with pytest.raises(ValueError, match=r"base URL|address"):
        api_base(base)


def test_an_origin_reads_as_people_write_it() -> None:
    assert [str(locate(url)[0]) for url in ("https://U/v1", "http://[::1]:8000")] == ["https://u", "http://[::1]:8000"]


async def test_the_upstream_gets_its_own_key_and_nothing_of_the_client(transport: FastTransport) -> None:
    async with fake_upstream(chat_answer("x")) as upstream:
        remote = RemoteUpstream(model="m", at=upstream.base, transport=transport, serves="served", key=ShownKey())
        request = chat()
        trace = {"traceparent": "00-1", "authorization": "Bearer ck-1"}
        call = UpstreamCall(request=request, prepared=remote.prepare(request, b""), headers=trace)
        await remote.start(call)

        assert sorted(name for name, _ in upstream.last.headers) == [
            *("accept", "accept-encoding", "authorization", "content-length", "content-type", "host"),
            *("traceparent", "user-agent"),
        ]
        assert upstream.last.header("authorization") == f"Bearer {KEY}"
        assert (upstream.last.path, upstream.last.json["model"]) == ("/v1/chat/completions", "served")
        assert b"ck-1" not in str(upstream.last.headers).encode() + upstream.last.body


@pytest.mark.parametrize("text", ["kA\nx-evil: 1", "kA\r", "ключ", "kA\0"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(transport: FastTransport, text: str) -> None:
    class Broken:
        def reveal(self) -> str:
            return text

    with pytest.raises(ValueError, match="characters that a header cannot carry") as refused:
        RemoteUpstream(model="m", at="http://u", transport=transport, key=Broken())
    assert text not in str(refused.value)


async def test_without_a_key_no_authorization_is_sent(transport: FastTransport) -> None:
    async with fake_upstream(chat_answer("x")) as upstream:
        remote = RemoteUpstream(model="m", at=upstream.base, transport=transport)
        request = chat()
        await remote.start(UpstreamCall(request=request, prepared=remote.prepare(request, b"")))

        assert upstream.last.header("authorization") is None


async def test_answers_one_after_the_other_share_connections(ask: Ask) -> None:
    """The end of a stream's body may come after its [DONE]; the next request does not wait for it."""
    async with fake_upstream(chat_either("a", "b")) as upstream:
        for stream in (False, True, True, False, True, False):
            assert (await ask(upstream, stream=stream)).error is None

        assert upstream.connections <= 2


async def test_a_server_that_lists_its_models_is_ready(transport: FastTransport) -> None:
    async with fake_upstream(json_reply({"data": [{"id": "m"}]})) as upstream:
        remote = RemoteUpstream(model="m", at=upstream.base, transport=transport, key=ShownKey())

        assert (await remote.probe(1.0)).ready
        assert (upstream.last.method, upstream.last.path) == ("GET", "/v1/models")
        assert upstream.last.header("authorization") == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (json_reply({}, 503), "answers 503"),
        (json_reply({"x": 1}), "no list of models"),
        (Reply((b"<html>",), framing="length"), "no list of models"),
        (Reply((b"nonsense\r\n\r\n",), framing="raw"), "not proper HTTP"),
    ],
)
async def test_a_server_that_is_not_ready_says_why(transport: FastTransport, reply: Reply, why: str) -> None:
    async with fake_upstream(reply) as upstream:
        remote = RemoteUpstream(model="m", at=upstream.base, transport=transport)
        load = await remote.probe(1.0)

        assert not load.ready
        assert why in load.why_not
        assert remote.load() == load


async def test_silence_and_refusal_are_reasons_too(transport: FastTransport) -> None:
    async with fake_upstream(Reply((Until(asyncio.Event()),), framing="raw")) as upstream:
        silent = RemoteUpstream(model="m", at=upstream.base, transport=transport)
        refused = RemoteUpstream(model="m", at=f"http://127.0.0.1:{unused_port()}", transport=transport)

        assert (await silent.probe(0.05)).why_not == "no answer within 0.05 s"
        assert "connection refused" in (await refused.probe(1.0)).why_not


CODE = """
def fold(items: list[int], start: int = 0) -> int:
    total = start
    for index, item in enumerate(items):
        if item % 2 == 0 and index > 3:
            total += item * index  # weigh by place
    return total
"""
SAMPLES = {
    "prose": ("The quick brown fox jumps over the lazy dog, and then it sleeps until the morning comes. " * 20, 401),
    "code": (CODE * 5, 320),
    "json": (json.dumps([{"id": number, "ok": True, "value": number / 7} for number in range(50)]), 1601),
    "numbers": (" ".join(str(number**3) for number in range(300)), 2296),
    "chinese": ("今天天气很好，我们去公园散步吧。" * 20, 620),
    "russian": ("Сегодня хорошая погода, пойдём гулять в парк. " * 20, 742),
    "base64": ("aGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0LCB3aGljaCBpcyBoYXJk" * 10, 441),
    "emoji": ("🙂🚀👩‍👩‍👧‍👦" * 30, 690),
}
"""Text, and its tokens by the tokenizer of SmolLM2."""


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_estimate_of_tokens_errs_high_but_not_wildly(kind: str) -> None:
    text, exact = SAMPLES[kind]

    assert exact <= estimate_tokens(text.encode()) <= 1.7 * exact
