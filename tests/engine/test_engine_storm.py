"""Random storms of submit, cancel and step over a small pool: nothing leaks, nothing is mixed up, everyone gets an answer."""

from collections import Counter

from generating import Answer, batch_of, job, run
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from stub_models import PrefixModel, StubVocabulary

from backends.engine.api import BLOCK_TOKENS
from backends.engine.budget import Budget
from backends.engine.draft.ngram import NgramDrafter
from backends.messages import Sampling

BLOCKS = 8
VOCABULARY = StubVocabulary(eos=15)
heads = st.sampled_from([(), (1,) * 20, (1,) * 40, (1, 2) * 24])
tails = st.lists(st.integers(0, 14), min_size=1, max_size=30).map(tuple)
samplings = st.sampled_from([Sampling(temperature=0.0), Sampling(temperature=1.0, seed=5)])


class Storm(RuleBasedStateMachine):
    submitted = Bundle("submitted")

    @initialize(drafts=st.booleans(), rows=st.sampled_from([16, 50, 512]), running=st.sampled_from([1, 3, 64]))
    def start(self, drafts, rows, running):
        budget = Budget(max_running=running, mixed_rows=rows, prefill_rows=rows)
        drafter = NgramDrafter() if drafts else None
        self.batch = batch_of(PrefixModel(blocks=BLOCKS), VOCABULARY, budget=budget, drafter=drafter)
        self.jobs, self.answers = {}, {}

    @rule(
        target=submitted,
        head=heads,
        tail=tails,
        output=st.integers(1, 50),
        sampling=samplings,
        sender=st.fixed_dictionaries({"salt": st.sampled_from([b"a", b"b"]), "priority": st.integers(0, 1)}),
    )
    def submit(self, head, tail, output, sampling, sender):
        job_id = len(self.jobs) + 1
        self.jobs[job_id] = job((*head, *tail), output, sampling, **sender)
        self.answers[job_id] = Answer()
        self.batch.add(job_id, self.jobs[job_id], 0)
        return job_id

    @rule(job_id=consumes(submitted))
    def cancel(self, job_id):
        if output := self.batch.cancel(job_id):
            self.answers[job_id].add(output, 0)

    @rule(times=st.integers(1, 12))
    def step(self, times):
        for _ in range(times):
            for output in self.batch.step():
                self.answers[output.job_id].add(output, 0)

    @rule()
    def forget_prefixes(self):
        self.batch.pool.clear()

    @invariant()
    def every_reference_has_a_holder(self):
        held = Counter(block for sequence in self.batch.scheduler.running for block in sequence.table)
        assert [self.batch.pool.references(block) for block in range(BLOCKS)] == [held[n] for n in range(BLOCKS)]
        assert self.batch.pool.free == BLOCKS - len(held)

    @invariant()
    def whoever_waits_holds_nothing(self):
        assert not any(sequence.table for sequence in self.batch.scheduler.waiting)

    @invariant()
    def tables_cover_what_is_computed(self):
        for sequence in self.batch.scheduler.running:
            assert sequence.computed < len(sequence.tokens)
            assert sequence.computed <= len(sequence.table) * BLOCK_TOKENS

    def teardown(self):
        while self.batch.under_way:
            self.step(1)
        self.every_reference_has_a_holder()
        assert self.batch.pool.free == BLOCKS
        for job_id, answer in self.answers.items():
            if answer.end == "cancelled":
                continue
            [alone] = run(batch_of(PrefixModel(blocks=BLOCKS), VOCABULARY), [self.jobs[job_id]])
            assert (answer.tokens, answer.text, answer.end) == (alone.tokens, alone.text, alone.end)


Storm.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
test_a_storm_leaks_nothing_and_answers_everyone = Storm.TestCase
