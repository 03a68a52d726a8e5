"""`turnout whatif`: the frontier of a route, where its target sits, and what is told when there is none."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gateway.cli import app
from gateway.cli.whatif import aimed, look, pictured, table
from policies.catalogue import Price
from policies.policy import Choose, Expected, Target
from policies.targets import Rung, dearest_within, mixes, steps

HARD = [i / 100 for i in range(100)]
"""A small model that answers the last prompt nearly surely and the first never."""

RUNGS = [Rung("small", 0.2, HARD), Rung("large", 1.0, [1.0] * 100)]
LADDER = Choose(
    among=("small", "large"),
    target=Target("cost", 60, "large"),
    when_unsure="large",
    prices={"small": Price(), "large": Price()},
    relative_cost={"small": 0.2, "large": 1.0},
    loss_per_reference=1.0,
    expected=Expected(60, 90, {}),
)
DIFFICULT = """policy: 1
models: {small: {at: "http://127.0.0.1:9001/v1"}, large: {at: "http://127.0.0.1:9002/v1"}}
routes:
  - {name: plain, when: {has: tools}, use: large}
  - {name: chat, choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}}
"""


def test_the_target_stands_among_the_mixes_and_a_little_more_buys_what_the_frontier_says() -> None:
    answer = look("chat", LADDER.target, LADDER, RUNGS)

    assert answer.now in answer.frontier
    assert answer.now.cost_percent == pytest.approx(60, abs=0.8)
    assert [mix.cost_percent for mix in answer.frontier] == sorted(mix.cost_percent for mix in answer.frontier)
    more, less = answer.nudged["10% more"], answer.nudged["10% less"]
    assert less.cost_percent == pytest.approx(54, abs=0.8)
    assert more.cost_percent == pytest.approx(66, abs=0.8)
    assert less.quality_percent < answer.now.quality_percent < more.quality_percent


def test_what_exploring_comes_to_lies_between_the_mix_and_all_models_alike() -> None:
    """Both together cost 60 % of large and are good three times in four."""
    plain = look("chat", LADDER.target, LADDER, RUNGS)

    half = look("chat", LADDER.target, LADDER, RUNGS, explore=0.5).explored

    assert plain.explored is None
    assert half is not None
    assert half.cost_percent == pytest.approx((plain.now.cost_percent + 60) / 2)
    assert half.quality_percent == pytest.approx((plain.now.quality_percent + 74.75) / 2)
    assert half.shares["small"] == pytest.approx((plain.now.shares["small"] + 0.5) / 2)


def test_another_model_may_be_the_measure() -> None:
    answer = look("chat", Target("cost", 150, "small"), LADDER, RUNGS)

    assert answer.now.cost_percent == pytest.approx(150, abs=4)
    assert answer.frontier[0].cost_percent == pytest.approx(100)


def test_a_target_out_of_reach_is_told_with_what_can_be_had_and_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        look("chat", Target("cost", 10, "large"), LADDER, RUNGS)

    assert ended.value.exit_code == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "already costs 20.0%" in told
    assert "can be had: 20% for 49.5%" in told


def test_steps_hold_both_ends_and_no_mix_twice() -> None:
    frontier = mixes(RUNGS, "large")
    shown = steps(frontier, 6)

    assert (shown[0], shown[-1]) == (frontier[0], frontier[-1])
    assert len({mix.cost_percent for mix in shown}) == len(shown) == 6
    assert dearest_within(frontier, 19.9) is None


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("cost: 30%", Target("cost", 30, "large")),
        ("cost=30% of small", Target("cost", 30, "small")),
        ("quality 98.5 % of large", Target("quality", 98.5, "large")),
        (None, LADDER.target),
    ],
)
def test_a_target_is_written_as_in_the_file_or_more_briefly(text: str | None, target: Target) -> None:
    assert aimed(LADDER, text) == target


@pytest.mark.parametrize("text", ["30%", "cost: thirty", "cost: 30% of medium", "speed: 30%", ""])
def test_what_is_no_target_is_refused_with_code_2(text: str) -> None:
    with pytest.raises(typer.Exit) as ended:
        aimed(LADDER, text)
    assert ended.value.exit_code == 2


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(DIFFICULT)
    return path


def test_json_has_the_frontier_of_the_named_route_and_its_table_in_numbers(policy: Path) -> None:
    result = CliRunner().invoke(app, ["whatif", str(policy), "--route", "chat", "--target", "quality: 95%", "--json"])

    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout, parse_constant=pytest.fail)
    assert told["target"] == {"kind": "quality", "percent": 95.0, "of": "large"}
    assert told["now"]["quality_percent"] >= 95
    assert len(told["frontier"]) > 10
    assert told["columns"] == ["cost", "quality", "to small", "to large", "target"]
    costs = [(mix["cost_percent"], mix["quality_percent"], mix["shares"]["large"]) for mix in told["frontier"]]
    assert [(row[0], row[1], row[3]) for row in told["rows"]] == costs
    assert [row[4] for row in told["rows"] if row[4]] == ["<- quality 95% of large"]
    assert "10% more cost" in told["notes"][1]


def test_the_frontier_needs_no_encoder_and_an_artefact_that_is_none_is_told(policy: Path, tmp_path: Path) -> None:
    """An encoder takes seconds to start; what a route can come to stands in the artefact."""
    without, broken = {"TURNOUT_EMBEDDER": str(tmp_path / "none")}, {"TURNOUT_ARTEFACT": str(tmp_path)}

    told, refused = (CliRunner().invoke(app, ["whatif", str(policy)], env=env) for env in (without, broken))

    assert told.exit_code == 0, told.output
    assert "<- cost 40% of large" in told.stdout
    assert refused.exit_code == 2
    assert "manifest.json cannot be read" in refused.stderr


def test_a_table_says_what_the_numbers_say() -> None:
    answer = look("chat", LADDER.target, LADDER, RUNGS, explore=0.5)

    shown = table(answer, LADDER.among)

    (marked,) = [cells for cells in shown.cells() if cells[-1]]
    assert marked[0] == f"{answer.now.cost_percent:.1f}%"
    assert marked[2] == f"{answer.now.shares['small']:.1%}"
    assert "with what it explores" in shown.notes[-1]


def test_a_picture_holds_the_frontier_and_where_the_target_sits() -> None:
    answer = look("chat", LADDER.target, LADDER, RUNGS)

    frontier, here = pictured(answer).lines

    assert list(frontier.across) == [mix.cost_percent for mix in answer.frontier]
    assert list(frontier.up) == [mix.quality_percent for mix in answer.frontier]
    assert (*here.across, *here.up) == (answer.now.cost_percent, answer.now.quality_percent)


def test_the_frontier_is_drawn_into_a_folder_and_as_a_file_of_any_name(policy: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder, file = tmp_path / "plots", tmp_path / "new" / "line"

    result = CliRunner().invoke(app, ["whatif", str(policy), "--plots", str(folder), "--plot", str(file)])

    assert result.exit_code == 0, result.output
    drawn = (folder / "frontier.png").read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert file.read_bytes() == drawn


@pytest.mark.parametrize(
    ("option", "place", "told"),
    [
        ("--plots", "policy.yaml", "a file stands there, and a folder is needed"),
        ("--plot", "policy.yaml/f.png", "a file stands there, and a folder is needed"),
        ("--plot", ".", "is a folder; --plots draws into one"),
    ],
)
def test_a_place_where_nothing_can_be_drawn_is_told(policy: Path, option: str, place: str, told: str) -> None:
    result = CliRunner().invoke(app, ["whatif", str(policy), option, str(policy.parent / place)])

    assert result.exit_code == 1
    assert told in result.stderr
    assert not result.stdout


def test_a_policy_that_weighs_nothing_and_a_route_that_is_not_there_are_told_with_code_2(tmp_path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(DIFFICULT.split("  - {name: chat", maxsplit=1)[0] + "  - {use: small}\n")

    result = CliRunner().invoke(app, ["whatif", str(path)])

    assert result.exit_code == 2
    assert "no route of this policy chooses by difficulty" in " ".join(result.stderr.split())
