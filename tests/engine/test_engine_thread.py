"""The engine's thread: jobs from anywhere, cancel within a step, faults told honestly, restart, close."""

import threading
import time
from queue import Queue

import pytest
from generating import ENDLESS, GREEDY, PATIENCE_S, batch_of, job, run, until
from stub_models import PrefixModel

from backends.engine.draft.ngram import NgramDrafter
from backends.engine.loop import Engine
from backends.engine.thread.restart import Restart
from backends.errors import UpstreamError
from backends.messages import Sampling

AT_ONCE = Restart(first_s=0.0, most_s=0.0)


class SteppedModel(PrefixModel):
    """Every forward pass waits for leave, once `is_held`."""

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.is_held = False
        self.fault = None
        self.leave = threading.Semaphore(0)
        self.asked = threading.Semaphore(0)

    def forward(self, step):
        if self.is_held:
            self.asked.release()
            assert self.leave.acquire(timeout=PATIENCE_S)
        if self.fault is not None:
            raise self.fault
        return super().forward(step)


class House:
    """An engine over models that the test made, in order; the last one is built again and again."""

    def __init__(self, *models, drafter=None, **options):
        self.models = list(models)
        self.built = 0
        self.steps = threading.Semaphore(0)
        self.engine = Engine(lambda: self._build(drafter), restart=AT_ONCE, step_ended=self.steps.release, **options)

    def _build(self, drafter):
        model = self.models[min(self.built, len(self.models) - 1)]
        self.built += 1
        if isinstance(model, Exception):
            raise model
        return batch_of(model, ENDLESS, drafter=drafter)

    def ready(self):
        until(lambda: not self.engine.why_not)
        return self


def last_of(outputs):
    while True:
        output = outputs.get(timeout=PATIENCE_S)
        if output.end is not None:
            return output


@pytest.fixture
def house():
    houses = []

    def build(*models, **options):
        houses.append(House(*models, **options))
        return houses[-1]

    yield build
    for each in houses:
        for model in each.models:
            if isinstance(model, SteppedModel):
                model.is_held = False
                model.leave.release()
        each.engine.close()


def test_sixty_four_jobs_from_eight_threads_all_end_as_they_would_alone(house):
    engine = house(PrefixModel(blocks=96), drafter=NgramDrafter()).ready().engine
    jobs = [job((1, 2, *divmod(number, 16)), 12) for number in range(64)]
    outputs = Queue()
    tokens = {}

    def submit(part):
        for number in part:
            tokens[engine.submit(jobs[number], outputs.put)] = (number, [])

    threads = [threading.Thread(target=submit, args=(range(start, 64, 8),)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended = 0
    while ended < 64:
        output = outputs.get(timeout=PATIENCE_S)
        tokens[output.job_id][1].extend(output.tokens)
        ended += output.end is not None

    for number, got in tokens.values():
        assert got == run(batch_of(PrefixModel(), ENDLESS), [jobs[number]])[0].tokens
    until(lambda: engine.load().free_blocks == 96)
    assert engine.load().running == engine.load().waiting == engine.load().queued_tokens == 0


def test_a_cancelled_job_ends_within_one_step_and_its_blocks_are_free(house):
    model = SteppedModel()
    engine = house(model).ready().engine
    outputs = Queue()
    model.is_held = True
    job_id = engine.submit(job((1,) * 40, 100), outputs.put)
    assert model.asked.acquire(timeout=PATIENCE_S)

    engine.cancel(job_id)
    engine.cancel(job_id)
    model.leave.release()

    assert len(outputs.get(timeout=PATIENCE_S).tokens) == 1
    assert outputs.get(timeout=PATIENCE_S).end == "cancelled"
    until(lambda: engine.load().free_blocks == 64)
    assert len(model.rows) == 1 + warm_up_steps()
    engine.cancel(job_id)
    engine.cancel(4711)


def warm_up_steps():
    from backends.engine.loop import warm_up

    model = PrefixModel()
    warm_up(batch_of(model, ENDLESS))
    return len(model.rows)


def test_a_fault_of_the_model_ends_jobs_with_its_name_and_the_engine_comes_back(house):
    broken, sound = SteppedModel(), PrefixModel()
    engine = house(broken, sound).ready().engine
    outputs = Queue()
    broken.fault = ValueError("bad lanes")

    engine.submit(job((1, 2), 50), outputs.put)
    failed = last_of(outputs)

    assert (failed.end, failed.error) == ("error", "engine restarting: ValueError: bad lanes")
    until(lambda: not engine.why_not)
    engine.submit(job((1, 2), 4), outputs.put)
    assert last_of(outputs).end == "length"


def test_a_model_that_cannot_be_built_is_tried_again_and_nobody_hangs(house):
    engine = house(OSError("no such weights"), OSError("no such weights"), PrefixModel()).engine

    until(lambda: not engine.why_not)

    assert engine.window == 64 * 16


def test_a_model_that_fails_alike_at_every_build_is_given_up_and_says_so(house):
    home = house(OSError("no such weights"))
    engine = home.engine

    until(lambda: engine.gave_up)

    assert home.built == AT_ONCE.builds
    assert engine.why_not == f"given up after {AT_ONCE.builds} tries: OSError: no such weights"
    with pytest.raises(UpstreamError, match="no such weights") as refusal:
        engine.submit(job((1,), 1), print)
    assert not refusal.value.sent


def test_faults_of_other_kinds_and_of_models_that_were_ready_do_not_give_an_engine_up(house):
    broken, outputs = SteppedModel(), Queue()
    kinds = [OSError("a"), ValueError("b")] * AT_ONCE.builds
    home = house(*kinds, broken)

    def mended(output):
        broken.fault = None
        outputs.put(output)

    for number in range(AT_ONCE.builds + 1):
        home.ready()
        broken.fault = ValueError(f"in service {number}")
        home.engine.submit(job((1, 2), 50), mended)
        assert last_of(outputs).error.endswith(f"in service {number}")

    home.ready()
    assert not home.engine.gave_up


def test_a_job_that_comes_while_the_engine_is_given_up_is_refused_or_ended_never_lost(house):
    engine = house(OSError("no such weights")).engine
    outputs, fates = Queue(), 0

    while not engine.gave_up:
        try:
            engine.submit(job((1,), 1), outputs.put)
            fates += 1
        except UpstreamError:
            pass

    for _ in range(fates):
        assert last_of(outputs).end == "error"


def test_a_model_without_any_memory_ends_its_jobs_as_overloaded(house):
    broken, outputs = SteppedModel(), Queue()
    engine = house(broken, PrefixModel()).ready().engine
    broken.fault = MemoryError()

    engine.submit(job((1, 2), 50), outputs.put)

    failed = last_of(outputs)
    assert (failed.end, failed.kind) == ("error", "overloaded")
    assert "no memory for the smallest step" in failed.error


def test_a_job_that_is_cancelled_before_its_turn_computes_nothing(house):
    model, outputs = SteppedModel(), Queue()
    engine = house(model).ready().engine
    computed = engine.stats().computed_tokens
    model.is_held = True
    engine.submit(job((1,) * 10, 3), outputs.put)
    assert model.asked.acquire(timeout=PATIENCE_S)

    engine.cancel(engine.submit(job((2,) * 500, 100), outputs.put))
    model.is_held = False
    model.leave.release()

    ends = {last_of(outputs).end, last_of(outputs).end}
    assert ends == {"cancelled", "length"}
    until(lambda: engine.load().running == 0)
    assert engine.stats().computed_tokens - computed == 10 + 2


def test_a_cancel_in_a_long_prompt_waits_for_the_step_under_way_and_no_other(house):
    model, outputs = SteppedModel(blocks=256), Queue()
    engine = house(model).ready().engine
    model.is_held = True
    job_id = engine.submit(job((1, 2, 3) * 1000, 100), outputs.put)
    assert model.asked.acquire(timeout=PATIENCE_S)
    before = engine.stats().computed_tokens

    engine.cancel(job_id)
    model.leave.release()

    assert last_of(outputs).end == "cancelled"
    until(lambda: engine.load().free_blocks == 256)
    assert engine.stats().computed_tokens - before == 512
    assert engine.load().queued_tokens == 0


def test_while_the_model_is_not_there_jobs_are_refused_with_the_reason(house):
    gate = threading.Event()

    class Slow(House):
        def _build(self, drafter):
            gate.wait(PATIENCE_S)
            return super()._build(drafter)

    slow = Slow(PrefixModel())
    try:
        with pytest.raises(UpstreamError, match="loading weights") as refusal:
            slow.engine.submit(job((1,), 1), print)
        assert (refusal.value.kind, refusal.value.sent) == ("engine_failed", False)
        assert slow.engine.resident_tokens([b""]) == 0
    finally:
        gate.set()
        slow.engine.close()


def test_pauses_between_restarts_grow_to_a_bound():
    assert [Restart().pause_s(failures) for failures in (1, 2, 3, 50)] == [0.5, 1.0, 2.0, 30.0]


def test_close_ends_jobs_under_way_and_later_ones_are_refused(house):
    model = SteppedModel()
    engine = house(model).ready().engine
    outputs = Queue()
    model.is_held = True
    engine.submit(job((1, 2), 100), outputs.put)
    assert model.asked.acquire(timeout=PATIENCE_S)

    closing = threading.Thread(target=engine.close)
    closing.start()
    until(lambda: engine._inbox.is_closed)
    model.leave.release()
    closing.join(PATIENCE_S)

    assert last_of(outputs).error == "the engine was closed"
    with pytest.raises(UpstreamError):
        engine.submit(job((1, 2), 100), outputs.put)
    engine.close()


def test_a_full_house_refuses_and_a_place_that_is_left_can_be_had(house):
    model = SteppedModel()
    engine = house(model, max_jobs=2).ready().engine
    outputs = Queue()
    model.is_held = True
    first = engine.submit(job((1,) * 10, 100), outputs.put)
    engine.submit(job((2,) * 20, 100), outputs.put)

    with pytest.raises(UpstreamError) as refusal:
        engine.submit(job((3,), 100), outputs.put)
    assert (refusal.value.kind, refusal.value.sent) == ("overloaded", False)

    engine.cancel(first)
    model.is_held = False
    model.leave.release(2)
    assert last_of(outputs).job_id == first
    engine.submit(job((3,), 1), outputs.put)


@pytest.mark.parametrize(
    ("unfit", "kind", "words"),
    [
        (
            job((1,) * 1000, 25),
            "too_long",
            "1024 tokens. However, you requested 1025 tokens (1000 in the messages, 25 ",
        ),
        (job((), 5), "unsupported", "empty"),
        (job((1,), 5, Sampling(logit_bias={16: 1.0})), "unsupported", "logit_bias names token 16"),
    ],
)
def test_what_can_never_run_is_refused_at_once(house, unfit, kind, words):
    engine = house(PrefixModel(blocks=64)).ready().engine

    with pytest.raises(UpstreamError) as refusal:
        engine.submit(unfit, print)

    assert refusal.value.kind == kind
    assert words in refusal.value.message


def test_a_job_of_exactly_the_window_runs(house):
    engine = house(PrefixModel(blocks=4)).ready().engine
    outputs = Queue()

    engine.submit(job((1,) * 60, 4), outputs.put)

    assert last_of(outputs).usage.completion_tokens == 4


def test_a_job_whose_deadline_has_passed_is_cancelled_and_says_so(house):
    engine = house(PrefixModel()).ready().engine
    outputs = Queue()

    engine.submit(job((1, 2), 500, deadline_s=time.monotonic() - 1), outputs.put)

    ended = last_of(outputs)
    assert (ended.end, ended.error) == ("cancelled", "the deadline passed")


def test_a_consumer_that_raises_loses_its_job_and_no_other(house):
    engine = house(PrefixModel()).ready().engine
    outputs = Queue()

    def raises(output):
        raise RuntimeError("gone")

    engine.submit(job((1, 2), 1000), raises)
    engine.submit(job((3, 4), 40), outputs.put)

    assert last_of(outputs).end == "length"
    until(lambda: engine.load().running == 0)


def test_all_outputs_of_a_step_are_delivered_before_one_end_of_step(house):
    model = SteppedModel()
    home = house(model).ready()
    model.is_held = True
    outputs = Queue()
    home.engine.submit(job((1, 2), 3), outputs.put)
    assert model.asked.acquire(timeout=PATIENCE_S)
    home.engine.submit(job((3, 4), 2), outputs.put)
    model.leave.release(4)
    last_of(outputs), last_of(outputs)

    until(lambda: home.engine.load().running == 0)

    assert len(model.rows) == 3 + warm_up_steps()
    until(lambda: home.steps._value == 3)


def test_the_load_counts_what_the_thread_has_not_seen_yet(house):
    model = SteppedModel()
    engine = house(model).ready().engine
    model.is_held = True
    engine.submit(job((1,) * 10, 2), print)
    assert model.asked.acquire(timeout=PATIENCE_S)

    engine.submit(job((2,) * 20, 2), print)

    assert engine.load().waiting == 1
    assert engine.load().queued_tokens == 20


def test_what_was_generated_is_resident_under_its_digests(house):
    from policies.affinity.blocks import seed, token_blocks

    engine = house(PrefixModel()).ready().engine
    outputs = Queue()
    prompt = tuple(range(15)) * 3

    engine.submit(job(prompt, 4, GREEDY, salt=b"mine"), outputs.put)
    last_of(outputs)

    assert engine.resident_tokens(token_blocks(seed("test", b"mine"), prompt, 16)) == 32
    assert engine.resident_tokens(token_blocks(seed("test", b"yours"), prompt, 16)) == 0


def test_an_idle_engine_sleeps_until_there_is_work(house):
    turns = []

    def clock():
        turns.append(1)
        return time.monotonic()

    engine = house(PrefixModel(), clock=clock).ready().engine
    outputs = Queue()
    for _ in range(2):
        engine.submit(job((1, 2), 3), outputs.put)
        last_of(outputs)

    assert len(turns) <= 1 + 2 * 3 + 1
