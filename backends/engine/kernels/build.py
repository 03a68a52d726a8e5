"""Builds the kernels with the machine's own C++ compiler, once, into a cache directory."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from backends.engine.kernels.cpu import Variant

SOURCES = Path(__file__).parent / "native"
FLAGS = (
    "-std=c++20",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fPIC",
    "-shared",
    "-pthread",
    "-fvisibility=hidden",
)
"""No fused operation that the source does not name: each template instance must round alike."""

COMPILERS = ("c++", "g++", "clang++")
BUILD_LIMIT_S = 300.0


class NativeUnavailable(RuntimeError):
    """The kernels cannot be used here; the message says why."""


def user_cache() -> Path:
    """Where builds, and sizes that were measured, are kept unless told otherwise: in the home directory, or with temporary
    files where there is none."""
    try:
        return Path.home() / ".cache" / "turnout" / "kernels"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"turnout-kernels-{os.geteuid()}"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Where compilers are looked for (`search`: a PATH, None for the process's own) and where builds are kept."""

    search: str | None = None
    cache: Path = field(default_factory=user_cache)

    def compiler(self) -> Path:
        """Raises NativeUnavailable when none is found."""
        found = (shutil.which(name, path=self.search) for name in COMPILERS)
        path = next((path for path in found if path), None)
        if path is None:
            raise NativeUnavailable(f"no C++ compiler found (looked for {', '.join(COMPILERS)})")
        return Path(path)


def built(variant: Variant, toolchain: Toolchain) -> Path:
    """The shared library of this variant, built if the cache lacks it.

    Safe against several processes at once: one builds under a lock, and a library appears whole or not at all.
    Raises NativeUnavailable without a compiler, without a place to write, or with the compiler's complaint.
    """
    compiler = toolchain.compiler()
    name = f"{variant.name}-{_digest(compiler, variant)}.so"
    try:
        toolchain.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_foreign(toolchain.cache)
        with _locked(toolchain.cache / f"{name}.lock"):
            target = toolchain.cache / name
            if not target.exists():
                _compile(compiler, variant, target)
            return target
    except OSError as failed:
        raise NativeUnavailable(f"cannot build kernels in {toolchain.cache}: {failed}") from failed


def _digest(compiler: Path, variant: Variant) -> str:
    """Names a build by all that goes into it."""
    real = compiler.resolve()
    seen = real.stat()
    parts = [str(real), str(seen.st_size), str(seen.st_mtime_ns), *FLAGS, *variant.flags]
    digest = hashlib.sha256("\0".join(parts).encode())
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _refuse_foreign(cache: Path) -> None:
    """What lies in the cache runs in this process, so it must be ours alone to write."""
    seen = cache.stat()
    if seen.st_uid != os.geteuid() or seen.st_mode & 0o022:
        raise NativeUnavailable(f"{cache} must belong to this user and be writable by nobody else")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(compiler: Path, variant: Variant, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        fresh = Path(scratch) / target.name
        command = [str(compiler), *FLAGS, *variant.flags, str(SOURCES / "engine.cpp"), "-o", str(fresh)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_LIMIT_S, check=False)
        except subprocess.TimeoutExpired as late:
            raise NativeUnavailable(f"{compiler.name} took more than {BUILD_LIMIT_S:.0f} s") from late
        if done.returncode:
            raise NativeUnavailable(f"{compiler.name} failed: {done.stderr.strip()[:2000]}")
        fresh.replace(target)
