"""Torch without memory is a MemoryError, which the engine answers with a smaller step; other faults stay what they are."""

import pytest
import torch

from backends.engine.models.memory import memory_errors


def test_an_allocation_that_no_machine_can_make_is_a_memory_error():
    with pytest.raises(MemoryError, match="allocate"), memory_errors():
        torch.empty(1 << 55)


def test_a_device_that_is_full_is_a_memory_error():
    with pytest.raises(MemoryError, match="CUDA out of memory"), memory_errors():
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


def test_any_other_fault_stays_what_it_is():
    with pytest.raises(RuntimeError, match="shapes"), memory_errors():
        raise RuntimeError("shapes do not fit")


def captured():
    """As torch's own capture goes: its end fails when what was captured failed."""
    try:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    finally:
        raise RuntimeError("operation failed due to a previous error during capture")


def test_a_full_device_is_seen_behind_the_fault_that_it_made_of_a_capture():
    with pytest.raises(MemoryError, match="CUDA out of memory"), memory_errors():
        captured()
