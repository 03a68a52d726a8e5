"""Building the kernels: which variant, which compiler, and what happens when there is none or two build at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from backends.engine.kernels.build import NativeUnavailable, Toolchain, built
from backends.engine.kernels.cpu import VARIANTS, best_variant, cpu_flags, usable_cores
from backends.engine.models.native_model import available, why_unavailable

SCALAR = VARIANTS[-1]


def compiler(folder: Path, script: str) -> Toolchain:
    """A toolchain whose only compiler is this shell script; the output's path is its last argument."""
    path = folder / "bin" / "c++"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\nfor out; do :; done\n{script}\n")
    path.chmod(0o755)
    return Toolchain(search=str(path.parent), cache=folder / "cache")


def test_without_a_compiler_the_kernels_are_unavailable_and_say_why(tmp_path: Path) -> None:
    toolchain = Toolchain(search=str(tmp_path), cache=tmp_path / "cache")

    assert not available(toolchain)
    assert "no C++ compiler" in (why_unavailable(SCALAR, toolchain) or "")


def test_a_compiler_that_fails_is_quoted(tmp_path: Path) -> None:
    toolchain = compiler(tmp_path, "echo 'error: no such thing as a vector' >&2; exit 1")

    assert "no such thing as a vector" in (why_unavailable(SCALAR, toolchain) or "")
    assert not list(toolchain.cache.glob("*.so"))


def test_a_library_that_does_not_load_makes_the_kernels_unavailable(tmp_path: Path) -> None:
    toolchain = compiler(tmp_path, "echo nonsense > $out")

    assert "does not load" in (why_unavailable(SCALAR, toolchain) or "")


def test_a_place_that_cannot_be_written_makes_the_kernels_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    toolchain = compiler(tmp_path, "echo built > $out")

    with pytest.raises(NativeUnavailable, match="cannot build"):
        built(SCALAR, Toolchain(search=toolchain.search, cache=tmp_path / "file" / "cache"))


def test_a_cache_that_others_may_write_is_refused(tmp_path: Path) -> None:
    toolchain = compiler(tmp_path, "echo built > $out")
    toolchain.cache.mkdir()
    toolchain.cache.chmod(0o777)

    with pytest.raises(NativeUnavailable, match="writable by nobody else"):
        built(SCALAR, toolchain)


def test_a_build_is_named_by_its_compiler_and_flags(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = compiler(tmp_path / "a", "echo built > $out"), compiler(tmp_path / "b", "echo 'built' > $out")
    names = {built(variant, toolchain).name for variant in VARIANTS for toolchain in (first, second)}

    assert len(names) == 2 * len(VARIANTS)


def test_processes_that_need_the_kernels_at_once_build_them_once(tmp_path: Path) -> None:
    toolchain = compiler(tmp_path, f"echo run >> {tmp_path}/log; read ready < {tmp_path}/gate; echo whole > $out")
    (gate := tmp_path / "gate").touch()
    program = (
        "from pathlib import Path; from backends.engine.kernels.build import *; from backends.engine.kernels.cpu import *;"
        f"print(built(VARIANTS[-1], Toolchain({toolchain.search!r}, Path({str(toolchain.cache)!r}))).read_text())"
    )

    builders = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)]

    assert [builder.communicate(timeout=60)[0].strip() for builder in builders] == ["whole"] * 4
    assert (tmp_path / "log").read_text() == "run\n"
    assert gate.exists()
    assert [path.suffix for path in sorted(toolchain.cache.iterdir())] == [".so", ".lock"]


CPUINFO = """processor\t: 0
flags\t\t: fpu {flags}

processor\t: 1
"""


@pytest.mark.parametrize(
    ("flags", "variant"),
    [
        ("", None),
        ("avx2", None),
        ("avx2 fma f16c", "avx2"),
        ("avx2 fma f16c avx512f avx512bw avx512vl avx512dq", "avx2"),
        ("avx2 fma f16c avx512f avx512bw avx512vl avx512dq avx512_vnni", "avx512"),
        ("avx2 fma f16c avx512f avx512bw avx512vl avx512dq avx512_vnni avx512_bf16", "avx512bf16"),
    ],
)
def test_the_fastest_variant_that_the_cpu_runs_is_chosen(tmp_path: Path, flags: str, variant: str | None) -> None:
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(flags=flags))

    chosen = best_variant(cpu_flags(tmp_path / "cpuinfo"))

    assert (chosen.name if chosen else None) == variant


def test_a_machine_that_does_not_say_what_it_can_is_left_to_torch(tmp_path: Path) -> None:
    assert best_variant(cpu_flags(tmp_path / "missing")) is None


def test_a_containers_quota_limits_the_threads(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("100000 100000\n")

    assert usable_cores(tmp_path / "cpu.max") == 1
    assert usable_cores(tmp_path / "missing") >= 1
