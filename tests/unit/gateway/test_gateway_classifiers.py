"""Classifiers come and go with the policies that hold them; one that is trained again in its place is opened again, and none
stays open for a policy that was refused."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.control.reload import PolicyRefused
from gateway.live.build import LiveBuilder
from gateway.live.classifier import BadArtefact, Classifiers, stamp_of
from gateway.live.in_force import Live
from gateway.settings import BadSettings, Settings
from policies.catalogue import Model
from policies.estimates import Calibration
from policies.policy import Policy, Route

CALIBRATION = Calibration(p_good={"small": (0.1, 0.5, 0.9), "large": (0.9, 0.95, 1.0)}, artefact="invented")


class Opened:
    """Stands for an estimator: says what it was opened from, and how often it was closed."""

    calibration = CALIBRATION

    def __init__(self, path: Path | None) -> None:
        self.said = (path / "artefact.json").read_text() if path else "shipped"
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class Shop:
    """Opens them, and knows which are open. `while_opening` is what somebody does meanwhile."""

    def __init__(self, while_opening: Callable[[], object] = lambda: None) -> None:
        self.while_opening = while_opening
        self.opened: list[Opened] = []

    def __call__(self, path: Path | None, _: str | None) -> Opened:
        if path is not None and not path.is_dir():
            raise BadArtefact(f"{path} cannot be read")
        self.opened.append(Opened(path))
        self.while_opening()
        return self.opened[-1]

    @property
    def open(self) -> list[Opened]:
        assert all(one.closed <= 1 for one in self.opened)
        return [one for one in self.opened if not one.closed]


def classifiers(shipped: Path | None = None, shop: Shop | None = None) -> Classifiers:
    return Classifiers(shipped, None, shop or Shop())


def trained(folder: Path, what: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "artefact.json").write_text(what)
    return str(folder)


def test_what_did_not_change_is_opened_once(tmp_path: Path) -> None:
    kept, folder = classifiers(), trained(tmp_path / "a", "first")
    assert kept.hold(folder) is kept.hold(folder)
    assert kept.hold("shipped") is kept.hold("shipped") is not kept.hold(folder)


def test_an_artefact_trained_again_in_its_place_is_opened_again(tmp_path: Path) -> None:
    kept, folder = classifiers(), trained(tmp_path / "a", "first")
    first = kept.hold(folder)
    trained(tmp_path / "a", "the second")
    assert (first.said, kept.hold(folder).said) == ("first", "the second")


def test_another_artefact_in_the_place_of_the_shipped_one_is_followed_too(tmp_path: Path) -> None:
    kept = classifiers(tmp_path / "a")
    trained(tmp_path / "a", "first")
    assert kept.hold("shipped").said == "first"
    trained(tmp_path / "a", "the second")
    assert kept.hold("shipped").said == "the second"


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


@pytest.mark.parametrize("refused", [False, True])
def test_what_a_reading_alone_held_is_closed_with_it(tmp_path: Path, refused: bool) -> None:
    shop, folders = Shop(), [trained(tmp_path / name, name) for name in "ab"]
    kept = classifiers(shop=shop)
    in_force = kept.hold(folders[0])

    with suppress(PolicyRefused), kept.reading() as reader:
        for folder in folders * 2:
            reader.calibrate(folder)
        assert len(shop.open) == 2
        if refused:
            raise PolicyRefused

    assert shop.open == [in_force]


POLICY = """
policy: 1
models:
  small: {at: 'http://s/v1', price: {input: $0.1/M, output: $0.1/M}}
  large: {at: 'http://l/v1', price: {input: $1/M, output: $1/M}}
difficulty: {artefact: FOLDER}
routes: [{choose: {by: difficulty, among: [small, large], target: {TARGET}}}]
"""
SOUND, HOPELESS = "cost: 60% of large", "cost: 1% of large"


def text_of(folder: str, target: str = SOUND) -> str:
    return POLICY.replace("FOLDER", folder).replace("TARGET", target)


def builder(tmp_path: Path, shop: Shop) -> LiveBuilder:
    return LiveBuilder(Settings(policy=tmp_path / "p.yaml"), classifiers(shop=shop))


async def test_refused_policies_leave_as_many_open_as_before(tmp_path: Path) -> None:
    shop = Shop()
    build = builder(tmp_path, shop)
    live = await build.opened(text_of(trained(tmp_path / "live", "live")), None)

    for at in range(3):
        with pytest.raises(PolicyRefused, match="cannot be held"):
            await build.opened(text_of(trained(tmp_path / f"{at}", "new"), HOPELESS), live)
    with pytest.raises(PolicyRefused, match="cannot be read"):
        await build.opened(text_of(str(tmp_path / "nowhere")), live)

    assert shop.open == [live.estimator]
    assert len(shop.opened) == 4, "each was opened to be judged"
    await live.retire()
    assert not shop.open
    await build.aclose()


async def test_a_policy_that_cannot_be_put_together_leaves_none_open(tmp_path: Path) -> None:
    shop, folder = Shop(), trained(tmp_path / "a", "a")
    build = builder(tmp_path, shop)
    text = text_of(folder).replace("at: 'http://s/v1'", f"run: {{weights: '{tmp_path}/none.gguf'}}")

    with pytest.raises(BadSettings):
        await build.opened(text, None)

    assert not shop.open
    await build.aclose()


async def test_an_artefact_trained_again_while_its_policy_is_read_leaves_none_open_and_is_judged_as_it_was(
    tmp_path: Path,
) -> None:
    turns = iter(range(100))
    shop = Shop(lambda: trained(tmp_path / "a", f"again, {next(turns):03}"))
    folder, build = trained(tmp_path / "a", "first"), builder(tmp_path, shop)
    live = await build.opened(text_of(folder), None)

    for _ in range(3):
        fresh = await build.opened(text_of(folder), live)
        assert fresh.estimator is shop.opened[-1], "what its target was solved on is what estimates for it"
        await live.retire()
        live = fresh
        assert shop.open == [live.estimator]

    assert len(shop.opened) == 4
    await asyncio.gather(live.retire(), build.aclose())
