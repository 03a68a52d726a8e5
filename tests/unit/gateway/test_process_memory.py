"""What one process does about its memory."""

import os

import pytest

from gateway.process_memory import giving_back

BODY, MANY = 64 * 1024, 400


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_what_a_crowd_of_bodies_took_goes_back_though_something_stays_above_it() -> None:
    give = giving_back()
    if give is None:
        pytest.skip("the C library gives nothing back when asked")
    bodies, stays = [], []
    for _ in range(MANY):
        bodies.append(bytearray(b"x" * BODY))
        stays.append(bytearray(b"y" * 1_024))
    full = resident_bytes()

    bodies.clear()
    give()

    assert full - resident_bytes() > MANY * BODY * 0.9
    assert len(stays) == MANY
