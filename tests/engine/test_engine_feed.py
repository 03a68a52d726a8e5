"""What readers are told of residency, whenever they ask and however far they lag: in the end they know the same."""

from queue import Queue

from generating import ENDLESS, GREEDY, PATIENCE_S, batch_of, job, until
from hypothesis import given
from hypothesis import strategies as st
from stub_models import PrefixModel

from backends.engine.draft.ngram import NgramDrafter
from backends.engine.loop import Engine
from backends.engine.thread.feed import ResidencyFeed

DIGESTS = [bytes([n]) * 16 for n in range(6)]


class Reader:
    def __init__(self, feed):
        self.feed, self.place, self.known, self.wholes = feed, None, set(), 0

    def read(self):
        told = self.feed.after(self.place)
        if told is None:
            return self
        self.wholes += told.is_whole
        assert not told.is_whole or not told.removed
        assert not set(told.stored) & set(told.removed)
        self.known = (set() if told.is_whole else self.known) | set(told.stored)
        self.known -= set(told.removed)
        self.place = told.place
        return self


changes = st.lists(st.tuples(st.sampled_from(DIGESTS), st.booleans()), max_size=5)
acts = st.lists(
    st.one_of(
        changes.map(lambda made: ("publish", made)),
        st.just(("begin", None)),
        st.sets(st.sampled_from(DIGESTS)).map(lambda made: ("replace", made)),
        st.integers(0, 2).map(lambda reader: ("read", reader)),
    ),
    max_size=30,
)


@given(acts)
def test_every_reader_ends_up_knowing_exactly_what_is_resident(acts):
    feed, resident = ResidencyFeed(most_changes=4), set()
    readers = [Reader(feed) for _ in range(3)]
    for act, what in acts:
        match act:
            case "read":
                readers[what].read()
                assert readers[what].known == resident
            case "begin":
                feed.begin()
                resident = set()
            case "replace":
                feed.replace(what)
                resident = set(what)
            case "publish":
                feed.publish(what)
                for digest, is_resident in what:
                    (resident.add if is_resident else resident.discard)(digest)

    for reader in readers:
        assert reader.read().known == resident
        assert feed.after(reader.place) is None


def test_a_reader_who_keeps_up_is_told_changes_and_one_who_lags_is_told_all():
    feed = ResidencyFeed(most_changes=4)
    prompt, slow = Reader(feed).read(), Reader(feed).read()
    for digest in DIGESTS:
        feed.publish([(digest, True)])
        prompt.read()

    assert prompt.wholes == 1
    assert slow.read().wholes == 2
    assert prompt.known == slow.known == set(DIGESTS)


def test_a_lost_cache_begins_a_new_generation():
    feed = ResidencyFeed()
    feed.publish([(DIGESTS[0], True)])
    before = Reader(feed).read()
    generation = feed.generation

    feed.begin()

    assert feed.generation != generation
    assert before.read().known == set()


def test_what_the_engine_tells_is_what_its_pool_holds_through_evictions_and_faults():
    class Dies(PrefixModel):
        fault = None

        def forward(self, step):
            if self.fault:
                raise self.fault
            return super().forward(step)

    model, outputs = Dies(blocks=12), Queue()
    engine = Engine(lambda: batch_of(model, ENDLESS, drafter=NgramDrafter()))
    try:
        until(lambda: not engine.why_not)
        reader, held = Reader(engine.feed).read(), []
        assert reader.known == set()
        for number in range(12):
            engine.submit(job((number,) * 40, 20, GREEDY), outputs.put)
            while outputs.get(timeout=PATIENCE_S).end is None:
                reader.read()
            until(lambda: engine.load().running == 0)
            held.append(set(engine._batch.pool.digests()))
            assert reader.read().known == held[-1]
        assert held[0] - held[-1], "nothing was evicted"
        assert reader.wholes == 1

        model.fault = ValueError("bad lanes")
        engine.submit(job((1, 2), 5, GREEDY), outputs.put)
        assert outputs.get(timeout=PATIENCE_S).end == "error"
        assert reader.read().known == set()
        assert reader.wholes == 2
    finally:
        engine.close()
