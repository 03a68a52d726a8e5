"""Two gateways, four workers and a store as processes: by the workers' own counters a prefix is computed about once."""

from argparse import Namespace
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_prefix_is_computed_about_once_in_the_whole_fleet(tmp_path: Path) -> None:
    from engine.saved_models import make, save

    from loadtests.shared_fleet import measure, redis_server

    model = save(make("llama", max_position_embeddings=8_192), tmp_path / "model")
    with redis_server() as store:
        found = measure(str(model), store, Namespace(groups=8, questions=6, at_once=1, seed=3))

    assert found["hit_share_of_ceiling"] > 0.9, found
    assert found["reused_tokens"] > 0
    assert found["predicted_tokens"] > 0
