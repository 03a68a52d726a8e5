"""Sentence embeddings for serving: a child process with one torch thread, asked over pipes, in small batches.

The child keeps the encoder's work, its thread count and its crashes away from the process that owns the sockets.
README, "Why it is so", has the stall that was measured with a thread instead.
"""

import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import IO, Protocol

import msgspec
import numpy as np

from classifiers.embedding.encoder import Vectors

MAX_BATCH = 16
MAX_WAITING = 64
_FRAME = struct.Struct("<I")
_RESTART_AFTER_S = 5.0


class EmbedderFailed(Exception):
    """The encoder stopped, or has too much to do; the message says which."""


class Embedder(Protocol):
    """Turns text into a vector, some time later."""

    def submit(self, text: str) -> "Future[Vectors]":
        """A future of the unit vector of `text`, float32 [width]; fails with EmbedderFailed. Never blocks."""

    def close(self) -> None:
        """Fails what is waiting and frees what the embedder holds. Blocks for a moment."""


class _Job(msgspec.Struct, frozen=True):
    text: str
    answer: "Future[Vectors]"


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """Of the child to one frame of texts: float32 `rows`, or why there are none."""

    rows: bytes = b""
    refused: str = ""


class ChildEmbedder:
    """An Embedder over a child process. One thread owns the child and its pipes; it takes what waits, up to 16 texts.

    Nothing waits for a batch to fill: a lone text leaves at once, a crowd leaves together. At most 64 texts wait; one
    more fails at once, so that a burst costs estimates and not minutes. A child that died is started again, at most
    every five seconds.
    """

    def __init__(self, source: str, *, command: tuple[str, ...] = ()) -> None:
        """`command` replaces the child: a program that speaks `encode_frames`."""
        self._command = command or (sys.executable, "-m", "classifiers.embedding.child", source)
        self._waiting: queue.Queue[_Job | None] = queue.Queue(MAX_WAITING)
        self._child: subprocess.Popen[bytes] | None = None
        self._started_at = float("-inf")
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="embedder", daemon=True)
        self._thread.start()

    def submit(self, text: str) -> "Future[Vectors]":
        answer: Future[Vectors] = Future()
        try:
            if self._closed:
                raise EmbedderFailed("the embedder is closed")
            self._waiting.put_nowait(_Job(text, answer))
        except queue.Full:
            answer.set_exception(EmbedderFailed(f"{MAX_WAITING} texts wait for the embedder"))
        except EmbedderFailed as error:
            answer.set_exception(error)
        return answer

    def close(self) -> None:
        self._closed = True
        with suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._stop_child()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed:
            jobs = self._next_batch()
            if jobs:
                self._answer(jobs)
        for job in self._drain():
            job.answer.set_exception(EmbedderFailed("the embedder is closed"))
        self._stop_child()

    def _next_batch(self) -> list[_Job]:
        first = self._waiting.get()
        return [first, *self._drain(MAX_BATCH - 1)] if first else []

    def _drain(self, most: int = MAX_WAITING) -> list[_Job]:
        jobs: list[_Job] = []
        with suppress(queue.Empty):
            while len(jobs) < most:
                job = self._waiting.get_nowait()
                jobs += [job] if job else []
        return jobs

    def _answer(self, jobs: list[_Job]) -> None:
        try:
            rows = self._ask([job.text for job in jobs])
        except (OSError, EOFError, ValueError, EmbedderFailed) as error:
            self._stop_child()
            for job in jobs:
                job.answer.set_exception(EmbedderFailed(str(error) or "the embedder stopped"))
            return
        for job, row in zip(jobs, rows, strict=True):
            job.answer.set_result(row)

    def _ask(self, texts: list[str]) -> Vectors:
        child = self._child or self._start_child()
        if not child.stdin or not child.stdout:
            raise EmbedderFailed("the embedder has no pipes")
        write_frame(child.stdin, msgspec.msgpack.encode(texts))
        answer = msgspec.msgpack.decode(read_frame(child.stdout), type=Answer)
        if answer.refused:
            raise EmbedderFailed(answer.refused)
        return np.frombuffer(answer.rows, dtype="<f4").reshape(len(texts), -1)

    def _start_child(self) -> subprocess.Popen[bytes]:
        if time.monotonic() - self._started_at < _RESTART_AFTER_S:
            raise EmbedderFailed("the embedder stopped and is not started again yet")
        self._started_at = time.monotonic()
        # A session of its own: Ctrl-C is for the gateway, which closes the child's input when it has drained.
        self._child = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        return self._child

    def _stop_child(self) -> None:
        child, self._child = self._child, None
        if child:
            child.kill()
            child.wait()


def write_frame(pipe: IO[bytes], payload: bytes) -> None:
    """Length, 4 bytes little-endian, then the payload."""
    pipe.write(_FRAME.pack(len(payload)) + payload)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> bytes:
    """The payload of the next frame. Raises EOFError where the other side has gone."""
    (size,) = _FRAME.unpack(_exactly(pipe, _FRAME.size))
    return _exactly(pipe, size)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    payload = pipe.read(size)
    if len(payload) < size:
        raise EOFError("the embedder stopped")
    return payload


def after_all(waiting: "Sequence[Future[Vectors]]", then: Callable[[], None]) -> None:
    """Calls `then` once all have come, on the thread that brings the last of them."""
    if waiting:
        waiting[0].add_done_callback(lambda _: after_all(waiting[1:], then))
    else:
        then()
