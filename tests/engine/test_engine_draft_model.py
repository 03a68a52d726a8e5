"""A draft model: its KV is kept in step with the target's sequences whatever becomes of them, and it changes no result."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from generating import ENDLESS, GREEDY, batch_of, job, run
from stub_models import BagModel, FailingModel, FreeRows, PrefixModel, StubVocabulary

from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.draft.model import READ_ROWS, ModelDrafter
from backends.engine.speculate import Speculator
from backends.messages import Sampling

SETTINGS = {
    "greedy": GREEDY,
    "sampled": Sampling(temperature=0.8, seed=42),
    "nucleus": Sampling(temperature=1.2, seed=7, top_p=0.8, top_k=9, min_p=0.02),
    "penalties": Sampling(temperature=0.0, presence_penalty=0.7, frequency_penalty=0.4, repetition_penalty=1.3),
    "bias": Sampling(temperature=0.9, seed=-3, logit_bias={3: 1.5, 5: -100.0}),
}


def prompts(count, seed=0, *, lengths=(1, 60)):
    random = Random(seed)
    return [tuple(random.randrange(15) for _ in range(random.randint(*lengths))) for _ in range(count)]


def drafted(draft, *, target=None, k=4, budget=None):
    """A batch whose drafts come from the model `draft`, and the drafter."""
    drafter = ModelDrafter(draft, 16, lambda: 0.0)
    return batch_of(target or PrefixModel(), ENDLESS, drafter=drafter, max_draft=k, budget=budget), drafter


def tokens(answers):
    return [answer.tokens for answer in answers]


def plain(jobs):
    return [run(batch_of(PrefixModel(), ENDLESS), [each])[0].tokens for each in jobs]


class Forgetful(PrefixModel):
    """Right but for every fifth position, so that guesses are rejected at every depth."""

    def forward(self, step):
        logits = super().forward(step)
        wrong = step.positions[step.logit_rows] % 5 == 0
        logits[wrong] = logits[wrong][:, ::-1]
        return logits


@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_target_as_its_own_draft_is_always_right(settings, k):
    jobs = [job(prompt, 40, SETTINGS[settings]) for prompt in prompts(8)]
    batch, drafter = drafted(PrefixModel(), k=k)

    answers = run(batch, jobs)

    assert tokens(answers) == plain(jobs)
    assert batch.speculator.accepted == batch.speculator.proposed > 8 * 40 * k / (k + 1) / 2
    assert drafter.pool.free == drafter.pool.total


@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("settings", SETTINGS)
def test_rejected_guesses_leave_no_trace_in_the_drafts_own_kv(settings, k):
    jobs = [job(prompt, 40, SETTINGS[settings]) for prompt in prompts(8)]
    batch, drafter = drafted(Forgetful(), k=k)

    answers = run(batch, jobs)

    assert tokens(answers) == plain(jobs)
    rejected = batch.speculator.proposed - batch.speculator.accepted
    assert 0 < rejected < batch.speculator.accepted, "one position of five is guessed wrong, all others right"
    assert drafter.pool.free == drafter.pool.total


@pytest.mark.parametrize("squeezed", ["target", "draft", "both"])
def test_preemption_on_either_side_changes_no_token(squeezed):
    jobs = [job(prompt, 35) for prompt in prompts(6, lengths=(20, 40))]
    small, large = PrefixModel(blocks=9), PrefixModel()
    target = large if squeezed == "draft" else small
    batch, drafter = drafted(PrefixModel(blocks=64 if squeezed == "target" else 9), target=target)

    answers = run(batch, jobs)

    assert tokens(answers) == plain(jobs)
    assert batch.speculator.accepted == batch.speculator.proposed > 0
    assert (batch.scheduler.preemptions > 0) == (squeezed != "draft")
    assert drafter.pool.free == drafter.pool.total


def test_the_draft_reads_a_common_prefix_once():
    [prefix] = prompts(1, lengths=(256, 256))
    jobs = [job((*prefix, *tail), 12, salt=b"one") for tail in prompts(8, seed=4, lengths=(7, 20))]
    model = PrefixModel(blocks=200)
    batch, _ = drafted(model, target=PrefixModel(blocks=200))

    answers = run(batch, jobs)

    assert tokens(answers) == [run(batch_of(PrefixModel(blocks=200), ENDLESS), [each])[0].tokens for each in jobs]
    assert sum(model.rows) < 2 * 256 + 8 * (20 + 4 * 12)


def test_the_drafts_prefixes_are_not_shared_between_salts():
    model = PrefixModel()
    batch, _ = drafted(model)
    [prompt] = prompts(1, lengths=(50, 50))

    read = []
    for salt in (b"a", b"b", b"a"):
        model.rows.clear()
        run(batch, [job(prompt, 2 + 1, salt=salt)])
        read.append(sum(model.rows))

    assert read[0] == read[1] == read[2] + 48


def test_a_long_prompt_is_read_in_parts_and_does_not_silence_the_others():
    [long] = prompts(1, lengths=(600, 600))
    model = PrefixModel(blocks=200)
    batch, _ = drafted(model, target=PrefixModel(blocks=200))
    jobs = [job((1, 2, 3), 40), job(long, 40)]

    short, _ = run(batch, jobs)

    assert max(model.rows) <= READ_ROWS + 2
    assert len(short.steps) <= 12


def test_a_draft_model_with_a_shorter_window_guesses_as_far_as_it_can_see():
    jobs = [job(prompt, 40) for prompt in prompts(3, lengths=(20, 40))]
    batch, _ = drafted(PrefixModel(context=48))

    answers = run(batch, jobs)

    assert tokens(answers) == plain(jobs)
    assert 0 < batch.speculator.accepted < 80


@pytest.mark.parametrize("size", [9, 30])
def test_a_draft_model_whose_vocabulary_is_padded_otherwise_guesses_what_both_know(size):
    jobs = [job(prompt, 20, each) for prompt, each in zip(prompts(2), (GREEDY, SETTINGS["bias"]), strict=True)]

    class Odd(PrefixModel):
        def forward(self, step):
            return np.pad(super().forward(step), ((0, 0), (0, 14)), constant_values=99.0)[:, :size]

    batch, _ = drafted(Odd())

    answers = run(batch, jobs)

    assert tokens(answers) == plain(jobs)
    assert batch.speculator.proposed > 0


def test_a_draft_model_without_memory_is_done_without_and_starts_over():
    jobs = [job(prompt, 40) for prompt in prompts(4)]
    model = FailingModel(PrefixModel())
    batch, drafter = drafted(model)

    def fail():
        model.fault = MemoryError()

    answers = run(batch, jobs, at_step={2: fail, 5: fail})

    assert tokens(answers) == plain(jobs)
    assert batch.speculator.accepted == batch.speculator.proposed > 0
    assert drafter.pool.free == drafter.pool.total


def test_cancelled_sequences_leave_nothing_with_the_draft():
    batch, drafter = drafted(PrefixModel())
    for number, prompt in enumerate(prompts(8), 1):
        batch.add(number, job(prompt, 40), 0)
    for _ in range(3):
        batch.step()

    for number in range(1, 9):
        batch.cancel(number)

    assert drafter.pool.free == drafter.pool.total
    assert not drafter._mirrors


def test_a_draft_that_is_dear_and_wrong_is_given_up():
    class Clock:
        """Every reading is a tenth of a step later."""

        now = 0.0

        def __call__(self):
            self.now += 0.1
            return self.now

    class Wrong(PrefixModel):
        def forward(self, step):
            return -super().forward(step)

    class Dear:
        def seconds(self, rows):
            return 0.5 + 0.02 * rows

    drafter = ModelDrafter(Wrong(), 16, Clock())
    batch = Batch(
        PrefixModel(), ENDLESS, revision="test", budget=Budget(), clock=lambda: 0.0,
        speculator=Speculator(drafter, 4, Dear(), lambda: 0.0),
    )  # fmt: skip

    run(batch, [job(prompt, 800) for prompt in prompts(4)])

    assert batch.speculator.proposed < 0.1 * 3200
    assert batch.speculator.spent_s < 1.06 * batch.speculator.plain_s


@pytest.mark.parametrize("drafts", ["right", "wrong", "similar"])
def test_speculative_sampling_has_the_targets_distribution(drafts):
    """Pearson's chi-square over 4000 seeds, 7 degrees of freedom; 33 is exceeded once in 40 000 true cases."""
    logits = np.array([1.2, 0.3, -0.4, 2.0, 0.0, 1.0, -1.0, 0.7])
    other = {"right": logits, "wrong": -logits, "similar": logits + 0.4 * np.sin(np.arange(8))}[drafts]
    target, draft = (BagModel(dict(enumerate(each)), vocab_size=8) for each in (logits, other))
    speculator = Speculator(ModelDrafter(draft, 8, lambda: 0.0), 3, FreeRows(), lambda: 0.0)
    batch = Batch(
        target, StubVocabulary(eos=None), revision="test", budget=Budget(), clock=lambda: 0.0, speculator=speculator
    )
    seen, sevens = Counter(), Counter()

    for start in range(0, 4000, 50):
        jobs = [job((1, 2), 4, Sampling(temperature=1.0, seed=start + number)) for number in range(50)]
        for answer in run(batch, jobs):
            seen[answer.tokens[1]] += 1
            sevens[answer.tokens[2]] += 1

    expected = 4000 * np.exp(logits) / np.exp(logits).sum()
    for counts in (seen, sevens):
        assert sum((counts[token] - expected[token]) ** 2 / expected[token] for token in range(8)) < 33
    assert speculator.proposed > 2000
    assert (speculator.accepted == speculator.proposed) == (drafts == "right")
