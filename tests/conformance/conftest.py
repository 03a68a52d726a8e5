"""What several of these tests need of the machine."""

import pytest

from classifiers.embedding.encoder import EncoderMissing, find_encoder


@pytest.fixture
def encoder() -> None:
    """Skips where there is none."""
    try:
        find_encoder(None)
    except EncoderMissing as missing:
        pytest.skip(str(missing))
