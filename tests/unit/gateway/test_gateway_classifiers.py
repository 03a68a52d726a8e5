"""Classifiers come and go with the policies that hold them; one that is trained again in its place is opened again."""

from pathlib import Path

from gateway.live.classifier import Classifiers, stamp_of
from gateway.live.in_force import Live
from policies.catalogue import Model
from policies.policy import Policy, Route


class Opened:
    """Stands for an estimator: says what it was opened from, and how often it was closed."""

    def __init__(self, path: Path | None) -> None:
        self.said = (path / "artefact.json").read_text() if path else "shipped"
        self.closed = 0

    async def aclose(self) -> None:
        self.closed += 1


def classifiers(shipped: Path | None = None) -> Classifiers:
    return Classifiers(shipped, None, lambda path, _: Opened(path))


def trained(folder: Path, what: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "artefact.json").write_text(what)
    return str(folder)


def test_what_did_not_change_is_opened_once(tmp_path: Path) -> None:
    kept, folder = classifiers(), trained(tmp_path / "a", "first")
    assert kept.open(folder) is kept.open(folder)
    assert kept.open("shipped") is kept.open("shipped") is not kept.open(folder)


def test_an_artefact_trained_again_in_its_place_is_opened_again(tmp_path: Path) -> None:
    kept, folder = classifiers(), trained(tmp_path / "a", "first")
    first = kept.open(folder)
    trained(tmp_path / "a", "the second")
    assert (first.said, kept.open(folder).said) == ("first", "the second")


def test_another_artefact_in_the_place_of_the_shipped_one_is_followed_too(tmp_path: Path) -> None:
    kept = classifiers(tmp_path / "a")
    trained(tmp_path / "a", "first")
    assert kept.open("shipped").said == "first"
    trained(tmp_path / "a", "the second")
    assert kept.open("shipped").said == "the second"


async def test_the_one_before_answers_until_its_last_policy_has_ended(tmp_path: Path) -> None:
    kept, folder = classifiers(), trained(tmp_path / "a", "first")
    old, again = kept.hold(folder), kept.hold(folder)
    trained(tmp_path / "a", "the second")
    new = kept.hold(folder)
    assert old is again is not new

    await kept.let_go(old)
    assert old.closed == 0
    await kept.let_go(again)
    assert (old.closed, new.closed) == (1, 0)
    await kept.aclose()
    assert (old.closed, new.closed) == (1, 1)


async def test_a_policy_gives_its_classifier_back_once_when_its_last_request_is_over(tmp_path: Path) -> None:
    kept, folder = classifiers(), trained(tmp_path / "a", "first")
    estimator = kept.hold(folder)
    policy = Policy(
        hash="", name="", models={"m": Model(name="m", at=("http://m",))}, routes=(Route(name="r", use="m"),)
    )
    live = Live(policy, {}, estimator, lambda: kept.let_go(estimator))
    await live.retire()
    await live.retire()
    assert estimator.closed == 1


def test_a_folder_that_is_not_there_has_a_stamp_too(tmp_path: Path) -> None:
    assert stamp_of(tmp_path / "none") == stamp_of(None) == ()
