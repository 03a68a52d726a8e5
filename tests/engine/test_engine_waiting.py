"""Who is served next."""

from generating import Answer, batch_of, finish, job
from hypothesis import given
from hypothesis import strategies as st
from stub_models import PrefixModel, StubVocabulary

from backends.engine.budget import Budget
from backends.engine.sequence import Sequence
from backends.engine.waiting import ServedTokens, WaitingLine

ONE_AT_A_TIME = Budget(max_running=1)


def order(jobs, budget=ONE_AT_A_TIME):
    """Job ids in the order in which their first token came."""
    batch = batch_of(PrefixModel(blocks=256), StubVocabulary(eos=None), budget=budget)
    answers = {}
    for job_id, each in enumerate(jobs, 1):
        answers[job_id] = Answer()
        batch.add(job_id, each, 0)
    finish(batch, answers)
    return sorted(answers, key=lambda job_id: answers[job_id].steps[0])


def test_one_tenant_is_served_first_come_first_served():
    assert order([job((1,) * length, 2) for length in (30, 5, 60, 1)]) == [1, 2, 3, 4]


def test_a_lower_priority_value_goes_first():
    assert order([job((1,), 2, priority=priority) for priority in (2, 0, 1, 0)]) == [2, 4, 3, 1]


def test_a_tenant_with_one_request_does_not_wait_for_anothers_whole_backlog():
    backlog = [job((1,) * 20, 10, salt=b"busy") for _ in range(6)]

    assert order([*backlog, job((1,) * 20, 10, salt=b"quiet")]).index(7) == 1


def test_tenants_with_equal_demand_get_equal_turns():
    served = order([job((1,) * 20, 10, salt=salt) for salt in (b"a",) * 4 + (b"b",) * 4])

    assert [job_id > 4 for job_id in served] == [False, True] * 4


def test_rest_cannot_be_saved_up():
    served = ServedTokens()
    served.arrive(b"busy")
    served.charge(b"busy", prefilled=1000)

    served.arrive(b"rested")

    assert served[b"rested"] == served[b"busy"]


def test_leaving_and_coming_back_clears_no_debt():
    served = ServedTokens()
    for salt in (b"greedy", b"modest"):
        served.arrive(salt)
    served.charge(b"greedy", prefilled=1000)

    served.leave(b"greedy")
    served.arrive(b"greedy")

    assert served[b"greedy"] == 1000


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([b"a", b"b", b"c"])), max_size=30))
def test_the_line_gives_everyone_once_and_never_a_later_one_of_the_same_tenant_and_priority_first(arrivals):
    served = ServedTokens()
    line = WaitingLine(served)
    for job_id, (priority, salt) in enumerate(arrivals):
        served.arrive(salt)
        line.put(Sequence(job_id, job((1,), priority=priority, salt=salt), b""))

    left = []
    while (head := line.next()) is not None:
        line.remove(head)
        left.append(head)

    assert sorted(each.job_id for each in left) == list(range(len(arrivals)))
    assert [each.job.priority for each in left] == sorted(each.job.priority for each in left)
    for salt in (b"a", b"b", b"c"):
        ranks = [each.rank for each in left if each.job.salt == salt]
        assert ranks == sorted(ranks)
