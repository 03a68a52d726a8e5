"""Where a model runs: what a policy asks for, and what this machine has."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from policies.catalogue import Device

DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
"""What a machine with a CUDA driver shows, on Linux and under Windows' own Linux."""


class DeviceMissing(Exception):
    """The device that a run asks for is not there; the message says what to do."""


def driver_shows(drivers: tuple[Path, ...] = DRIVERS) -> bool:
    return any(driver.exists() for driver in drivers)


def torch_has_cuda() -> bool:
    import torch

    return torch.cuda.is_available()


def chosen(
    asked: Device, has_driver: Callable[[], bool] = driver_shows, has_cuda: Callable[[], bool] = torch_has_cuda
) -> Literal["cpu", "cuda"]:
    """ "auto" is CUDA where torch can use it. Torch is asked only where a driver shows, since native kernels need no torch and
    it is 200 MB.

    Raises DeviceMissing.
    """
    if asked == "cpu" or (asked == "auto" and not has_driver()):
        return "cpu"
    if has_cuda():
        return "cuda"
    if asked == "auto":
        return "cpu"
    raise DeviceMissing(
        "`device: cuda`, but torch finds no CUDA device here: it needs a driver that shows the device to this process and a "
        "build of torch with CUDA; `device: auto` takes the CPU then"
    )
