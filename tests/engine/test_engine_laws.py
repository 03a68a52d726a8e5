"""Whatever the schedule, the tokens are the same: on a model whose logits are a hash of all it can see in the KV."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from generating import ENDLESS, GREEDY, Answer, batch_of, finish, job, run
from stub_models import FailingModel, OracleDrafter, PrefixModel, StubVocabulary

from backends.engine.budget import Budget
from backends.engine.draft.ngram import NgramDrafter
from backends.messages import Sampling

SETTINGS = {
    "greedy": GREEDY,
    "sampled": Sampling(temperature=0.8, seed=42),
    "nucleus": Sampling(temperature=1.2, seed=7, top_p=0.8, top_k=9, min_p=0.02),
    "unseeded": Sampling(temperature=0.7),
    "penalties": Sampling(temperature=0.0, presence_penalty=0.7, frequency_penalty=0.4, repetition_penalty=1.3),
    "bias": Sampling(temperature=0.9, seed=-3, logit_bias={3: 1.5, 5: -100.0}),
    "logprobs": Sampling(temperature=0.0, logprobs=True, top_logprobs=3),
}
VOCABULARY = StubVocabulary({token: chr(97 + token) for token in range(16)}, eos=15)


def prompts(count, seed=0, *, lengths=(1, 60)):
    random = Random(seed)
    return [tuple(random.randrange(15) for _ in range(random.randint(*lengths))) for _ in range(count)]


def jobs_of(sampling, count=8, *, lengths=(1, 60), **fields):
    stop = fields.pop("stop", ("abc", "nn"))
    return [job(prompt, 40, sampling, stop=stop, **fields) for prompt in prompts(count, lengths=lengths)]


def told(answers):
    return [(each.text, each.tokens, each.end, each.logprobs) for each in answers]


def alone(jobs):
    return [run(batch_of(PrefixModel(), VOCABULARY), [each])[0] for each in jobs]


@pytest.mark.parametrize("settings", SETTINGS)
def test_batched_equals_alone(settings):
    jobs = jobs_of(SETTINGS[settings])

    together = run(batch_of(PrefixModel(), VOCABULARY), jobs)

    assert told(together) == told(alone(jobs))


@pytest.mark.parametrize("rows", [16, 17, 40])
def test_chunked_prefill_equals_whole(rows):
    jobs = jobs_of(GREEDY)

    chunked = run(batch_of(PrefixModel(), VOCABULARY, budget=Budget(mixed_rows=rows, prefill_rows=rows)), jobs)

    assert told(chunked) == told(alone(jobs))


@pytest.mark.parametrize("settings", SETTINGS)
def test_with_a_prefix_cache_hit_equals_without(settings):
    batch = batch_of(PrefixModel(), VOCABULARY)
    jobs = jobs_of(SETTINGS[settings])

    first, second = run(batch, jobs), run(batch, jobs)

    assert told(first) == told(second)
    assert all(
        again.usage.cached_tokens == (len(each.prompt) - 1) // 16 * 16 for again, each in zip(second, jobs, strict=True)
    )


@pytest.mark.parametrize("settings", SETTINGS)
def test_preempted_equals_not(settings):
    jobs = [job(prompt, 35, SETTINGS[settings]) for prompt in prompts(6, lengths=(20, 40))]
    batch = batch_of(PrefixModel(blocks=7), ENDLESS)

    squeezed = run(batch, jobs)

    assert batch.scheduler.preemptions > 0
    assert told(squeezed) == told(run(batch_of(PrefixModel(), ENDLESS), [each])[0] for each in jobs)


@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("kind", ["ngram", "right", "wrong"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_speculative_equals_plain_alone_and_in_a_crowded_batch(settings, kind, k):
    jobs = jobs_of(SETTINGS[settings])
    plain = alone(jobs)
    known = {each.prompt: answer.tokens for each, answer in zip(jobs, plain, strict=True)}

    def drafter():
        return NgramDrafter() if kind == "ngram" else OracleDrafter(known, lies=kind == "wrong")

    lone = [run(batch_of(PrefixModel(), VOCABULARY, drafter=drafter(), max_draft=k), [each])[0] for each in jobs]
    crowd_batch = batch_of(PrefixModel(blocks=9), VOCABULARY, drafter=drafter(), max_draft=k)
    crowd = run(crowd_batch, jobs)

    assert told(lone) == told(plain)
    assert told(crowd) == told(plain)
    if kind == "wrong":
        assert crowd_batch.speculator.accepted == 0


def test_a_drafter_that_is_always_right_saves_steps():
    each = job((1, 2, 3), 41)
    [plain] = run(batch_of(PrefixModel(), ENDLESS), [each])

    [quick] = run(batch_of(PrefixModel(), ENDLESS, drafter=OracleDrafter({each.prompt: plain.tokens})), [each])

    assert (len(plain.steps), len(quick.steps)) == (41, 9)


def test_eng_06_a_seed_fixes_the_tokens_whatever_else_is_in_the_batch():
    seeded = job(prompts(1)[0], 16, Sampling(temperature=0.8, seed=42))
    [by_itself] = alone([seeded])

    companies = [
        [seeded],
        [job(seeded.prompt, 16, Sampling(temperature=0.8))],
        [job(seeded.prompt, 16, Sampling(temperature=0.8, seed=7))],
    ]
    for company in companies:
        assert run(batch_of(PrefixModel(), VOCABULARY), [seeded, *company])[0].tokens == by_itself.tokens

    [other] = alone([job(seeded.prompt, 16, Sampling(temperature=0.8, seed=43))])
    assert other.tokens != by_itself.tokens


def test_eng_07_preemption_changes_timing_only():
    jobs = [job(prompt, 35, stop=()) for prompt in prompts(2, lengths=(34, 34))]
    batch = batch_of(PrefixModel(blocks=7), ENDLESS)

    squeezed = run(batch, jobs)

    by_itself = [run(batch_of(PrefixModel(blocks=7), ENDLESS), [each])[0] for each in jobs]
    assert batch.scheduler.preemptions >= 1
    assert [each.end for each in squeezed] == ["length", "length"]
    assert [each.usage.cached_tokens for each in squeezed] == [0, 0]
    assert told(squeezed) == told(by_itself)


@pytest.mark.parametrize("drafted", [False, True])
def test_eng_08_cancelling_frees_everything_at_any_stage(drafted):
    batch = batch_of(PrefixModel(blocks=20), VOCABULARY, drafter=NgramDrafter() if drafted else None)
    answers = {}
    random = Random(3)
    for job_id, prompt in enumerate(prompts(100, seed=5), 1):
        batch.add(job_id, job(prompt, random.randint(1, 20)), 1)
        answers[job_id] = Answer()
    [first] = alone([job(prompts(100, seed=5)[0], 20)])

    while batch.under_way > 1:
        for output in batch.step():
            answers[output.job_id].add(output, 0)
        victim = random.randint(2, 100)
        if output := batch.cancel(victim):
            answers[victim].add(output, 0)
    finish(batch, answers)

    assert {answer.end for answer in answers.values()} == {"stop", "length", "cancelled"}
    assert first.tokens[: len(answers[1].tokens)] == answers[1].tokens
    assert batch.cancel(1) is None
    assert batch.cancel(12345) is None
    assert batch.pool.free == batch.pool.total == 20
    assert not any(batch.pool.references(block) for block in range(20))
    assert len(batch.scheduler.waiting) == len(batch.scheduler.running) == 0


def test_eng_09_a_long_prompt_does_not_stop_a_stream_and_is_served_soon():
    batch = batch_of(PrefixModel(blocks=400), ENDLESS, budget=Budget(mixed_rows=64, prefill_rows=64))
    stream, long = job((1, 2, 3), 200), job(tuple(range(16)) * 128, 4)
    answers = {1: Answer(), 2: Answer()}
    batch.add(1, stream, 0)

    finish(batch, answers, at_step={10: lambda: batch.add(2, long, 0)})

    gaps = [later - earlier for earlier, later in pairwise(answers[1].steps)]
    assert max(gaps) <= 2
    assert answers[2].steps[0] - 10 <= 2 * 2048 / 64


def test_eng_09_a_stream_of_arrivals_stops_no_decode_and_is_served_in_order():
    batch = batch_of(PrefixModel(blocks=400), ENDLESS, budget=Budget(mixed_rows=64, prefill_rows=64))
    answers = {1: Answer()}
    batch.add(1, job((1, 2, 3), 100), 0)
    arrivals = prompts(60, seed=9, lengths=(64, 64))

    def arrive(job_id):
        answers[job_id] = Answer()
        batch.add(job_id, job(arrivals[job_id - 2], 2), 0)

    finish(batch, answers, at_step={step: (lambda job_id=step + 1: arrive(job_id)) for step in range(1, 61)})

    gaps = [later - earlier for earlier, later in pairwise(answers[1].steps)]
    assert max(gaps) <= 2
    first_served = [answers[job_id].steps[0] for job_id in range(2, 62)]
    assert first_served == sorted(first_served)


def test_eng_10_a_cache_hit_counts_48_of_50_whatever_the_sampling():
    batch = batch_of(PrefixModel(), VOCABULARY)
    [prompt] = prompts(1, lengths=(50, 50))
    sampled = Sampling(temperature=0.8, seed=42, logprobs=True, top_logprobs=2)
    other = Sampling(temperature=0.3, seed=1, presence_penalty=1.0, logit_bias={2: -1.0})

    told_by = [run(batch, [job(prompt, 8, sampling)])[0] for sampling in (GREEDY, GREEDY, sampled, sampled, other)]

    assert [answer.usage.cached_tokens for answer in told_by] == [0, 48, 48, 48, 48]
    assert told(told_by[0:1]) == told(told_by[1:2])
    assert told(told_by[2:3]) == told(told_by[3:4])


@pytest.mark.parametrize("length", [64, 512])
def test_sixteen_requests_with_a_common_prefix_prefill_it_once(length):
    [prefix] = prompts(1, lengths=(length, length))
    jobs = [job((*prefix, *tail), 4) for tail in prompts(16, seed=4, lengths=(7, 30))]
    model = PrefixModel(blocks=200)
    batch = batch_of(model, VOCABULARY)

    together = run(batch, jobs)

    tails = sum(len(each.prompt) - length for each in jobs)
    decoded = sum(len(answer.tokens) - 1 for answer in together)
    assert batch.scheduler.computed_tokens == sum(model.rows) == length + tails + decoded
    assert told(together) == told(run(batch_of(PrefixModel(blocks=200), VOCABULARY), [each])[0] for each in jobs)


def test_a_prefix_that_is_computed_in_odd_chunks_is_still_computed_once():
    [prefix] = prompts(1, lengths=(160, 160))
    jobs = [job((*prefix, tail), 3) for tail in range(4)]
    batch = batch_of(PrefixModel(), ENDLESS, budget=Budget(mixed_rows=41, prefill_rows=41))

    run(batch, jobs)

    assert batch.scheduler.computed_tokens == 160 + 4 + 4 * 2


@pytest.mark.parametrize("rows", [17, 41, 63])
def test_a_chunk_that_is_not_the_last_of_its_prompt_ends_at_a_block_boundary(rows):
    """So what a prompt has computed is whole blocks, and blocks that another has computed meanwhile can follow them."""

    class Watching(PrefixModel):
        cut = 0

        def forward(self, step):
            for row in np.flatnonzero(np.diff(step.sequence, append=-1)):
                if row not in step.logit_rows:
                    assert (step.positions[row] + 1) % 16 == 0
                    self.cut += 1
            return super().forward(step)

    model = Watching(blocks=100)

    run(batch_of(model, ENDLESS, budget=Budget(mixed_rows=rows, prefill_rows=rows)), jobs_of(GREEDY, lengths=(50, 150)))

    assert model.cut > 10


def test_a_whole_prompt_in_the_cache_still_gets_its_last_token_computed():
    batch = batch_of(PrefixModel(), VOCABULARY)
    [prompt] = prompts(1, lengths=(48, 48))

    first, second = (run(batch, [job(prompt, 8)])[0] for _ in range(2))

    assert first.tokens == second.tokens
    assert second.usage.cached_tokens == 32


def test_a_prefix_is_not_shared_between_salts():
    batch = batch_of(PrefixModel(), VOCABULARY)
    [prompt] = prompts(1, lengths=(50, 50))

    mine, theirs, mine_again = (run(batch, [job(prompt, 4, salt=salt)])[0] for salt in (b"a", b"b", b"a"))

    assert (mine.usage.cached_tokens, theirs.usage.cached_tokens, mine_again.usage.cached_tokens) == (0, 0, 48)


def test_without_a_drafter_every_step_is_one_row_a_sequence():
    model = PrefixModel()

    run(batch_of(model, ENDLESS), [job((1,) * 20, 10), job((2,) * 20, 10)])

    assert model.rows == [40, *[2] * 9]


def test_a_model_short_of_memory_gets_smaller_steps_and_the_same_answers():
    jobs = jobs_of(GREEDY)
    model = FailingModel(PrefixModel())
    batch = batch_of(model, VOCABULARY)

    def fail():
        model.fault = MemoryError()

    answers = {number: Answer() for number in range(1, len(jobs) + 1)}
    for number, each in enumerate(jobs, 1):
        batch.add(number, each, 999)
    finish(batch, answers, at_step={0: fail, 3: fail})

    assert batch.scheduler.budget.prefill_rows == 128
    assert told(answers.values()) == told(alone(jobs))


def test_a_model_that_has_no_memory_at_all_is_a_fault():
    class Empty(PrefixModel):
        def forward(self, step):
            raise MemoryError

    batch = batch_of(Empty(), VOCABULARY)
    batch.add(1, job((1, 2), 2), 0)

    with pytest.raises(MemoryError):
        finish(batch, {})


def test_a_job_whose_logits_are_no_numbers_fails_alone():
    class Overflowing(PrefixModel):
        def forward(self, step):
            logits = super().forward(step)
            logits[step.positions[step.logit_rows] == 12] = np.nan
            return logits

    batch = batch_of(Overflowing(), ENDLESS)

    broken, sound = run(batch, [job((1,) * 10, 20), job((2,) * 20, 20)])

    assert (broken.end, broken.error, len(broken.tokens)) == ("error", "the model gave no finite logits", 3)
    assert sound.tokens == run(batch_of(PrefixModel(), ENDLESS), [job((2,) * 20, 20)])[0].tokens
