"""One embedder for all who use the same encoder, for as long as there is one of them."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classifiers.artefact import ArtefactRefused
from classifiers.embedding.shared import SharedEmbedders
from classifiers.estimator import open_estimator


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # it is a class
@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40))
def test_an_encoder_is_open_once_while_it_has_users_and_then_no_longer(embedder, steps):
    opened = []

    def opening(source):
        opened.append((source, embedder()))
        return opened[-1][1]

    shared, users = SharedEmbedders(opening), {name: [] for name in "abc"}
    for name, comes in steps:
        if comes:
            users[name].append(shared.open(f"hub/{name}"))
        elif users[name]:
            gone = users[name].pop(0)
            gone.close()
            gone.close()  # twice is once
        still = [source for source, one in opened if not one.closed]
        assert sorted(still) == [f"hub/{name}" for name in "abc" if users[name]]
        for name_, mine in users.items():
            for one in mine:
                assert one.submit(name_).result() is not None


def test_a_folder_with_other_weights_is_another_encoder(embedder, tmp_path: Path):
    opened = []
    shared = SharedEmbedders(lambda source: opened.append(embedder()) or opened[-1])
    first = shared.open(str(tmp_path))
    (tmp_path / "weights").write_bytes(b"new")
    second = shared.open(str(tmp_path))

    first.close()

    assert [one.closed for one in opened] == [True, False]
    second.close()


def test_estimators_on_one_encoder_share_it_and_one_that_is_refused_takes_it_from_nobody(
    embedder, saved: Path, tmp_path: Path
):
    opened, encoder = [], tmp_path / "encoder"
    encoder.mkdir()
    (encoder / "config.json").write_text("{}")
    shared = SharedEmbedders(lambda source: opened.append(embedder()) or opened[-1])

    first, second = (open_estimator(saved, str(encoder), shared.open) for _ in range(2))
    with pytest.raises(ArtefactRefused):
        open_estimator(None, str(encoder), shared.open)
    assert len(opened) == 1

    first.close()
    assert not opened[0].closed
    second.close()
    assert opened[0].closed
