"""Resident memory of this process (Linux), and what it is made of."""

from pathlib import Path

from backends.engine.api import BLOCK_TOKENS
from backends.engine.spec import ModelSpec

MB = 1e6


def resident_mb() -> dict[str, float]:
    """`peak` so far; now `anonymous` and `file` (mapped files, of which the weights file is the largest)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    names = {"peak": "VmHWM", "anonymous": "RssAnon", "file": "RssFile"}
    return {name: int(status[key].split()[0]) * 1024 / MB for name, key in names.items()}


def kv_pool_mb(spec: ModelSpec, blocks: int, bytes_per_number: int) -> float:
    return 2 * blocks * BLOCK_TOKENS * spec.layers * spec.kv_heads * spec.head_dim * bytes_per_number / MB


def embedding_mb(spec: ModelSpec, bytes_per_number: int) -> float:
    return spec.vocab_size * spec.hidden * bytes_per_number / MB
