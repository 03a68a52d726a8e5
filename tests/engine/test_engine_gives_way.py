"""Work that gives way to all others is nobody's load: whoever routes by load sends no request elsewhere because of it."""

import threading
from dataclasses import replace
from queue import Queue

import pytest
from generating import ENDLESS, PATIENCE_S, batch_of, job, until
from stub_models import PrefixModel

from backends.engine.loop import Engine
from backends.engine.thread.inbox import Inbox
from backends.upstream import GIVES_WAY


class Gated(PrefixModel):
    """No forward pass before it is let go."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    def forward(self, step):
        assert self.gate.wait(timeout=PATIENCE_S)
        return super().forward(step)


@pytest.fixture
def gated():
    model = Gated()
    engine = Engine(lambda: batch_of(model, ENDLESS))
    until(lambda: not engine.why_not)
    yield model, engine
    model.gate.set()
    engine.close()


def test_jobs_that_give_way_are_in_no_load_while_they_wait_and_while_they_run(gated):
    model, engine = gated
    outputs = Queue()
    idle = engine.load()
    model.gate.clear()

    for _ in range(3):
        engine.submit(job((1, 2, 3), 4, priority=GIVES_WAY), outputs.put)
        assert replace(engine.load(), free_blocks=idle.free_blocks) == idle
    engine.submit(job((1, 2, 3), 4), outputs.put)
    assert engine.load().running + engine.load().waiting == 1
    model.gate.set()
    ended = 0
    while ended < 4:
        ended += outputs.get(timeout=PATIENCE_S).end is not None
        assert engine.load().running + engine.load().waiting <= 1


def test_a_batch_counts_the_jobs_that_somebody_waits_for_alone():
    batch = batch_of(PrefixModel(), ENDLESS)
    for number, priority in enumerate((GIVES_WAY, 0, GIVES_WAY + 1, 5)):
        batch.add(number, job((1, 2, number), 6, priority=priority), 0)

    waiting = batch.load()
    batch.step()
    running = batch.load()

    assert (waiting.waiting, waiting.queued_tokens) == (2, 6)
    assert running.waiting + running.running == 2
    assert running.active_tokens <= 2 * 4


def test_orders_not_yet_taken_count_alike():
    inbox = Inbox(8)
    inbox.submit(job((1, 2, 3), 4, priority=GIVES_WAY), lambda _: None)
    inbox.submit(job((1, 2), 4), lambda _: None)

    assert inbox.queued() == (1, 2)
