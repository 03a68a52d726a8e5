"""What servers call their load: a row for each kind, with every name that it had in some version."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from backends.probes.exposition import Sample, samples

Kind = Literal["vllm", "sglang", "llamacpp"]


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """Metric names with underlines for colons. Of several names for one thing the first that is there counts.

    `used_tokens` counts tokens in the cache; `used_share` is a share of it, whose size in blocks and block size in tokens
    are labels of `cache_info`.
    """

    running: tuple[str, ...]
    waiting: tuple[str, ...]
    used_tokens: tuple[str, ...] = ()
    used_share: tuple[str, ...] = ()
    cache_info: str = ""


KINDS: Mapping[Kind, Names] = {
    "vllm": Names(
        running=("vllm_num_requests_running",),
        waiting=("vllm_num_requests_waiting",),
        used_share=("vllm_kv_cache_usage_perc", "vllm_gpu_cache_usage_perc"),
        cache_info="vllm_cache_config_info",
    ),
    "sglang": Names(
        running=("sglang_num_running_reqs",),
        waiting=("sglang_num_queue_reqs",),
        used_tokens=("sglang_num_used_tokens",),
    ),
    "llamacpp": Names(
        running=("llamacpp_requests_processing",),
        waiting=("llamacpp_requests_deferred",),
        used_tokens=("llamacpp_kv_cache_tokens",),
    ),
}


class Reading(msgspec.Struct, frozen=True):
    """Requests in the batch, requests before it, and tokens whose keys and values are held for them."""

    running: int
    waiting: int
    used_tokens: int = 0


def read_load(kind: Kind, page: str) -> Reading | None:
    """None where the page does not say how much there is to do.

    >>> read_load("vllm", 'vllm:num_requests_running{engine="0"} 2.0\\nvllm:num_requests_waiting{engine="0"} 1.0\\n')
    Reading(running=2, waiting=1, used_tokens=0)
    """
    names = KINDS[kind]
    wanted = {*names.running, *names.waiting, *names.used_tokens, *names.used_share, names.cache_info}
    found: dict[str, list[Sample]] = {}
    for sample in samples(page, wanted):
        found.setdefault(sample.name, []).append(sample)
    running, waiting = _total(found, names.running), _total(found, names.waiting)
    if running is None or waiting is None:
        return None
    return Reading(round(running), round(waiting), round(_used(found, names)))


def _total(found: Mapping[str, list[Sample]], names: tuple[str, ...]) -> float | None:
    """Over all engines behind one address."""
    present = next((name for name in names if name in found), None)
    return None if present is None else max(0.0, sum(sample.value for sample in found[present]))


def _used(found: Mapping[str, list[Sample]], names: Names) -> float:
    counted = _total(found, names.used_tokens)
    if counted is not None:
        return counted
    share, capacities = _total(found, names.used_share), [_capacity(info) for info in found.get(names.cache_info, ())]
    return 0.0 if share is None or not capacities else share * sum(capacities) / len(capacities)


def _capacity(info: Sample) -> int:
    blocks, size = info.labels.get("num_gpu_blocks", ""), info.labels.get("block_size", "")
    return int(blocks) * int(size) if blocks.isdecimal() and size.isdecimal() else 0
