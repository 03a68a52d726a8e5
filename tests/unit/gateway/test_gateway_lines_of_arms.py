"""Lines of variants: alike in what they choose, they go by the file's line; else by their own."""

import msgspec

from gateway.control.lines import Lines, alike, redrawn, steered
from policies.estimates import Calibration
from policies.language.load import load_policy
from policies.policy import Line, Policy

POLICY = """policy: 1
models:
  small: {at: "http://a/v1", price: {input: $1/M, output: $4/M}}
  large: {at: "http://b/v1", price: {input: $10/M, output: $40/M}}
routes:
  - choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}
experiments:
  - name: e
    variants:
      control: {weight: 1}
      renamed: {weight: 1, set: {models.small.serves: other}}
      cheaper: {weight: 1, set: {routes.default.choose.target.cost: 20% of large}}
"""
SAMPLE = Calibration(p_good={"small": (0.2, 0.5, 0.7, 0.9) * 30, "large": (0.8, 0.9, 0.95, 0.97) * 30})


def arms() -> Policy:
    loaded = load_policy(POLICY, name="p.yaml", calibrate=lambda _: SAMPLE)
    assert loaded.policy is not None, loaded.problems
    return loaded.policy


def test_a_variant_that_chooses_alike_goes_by_the_files_line_and_another_by_its_own():
    policy = arms()

    assert [place for place, *_ in steered(policy)] == ["default", "e=cheaper/default"]


def test_a_turn_of_the_files_line_moves_arms_that_choose_alike_and_leaves_the_others():
    policy = arms()
    own = policy.arms["e=cheaper"].routes[0].choose.line

    turned = redrawn(policy, {"default": Line(9.0, 9.0)})

    assert turned.routes[0].choose.line.loss == turned.arms["e=renamed"].routes[0].choose.line.loss == 9.0
    assert turned.arms["e=cheaper"].routes[0].choose.line == own


def test_a_turn_of_an_arms_own_line_moves_nothing_else():
    policy = arms()

    turned = redrawn(policy, {"e=cheaper/default": Line(7.0, 7.0)})

    assert turned.arms["e=cheaper"].routes[0].choose.line.loss == 7.0
    assert turned.routes[0].choose.line == policy.routes[0].choose.line
    assert turned.arms["e=renamed"].routes[0].choose.line == policy.routes[0].choose.line


def test_a_reload_carries_the_lines_of_arms_that_still_mean_the_same():
    policy = redrawn(arms(), {"default": Line(9.0, 9.0), "e=cheaper/default": Line(7.0, 7.0)})

    again = Lines().carry(policy, arms())

    assert again.arms["e=cheaper"].routes[0].choose.loss_per_reference == 7.0
    assert again.arms["e=renamed"].routes[0].choose.loss_per_reference == 9.0


def test_alike_looks_past_where_a_line_is():
    choose = arms().routes[0].choose

    assert alike(choose, msgspec.structs.replace(choose, loss_per_reference=99.0))
    assert not alike(choose, msgspec.structs.replace(choose, when_unsure="small"))
    assert not alike(None, choose)
