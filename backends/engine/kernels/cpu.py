"""What this machine's CPU can do, and which variant of the kernels that means."""

import math
import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Variant:
    """One build of the kernels: the CPU flags it needs (names of /proc/cpuinfo) and the compiler flags that say so."""

    name: str
    needs: frozenset[str]
    flags: tuple[str, ...]


_AVX2 = frozenset({"avx2", "fma", "f16c"})
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni"}
_AVX2_FLAGS = ("-mavx2", "-mfma", "-mf16c")
_AVX512_FLAGS = (*_AVX2_FLAGS, "-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512vnni")

VARIANTS = (
    Variant("avx512bf16", _AVX512 | {"avx512_bf16"}, (*_AVX512_FLAGS, "-mavx512bf16")),
    Variant("avx512", _AVX512, _AVX512_FLAGS),
    Variant("avx2", _AVX2, _AVX2_FLAGS),
    Variant("scalar", frozenset(), ()),
)
"""Fastest first. `scalar` is portable C++ and runs everywhere: an oracle, and where a port begins."""


def cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Features that both the CPU and the operating system offer; empty where nobody says."""
    if platform.machine() not in ("x86_64", "AMD64") or not cpuinfo.is_file():
        return frozenset()
    line = next((line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")), "")
    return frozenset(line.partition(":")[2].split())


def best_variant(flags: frozenset[str]) -> Variant | None:
    """The fastest variant that a CPU with these flags runs; None where that is the portable one, which torch outruns."""
    return next((variant for variant in VARIANTS if variant.needs and variant.needs <= flags), None)


def usable_cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Cores this process may use: its affinity, cut by the container's CPU quota (cgroup v2)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit, _, period = quota.read_text().partition(" ") if quota.is_file() else ("max", "", "")
    return cores if limit == "max" else max(1, min(cores, math.ceil(int(limit) / int(period))))
