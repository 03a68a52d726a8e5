"""A replica behind HTTP that fails, at every point: one error type, nothing left running, no key in the words."""

import asyncio
import zlib
from typing import Any

import pytest
from remote_calls import KEY, Ask, ShownKey, chat, hear
from upstreams.fake_upstream import (
    DONE,
    Cut,
    Pause,
    Reply,
    Until,
    chat_answer,
    event,
    fake_upstream,
    finish_chunk,
    json_reply,
    sse_reply,
    text_chunk,
    unused_port,
)

from backends.errors import UpstreamError
from backends.remote import RemoteUpstream
from backends.transport import FastTransport
from backends.upstream import TimeLimits, UpstreamCall

BOTH = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
HTML = (("content-type", "text/html"),)


def never() -> Until:
    return Until(asyncio.Event())


def error_of(ask_result: Any) -> UpstreamError:
    assert ask_result.error is not None
    assert KEY not in str(ask_result.error)
    return ask_result.error


@BOTH
async def test_a_refused_connection_was_not_sent(transport: FastTransport, stream: bool) -> None:
    remote = RemoteUpstream(model="m", at=f"http://127.0.0.1:{unused_port()}", transport=transport)

    told = await hear(remote, chat(stream=stream), TimeLimits())

    assert (error_of(told).kind, error_of(told).sent) == ("connect_failed", False)


@BOTH
@pytest.mark.parametrize("how", [Cut.EOF, Cut.RESET])
async def test_a_connection_lost_before_the_head_may_have_been_done(ask: Ask, stream: bool, how: Cut) -> None:
    async with fake_upstream(Reply((how,), framing="raw")) as upstream:
        told = await ask(upstream, stream=stream)

        assert (error_of(told).kind, error_of(told).sent, told.started) == ("stream_cut", True, False)


@pytest.mark.parametrize("how", [Cut.EOF, Cut.RESET])
async def test_an_answer_without_a_finish_is_cut_however_properly_it_ends(ask: Ask, how: Cut) -> None:
    for ending in ((how,), (), (DONE,)):
        async with fake_upstream(sse_reply(text_chunk("Hel"), *ending)) as upstream:
            told = await ask(upstream, stream=True)

            assert (error_of(told).kind, told.text(), told.finishes()) == ("stream_cut", "Hel", [])


async def test_a_stream_cut_at_any_byte_never_looks_like_a_success(ask: Ask) -> None:
    stream = text_chunk("Hel北") + text_chunk("lo") + finish_chunk() + DONE
    whole_at = stream.index(finish_chunk()) + len(finish_chunk())
    for at in range(0, len(stream), 7):
        async with fake_upstream(sse_reply(stream[:at], Cut.EOF)) as upstream:
            told = await ask(upstream, stream=True)

            assert "Hel北lo".startswith(told.text())
            assert (told.error is None) is (at >= whole_at)
            assert told.stream.count(b"[DONE]") == 1


@BOTH
@pytest.mark.parametrize("status", [400, 422, 429, 500, 503])
async def test_a_refusal_keeps_its_status_and_its_error_object(ask: Ask, stream: bool, status: int) -> None:
    error = {"message": "bad max_tokens", "type": "invalid_request_error", "param": "max_tokens", "code": None}
    async with fake_upstream(json_reply({"error": error}, status)) as upstream:
        told = await ask(upstream, stream=stream)

        failure = error_of(told)
        assert (failure.kind, failure.status, failure.sent, told.started) == ("rejected", status, False, False)
        assert failure.body == (
            b'{"error":{"message":"bad max_tokens","type":"invalid_request_error","param":"max_tokens","code":null}}'
        )


async def test_back_off_headers_of_a_refusal_pass_under_their_own_names(ask: Ask) -> None:
    passed = {
        "retry-after": "30",
        "retry-after-ms": "29500",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "30s",
        "x-should-retry": "true",
    }
    kept = {"set-cookie": "s=1", "openai-organization": "org-1", "server": "x"}
    reply = json_reply({"error": {"message": "slow down"}}, 429, [*passed.items(), *kept.items()])
    async with fake_upstream(reply) as upstream:
        assert error_of(await ask(upstream)).headers == passed


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_told_without_a_word_of_it(ask: Ask, status: int) -> None:
    message = "Incorrect API key provided: kA-se*****9999."
    async with fake_upstream(json_reply({"error": {"message": message}}, status)) as upstream:
        failure = error_of(await ask(upstream))

        assert (failure.kind, failure.status, failure.body) == ("rejected", status, b"")
        assert "kA-se" not in str(failure)
        assert "9999" not in str(failure)


@pytest.mark.parametrize("shown", [KEY, f"'{KEY}'", "kA-se*****9999.", f"Bearer {KEY}"])
async def test_a_key_that_an_error_repeats_is_taken_out(ask: Ask, shown: str) -> None:
    async with fake_upstream(json_reply({"error": {"message": f"bad header {shown} here"}}, 400)) as upstream:
        failure = error_of(await ask(upstream))

        assert b"kA-se" not in failure.body
        assert b"9999" not in failure.body
        assert b"bad header" in failure.body
        assert failure.body.endswith(b"}}")


@pytest.mark.parametrize("body", [{"message": "no", "object": "error"}, {"detail": "no"}, {"error": "no"}])
async def test_error_bodies_of_other_servers_are_put_into_the_envelope(ask: Ask, body: dict[str, Any]) -> None:
    async with fake_upstream(json_reply(body, 400)) as upstream:
        failure = error_of(await ask(upstream))

        assert failure.body.startswith(b'{"error":{"message":"no","type":"invalid_request_error"')


@BOTH
async def test_a_page_of_html_is_no_error_object(ask: Ask, stream: bool) -> None:
    bad_gateway, fine = Reply((b"<html>",), 502, HTML), Reply((b"<html>",), 200, HTML)
    async with fake_upstream(bad_gateway, fine) as upstream:
        refused, answered = error_of(await ask(upstream, stream=stream)), error_of(await ask(upstream, stream=stream))

        assert (refused.kind, refused.status, refused.body) == ("rejected", 502, b"")
        assert (answered.kind, answered.sent) == ("bad_answer", True)


@BOTH
async def test_an_error_object_under_a_good_status_is_that_error(ask: Ask, stream: bool) -> None:
    error = {"object": "error", "message": "no image input", "type": "BadRequestError", "param": None, "code": 400}
    reply = sse_reply(event({"error": error}), DONE) if stream else json_reply({"error": error})
    async with fake_upstream(reply) as upstream:
        told = await ask(upstream, stream=stream)

        failure = error_of(told)
        assert (failure.kind, failure.status, told.started) == ("rejected", 400, False)
        assert b'"message":"no image input"' in failure.body


async def test_an_error_object_after_content_comes_after_that_content(ask: Ask) -> None:
    error = {"message": "boom", "type": "server_error", "param": None, "code": "x1"}
    for joined in (False, True):
        steps = (text_chunk("Hel"), event({"error": error}))
        async with fake_upstream(sse_reply(*([b"".join(steps)] if joined else steps))) as upstream:
            told = await ask(upstream, stream=True)

            assert (told.started, told.text(), told.finishes()) == (True, "Hel", [])
            assert told.chunks[-1] == {"error": error}
            assert told.stream.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("nonsense", [b"data: {\n\n", b"data: [1]\n\n", b'data: {"choices":5}\n\n', b"data: \xff\n\n"])
async def test_an_event_that_is_no_chunk_is_a_bad_answer(ask: Ask, nonsense: bytes) -> None:
    async with fake_upstream(sse_reply(nonsense, DONE), sse_reply(text_chunk("a"), nonsense, DONE)) as upstream:
        assert error_of(await ask(upstream, stream=True)).kind == "bad_answer"
        told = await ask(upstream, stream=True)
        assert (error_of(told).kind, told.text()) == ("bad_answer", "a")


@BOTH
async def test_a_coding_that_was_not_asked_for_is_a_bad_answer(ask: Ask, stream: bool) -> None:
    headers = (("content-type", "text/event-stream"), ("content-encoding", "br"))
    async with fake_upstream(Reply((b"\x1b",), headers=headers)) as upstream:
        assert error_of(await ask(upstream, stream=stream)).kind == "bad_answer"


async def test_a_packed_stream_is_unpacked_event_by_event(ask: Ask) -> None:
    packer = zlib.compressobj(wbits=31)
    pieces = [
        packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH) for data in (text_chunk("a"), finish_chunk(), DONE)
    ]
    headers = (("content-type", "text/event-stream"), ("content-encoding", "gzip"))
    async with fake_upstream(Reply((*pieces, packer.flush()), headers=headers)) as upstream:
        told = await ask(upstream, stream=True)

        assert (told.error, told.text()) == (None, "a")


async def test_an_endless_line_is_a_bad_answer(ask: Ask) -> None:
    line = Reply(tuple(b"x" * (1 << 20) for _ in range(10)), headers=(("content-type", "text/event-stream"),))
    async with fake_upstream(line) as upstream:
        assert error_of(await ask(upstream, stream=True)).kind == "bad_answer"


async def test_a_redirect_is_not_followed(ask: Ask) -> None:
    async with fake_upstream(json_reply({}, 307, [("location", "http://169.254.169.254/")])) as upstream:
        assert error_of(await ask(upstream)).kind == "bad_answer"
        assert len(upstream.received) == 1


async def test_comments_do_not_push_the_clock_of_the_first_content(ask: Ask) -> None:
    pings = [step for _ in range(30) for step in (b": ping\n\n", Pause(0.02))]
    async with fake_upstream(sse_reply(*pings)) as upstream:
        began = asyncio.get_running_loop().time()
        told = await ask(upstream, stream=True, limits=TimeLimits(first_content_s=0.1))

        assert (error_of(told).kind, error_of(told).sent) == ("first_content_timeout", True)
        assert asyncio.get_running_loop().time() - began < 0.4
        await asyncio.wait_for(upstream.last.closed.wait(), 1.0)


async def test_a_slow_head_runs_into_the_clock_of_the_first_content(ask: Ask) -> None:
    async with fake_upstream(Reply((never(),), framing="raw")) as upstream:
        told = await ask(upstream, stream=True, limits=TimeLimits(first_content_s=0.05))

        assert error_of(told).kind == "first_content_timeout"
        await asyncio.wait_for(upstream.last.closed.wait(), 1.0)


async def test_silence_after_content_runs_into_the_clock_of_the_gap(ask: Ask) -> None:
    async with fake_upstream(sse_reply(text_chunk("0123"), b": ping\n\n", never())) as upstream:
        told = await ask(upstream, stream=True, limits=TimeLimits(gap_s=0.05))

        assert (error_of(told).kind, told.text()) == ("gap_timeout", "0123")
        await asyncio.wait_for(upstream.last.closed.wait(), 1.0)


async def test_comments_do_not_push_the_clock_of_the_gap(ask: Ask) -> None:
    pings = [step for _ in range(100) for step in (b": ping\n\n", Pause(0.02))]
    async with fake_upstream(sse_reply(text_chunk("a"), *pings, finish_chunk(), DONE)) as upstream:
        told = await ask(upstream, stream=True, limits=TimeLimits(gap_s=0.1))

        assert (error_of(told).kind, told.text()) == ("gap_timeout", "a")


async def test_a_steady_stream_outlives_the_clocks_of_first_content_and_gap(ask: Ask) -> None:
    steps = [step for digit in "0123456789" for step in (text_chunk(digit), Pause(0.03))]
    async with fake_upstream(sse_reply(*steps, finish_chunk(), DONE)) as upstream:
        told = await ask(upstream, stream=True, limits=TimeLimits(first_content_s=0.2, gap_s=0.2))

        assert (told.error, told.text()) == (None, "0123456789")


async def test_the_clock_over_all_ends_even_a_steady_stream(ask: Ask) -> None:
    steps = [step for _ in range(100) for step in (text_chunk("a"), Pause(0.02))]
    async with fake_upstream(sse_reply(*steps)) as upstream:
        assert error_of(await ask(upstream, stream=True, limits=TimeLimits(total_s=0.1))).kind == "total_timeout"


async def test_a_whole_answer_has_the_clock_over_all(ask: Ask) -> None:
    async with fake_upstream(Reply((never(),), framing="raw")) as upstream:
        failure = error_of(await ask(upstream, limits=TimeLimits(total_s=0.05, first_content_s=0.01)))

        assert (failure.kind, failure.sent) == ("total_timeout", True)
        await asyncio.wait_for(upstream.last.closed.wait(), 1.0)


@pytest.mark.parametrize("steps", [(), (text_chunk("a"),)], ids=["before content", "after content"])
@BOTH
async def test_a_caller_who_leaves_takes_the_upstream_call_along(
    transport: FastTransport, stream: bool, steps: tuple[bytes, ...]
) -> None:
    async with fake_upstream(sse_reply(*steps, never())) as upstream:
        remote = RemoteUpstream(model="m", at=upstream.base, transport=transport, key=ShownKey())
        task = asyncio.create_task(hear(remote, chat(stream=stream), TimeLimits()))
        await upstream.until(lambda u: len(u.received) == 1)
        assert remote.load().running == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        await asyncio.wait_for(upstream.last.closed.wait(), 1.0)
        assert (remote.load().running, remote.load().queued_tokens, transport.in_use) == (0, 0, 0)


async def test_an_answer_that_is_closed_early_is_cancelled_and_closing_twice_is_harmless(
    transport: FastTransport,
) -> None:
    async with fake_upstream(sse_reply(text_chunk("a"), never())) as upstream:
        remote = RemoteUpstream(model="m", at=upstream.base, transport=transport)
        request = chat(stream=True)
        answer = await remote.start(UpstreamCall(request=request, prepared=remote.prepare(request, b"")))
        await answer.aclose()
        await answer.aclose()

        await asyncio.wait_for(upstream.last.closed.wait(), 1.0)
        assert remote.load().running == 0


async def test_a_hundred_streams_left_at_any_point_leave_nothing_behind(transport: FastTransport) -> None:
    pieces = [step for _ in range(20) for step in (text_chunk("a"), Pause(0.001))]
    async with fake_upstream(sse_reply(*pieces, never())) as upstream:
        remote = RemoteUpstream(model="m", at=upstream.base, transport=transport)
        for number in range(100):
            task = asyncio.create_task(hear(remote, chat(stream=True), TimeLimits()))
            for _ in range(number % 25):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        await upstream.until(lambda u: u.open_connections == 0)
        assert (remote.load().running, remote.load().queued_tokens, transport.in_use) == (0, 0, 0)
        upstream.scripts[:] = [chat_answer("x")]
        assert (await hear(remote, chat(), TimeLimits())).error is None
