"""Settings of every test: properties are judged by what they find, never by the clock of a busy machine."""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from gateway.process_log import LEVELS

settings.register_profile("turnout", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("turnout")


@pytest.fixture(autouse=True)
def levels_of_the_process_log() -> Iterator[None]:
    """A gateway served inside a test with its log off would silence the words that the next test waits for."""
    loggers = [logging.getLogger(name) for name in LEVELS]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
