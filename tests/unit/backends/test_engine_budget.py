"""The budget of a step follows the memory there is."""

import pytest

from backends.engine.budget import CALM_STEPS, Allowance, Budget

FULL = Budget(max_running=64, mixed_rows=128, prefill_rows=512)


def test_a_want_of_memory_halves_the_budget_down_to_one_sequence_and_then_is_a_fault() -> None:
    allowance = Allowance(FULL)
    allowance.shrink()
    assert allowance.budget == Budget(max_running=32, mixed_rows=64, prefill_rows=256)

    for _ in range(5):
        allowance.shrink()

    assert allowance.budget == Budget(max_running=1, mixed_rows=16, prefill_rows=16)
    with pytest.raises(MemoryError):
        allowance.shrink()


def test_calm_brings_the_full_budget_back() -> None:
    allowance = Allowance(FULL)
    allowance.shrink()

    for _ in range(CALM_STEPS):
        allowance.step()
    assert allowance.budget == FULL.half()
    allowance.step()

    assert allowance.budget == FULL


def test_after_a_second_want_of_memory_calm_must_last_twice_as_long() -> None:
    allowance = Allowance(FULL)
    allowance.shrink()
    for _ in range(CALM_STEPS + 1):
        allowance.step()
    allowance.shrink()

    for _ in range(2 * CALM_STEPS):
        allowance.step()
    assert allowance.budget == FULL.half()
    allowance.step()

    assert allowance.budget == FULL
