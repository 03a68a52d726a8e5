"""The books are closed with all that they hold: a field that a settlement has, too, is the same there."""

import pytest

from backends.messages import Usage
from gateway.budgets.told import Budgeted
from gateway.request.hedging.hedged import Hedged
from gateway.request.settle import Books
from gateway.request.settlement import Settlement
from policies.catalogue import Price
from policies.decision import Call
from policies.escalate.verdict import Verdict

SMALL, LARGE = Call("small", "http://s"), Call("large", "http://l")
PRICE = Price(1_000_000, 1_000_000, 1_000_000)
WEAK = Verdict(p_correct=0.25, escalates=True, why="doubtful")
HEDGED = Hedged(second=LARGE, after_s=0.5, result="won", loser=SMALL, usage=Usage(5, 0), microusd=5)


def hedged(books: Books) -> None:
    books.hedged = HEDGED


def budgeted(books: Books) -> None:
    books.budgeted = Budgeted(budgets=("b",), result="reserved", by="memory")


def unretried(books: Books) -> None:
    books.unretried = True


HAPPENS = {
    "nothing": lambda books: None,
    "held back and sent": lambda books: books.held_and_sent(WEAK, over_limit=True),
    "given up": lambda books: books.gave_up(SMALL, WEAK, Usage(10, 2), PRICE),
    "asked beside": lambda books: books.asked_beside(LARGE, Usage(7, 1), PRICE),
    "a race": hedged,
    "budgets": budgeted,
    "retries withheld": unretried,
}


@pytest.mark.parametrize("second", HAPPENS)
@pytest.mark.parametrize("first", HAPPENS)
def test_what_the_books_hold_is_in_the_settlement(first: str, second: str) -> None:
    books = Books("r", "openai_chat", tenant="t", stream=True, attempts=2, reason="why", answered_by=LARGE, price=PRICE)
    for happens in (first, second):
        HAPPENS[happens](books)
    books.usage = Usage(3, 4)

    settlement = books.close()

    shared = set(Settlement.__struct_fields__) & set(Books.__struct_fields__)
    assert shared == set(Settlement.__struct_fields__) - {"duration_ms", "microusd"}
    assert {name: getattr(settlement, name) for name in shared} == {name: getattr(books, name) for name in shared}
    assert settlement.microusd == books.microusd


def test_an_answer_that_was_turned_back_to_is_the_answer() -> None:
    books = Books("r", "openai_chat")
    books.gave_up(SMALL, WEAK, Usage(10, 2), PRICE)

    books.turned_back(SMALL, PRICE)

    settlement = books.close()
    assert (settlement.judgement, settlement.answered_by, settlement.usage) == ("turned_back", SMALL, Usage(10, 2))
    assert (settlement.abandoned_by, settlement.abandoned_microusd, settlement.microusd) == (None, 0, 12)
