"""What servers say of their load, by every name that they had for it; and what a page can do to us: nothing."""

import asyncio
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from upstreams.fake_upstream import Reply, fake_upstream, json_reply

from backends.probes.exposition import samples
from backends.probes.kinds import Kind, Reading, read_load
from backends.probes.watch import STALE_S, TOKENS_OF_A_WAITING_PROMPT, ServerWatch
from backends.remote import RemoteUpstream
from backends.transport import FastTransport

VLLM = """# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a \\"b\\" \\\\ c"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
vllm:num_requests_waiting{engine="0",model_name="m"} 4.0 1700000000000
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000"} 1.0
vllm:cache_config_info{block_size="16",engine="1",num_gpu_blocks="1000"} 1.0
vllm:prompt_tokens_total{engine="0"} 12345.0
"""

PAGES: Mapping[str, tuple[Kind, str, Reading | None]] = {
    "vllm": ("vllm", VLLM, Reading(5, 4, 12_000)),
    "vllm as it was": ("vllm", VLLM.replace("kv_cache", "gpu_cache"), Reading(5, 4, 12_000)),
    "vllm without its sizes": ("vllm", VLLM.replace("block_size", "x"), Reading(5, 4, 0)),
    "sglang": (
        "sglang",
        'sglang:num_running_reqs{m="x"} 7\nsglang:num_queue_reqs{m="x"} 1\nsglang:num_used_tokens{m="x"} 900.0\n',
        Reading(7, 1, 900),
    ),
    "sglang with underlines": ("sglang", "sglang_num_running_reqs 7\nsglang_num_queue_reqs 1\n", Reading(7, 1, 0)),
    "llama.cpp": (
        "llamacpp",
        "llamacpp:requests_processing 1\nllamacpp:requests_deferred 2\n",
        Reading(1, 2, 0),
    ),
    "another server's": ("vllm", "sglang:num_running_reqs 7\n", None),
    "no numbers": ("sglang", "sglang:num_running_reqs NaN\nsglang:num_queue_reqs +Inf\n", None),
    "less than nothing": ("sglang", "sglang:num_running_reqs -7\nsglang:num_queue_reqs 0\n", Reading(0, 0, 0)),
    "nothing": ("llamacpp", "", None),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_by_every_name_that_a_load_had(name: str):
    kind, page, expected = PAGES[name]

    assert read_load(kind, page) == expected


@given(st.text(max_size=400))
def test_no_page_breaks_the_reader(page: str):
    list(samples(page, ["a"]))
    for kind in ("vllm", "sglang", "llamacpp"):
        read_load(kind, page)


def text_reply(text: str, status: int = 200) -> Reply:
    return Reply((text.encode(),), status, (("content-type", "text/plain"),))


async def watched(*replies: Reply) -> tuple[ServerWatch, RemoteUpstream, list[str], list[float]]:
    """One probe of a server with these answers: health, then metrics."""
    now = [100.0]
    transport = FastTransport()
    async with fake_upstream(*replies) as server:
        upstream = RemoteUpstream(model="m", at=f"{server.base}/v1", transport=transport)
        watch = ServerWatch(upstream, "vllm", clock=lambda: now[0])
        await watch.probe(5.0)
        paths = [got.path for got in server.received]
    await transport.aclose()
    return watch, upstream, paths, now


async def test_a_server_is_asked_for_its_health_and_its_load_beside_its_api():
    watch, upstream, paths, _ = await watched(text_reply(""), text_reply(VLLM))

    load = watch.with_others(upstream.load())

    assert paths == ["/health", "/metrics"]
    assert (load.ready, load.running, load.others_running) == (True, 9, 9)
    assert load.queued_tokens == 4 * TOKENS_OF_A_WAITING_PROMPT
    assert load.active_tokens == 12_000


async def test_an_old_reading_counts_no_longer():
    watch, upstream, _, now = await watched(text_reply(""), text_reply(VLLM))

    now[0] += STALE_S + 1

    assert watch.with_others(upstream.load()) == upstream.load()


async def test_a_server_without_metrics_takes_work_by_what_we_know():
    watch, upstream, _, _ = await watched(text_reply(""), json_reply({"detail": "Not Found"}, 404))

    assert watch.with_others(upstream.load()) == upstream.load()


async def test_a_server_that_is_not_well_takes_none():
    watch, upstream, paths, _ = await watched(text_reply("loading", 503))

    load = watch.with_others(upstream.load())

    assert (load.ready, load.why_not) == (False, "it answers 503 when asked how it is")
    assert paths == ["/health"]


async def test_a_server_that_is_not_there_takes_none_until_it_is():
    transport = FastTransport()
    closed = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = closed.sockets[0].getsockname()[1]
    closed.close()
    upstream = RemoteUpstream(model="m", at=f"http://127.0.0.1:{port}/v1", transport=transport)
    watch = ServerWatch(upstream, "sglang")

    await watch.probe(5.0)

    assert not watch.with_others(upstream.load()).ready
    await transport.aclose()
