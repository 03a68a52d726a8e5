"""The policy file: good ones load, bad ones are told where and what, all at once."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field, TypeAdapter

import policies.language
from policies.catalogue import Price, Run, SecretRef
from policies.decide import decide
from policies.decision import Call
from policies.estimates import Calibration, Estimate
from policies.facts import Facts
from policies.language import Loaded, json_schema, load_policy
from policies.language.closed import Closed, WithHeaders
from policies.language.reference import reference
from policies.language.schema import PolicyFile
from policies.policy import Affinity, Difficulty, Policy, Resilience
from policies.snapshot import Snapshot

SIZE = 200
SAMPLE = Calibration(
    p_good={
        "small": tuple(i / SIZE for i in range(SIZE)),
        "medium": tuple(0.4 + 0.5 * i / SIZE for i in range(SIZE)),
        "large": tuple(0.5 + 0.5 * (i * 0.618034 % 1) for i in range(SIZE)),
    },
    artefact="sample",
)

FOUR_LINES = """\
policy: 1
models: {small: {at: "http://127.0.0.1:9001/v1"}, large: {at: "http://127.0.0.1:9002/v1"}}
routes: [{choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}}]
tests:  [{given: {text: "hi"}, expect: {model: small}}]
"""

HEAD = """\
policy: 1
models:
  small: {at: "http://a/v1", price: {input: $1/M, output: $4/M}}
  large: {at: "http://b/v1", price: {input: $10/M, output: $40/M}}
"""


def judge(turns: tuple[str, ...]) -> Estimate:
    """Short is easy."""
    hard = len(turns[-1]) > 20
    return Estimate(p_good={"small": 0.1 if hard else 0.95, "medium": 0.5, "large": 0.97})


def load(text: str, estimate: Callable[[tuple[str, ...]], Estimate] | None = judge) -> Loaded:
    return load_policy(text, name="p.yaml", calibrate=lambda artefact: SAMPLE, estimate=estimate)


def good(text: str) -> Policy:
    loaded = load(text)
    assert loaded.problems == ()
    assert loaded.policy is not None
    return loaded.policy


def told(text: str) -> list[str]:
    """`line:column message` of every problem."""
    loaded = load(text)
    assert loaded.policy is None
    return [f"{p.line}:{p.column} {p.message}" for p in loaded.problems]


# ── files that load ─────────────────────────────────────────────────────────


def test_the_four_lines_load_and_send_forty_percent_to_large() -> None:
    policy = good(FOUR_LINES)
    choose = policy.routes[0].choose
    assert choose is not None
    assert choose.expected.shares == {"small": 0.6, "large": 0.4}
    assert (policy.name, policy.routes[0].name, policy.difficulty) == ("p", "default", Difficulty("shipped", 50))
    assert (choose.when_unsure, len(policy.hash)) == ("large", 16)


def test_what_a_run_says_is_what_the_engine_is_told() -> None:
    def run(fields: str) -> Run | None:
        return (
            good(f"policy: 1\nmodels: {{a: {{run: {{weights: w, {fields}}}}}}}\nroutes: [{{use: a}}]\n").models["a"].run
        )

    assert run("speculate: draft") == Run(weights="w", speculate="draft", draft="", draft_precision=None)
    assert run("device: cuda, graphs: true") == Run(weights="w", device="cuda", graphs=True)
    assert run("kv: 4Ki, kv_precision: int8") == Run(weights="w", kv_tokens=4096, kv_precision="int8")
    assert run("sampling: {temperature: 0.2}") == Run(weights="w", temperature=0.2, top_p=1.0)
    assert run("speculate: draft, draft: v, draft_precision: int8, max_draft: 3") == Run(
        weights="w", speculate="draft", draft="v", draft_precision="int8", max_draft=3
    )


def test_the_hash_is_of_the_text() -> None:
    assert good(FOUR_LINES).hash == good(FOUR_LINES).hash != good(FOUR_LINES + "\n").hash


def test_every_fact_of_a_model_arrives() -> None:
    models = good("""\
policy: 1
models:
  small:
    run: {weights: smollm2, precision: int8, speculate: ngram, max_draft: 6, kv: 8k, max_running: 16}
    fits: {context: 2Ki, output: 512}
    head: small
  large:
    at: [https://b/v1/, http://c/v1]
    key: env:LARGE_KEY
    serves: frontier
    price: {input: $3/M, cached_input: $0.30/M, output: $15/M}
    can: [tools, vision]
  next: {like: large, serves: frontier-2, key: file:/run/secret}
  local: {like: large, run: {weights: w}, price: {input: $1/M, output: $2/M}}
routes: [{use: small}]
""").models
    assert models["small"].run == Run(
        weights="smollm2", precision="int8", speculate="ngram", max_draft=6, kv_tokens=8000, max_running=16
    )
    assert (models["small"].fits.context, models["small"].fits.output) == (2048, 512)
    assert models["small"].can == {"json_schema", "logprobs"}
    assert models["large"].at == ("https://b/v1", "http://c/v1")
    assert models["large"].key == SecretRef("env", "LARGE_KEY")
    assert models["large"].price == Price(3_000_000, 300_000, 15_000_000)
    assert models["next"].price == models["large"].price
    assert (models["next"].serves, models["next"].key) == ("frontier-2", SecretRef("file", "/run/secret"))
    assert (models["local"].at, models["local"].price) == ((), Price(1_000_000, 1_000_000, 2_000_000))


def test_limits_and_conversation_rules_arrive() -> None:
    policy = good(
        HEAD
        + """\
routes: [{use: small}]
difficulty: {artefact: x, within: 20ms}
conversations: {may_move: never}
affinity: {max_imbalance: 1.5, spill_after: 2}
resilience: {attempts: 2, connect: 800ms, first_content: 5s, gap: 1m, total: 1h, retry_uncertain: true}
"""
    )
    limits = policy.resilience
    assert (limits.attempts, limits.connect_s, limits.first_content_s, limits.gap_s) == (2, 0.8, 5.0, 60.0)
    assert (limits.total_s, limits.retry_uncertain) == (3600.0, True)
    assert (policy.may_move, policy.affinity.max_imbalance, policy.affinity.spill_after) == ("never", 1.5, 2.0)
    assert policy.difficulty is None


def test_what_is_not_stated_is_as_the_vocabulary_says() -> None:
    policy = good(HEAD + "  mine: {run: {weights: w}}\nroutes: [{use: small}]\n")
    assert (policy.resilience, policy.affinity) == (Resilience(), Affinity())
    assert policy.models["mine"].run == Run(weights="w")


@pytest.mark.parametrize(
    ("when", "yes", "no"),
    [
        ("{model.is: auto}", Facts(), None),
        ("{has: tools}", Facts(needs=frozenset({"tools"})), Facts()),
        ("{has: [tools, images]}", Facts(needs=frozenset({"tools", "vision"})), Facts(needs=frozenset({"tools"}))),
        ("{tenant: [a, b]}", Facts(tenant="b"), Facts(tenant="c")),
        ("{tenant.plan: gold}", Facts(plan="gold"), Facts()),
        ("{stream: false}", Facts(), Facts(stream=True)),
        ("{header.x-batch: 'true'}", Facts(headers={"x-batch": "true"}), Facts()),
        ("{prompt_tokens: {over: 1k}}", Facts(prompt_tokens=1001), Facts(prompt_tokens=1000)),
        ("{prompt_tokens: {over: 10, under: 20}}", Facts(prompt_tokens=19), Facts(prompt_tokens=20)),
        ("{any: [{tenant: a}, {stream: true}]}", Facts(stream=True), Facts()),
        ("{not: {tenant: a, stream: true}}", Facts(tenant="a"), Facts(tenant="a", stream=True)),
        ("{tenant: a, stream: true}", Facts(tenant="a", stream=True), Facts(tenant="a")),
    ],
)
def test_conditions_match_what_they_say(when: str, yes: Facts, no: Facts | None) -> None:
    route = good(HEAD + f"routes: [{{name: r, when: {when}, use: small}}]\n").routes[0]
    assert route.matches(yes)
    assert no is None or not route.matches(no)


def test_a_route_for_one_name_honours_that_name_only() -> None:
    policy = good(
        HEAD + "routes: [{name: r, when: {model.is: large}, use: requested, fallback: [small]}, {use: small}]\n"
    )
    named = decide(policy, Facts(requested="large"), Estimate(), Snapshot(replicas={}))
    other = decide(policy, Facts(requested="small"), Estimate(), Snapshot(replicas={}))
    assert (named.route, other.route) == ("r", "pinned")


def test_headers_that_conditions_read_are_known_also_from_inside() -> None:
    when = "{header.x-a: '1', any: [{header.x-b: '1'}, {not: {header.x-c: '1'}}]}"
    assert good(HEAD + f"routes: [{{when: {when}, use: small}}]\n").headers_read == {"x-a", "x-b", "x-c"}


def test_own_tests_that_need_an_estimator_are_named_when_there_is_none() -> None:
    loaded = load(FOUR_LINES + "  - {given: {prompt_tokens: 5}, expect: {model: large}}\n", None)
    assert loaded.problems[0].message.startswith("this is not YAML")
    loaded = load(FOUR_LINES, None)
    assert loaded.policy is not None
    assert loaded.untested == ("test 1",)


def test_own_tests_know_down_models_tools_images_turns_and_headers() -> None:
    good(
        HEAD.replace("$40/M}}", "$40/M}, can: [vision]}")
        + """\
routes:
  - {name: pinned, when: {model.is: concrete}, use: requested, fallback: [large]}
  - {name: batch, when: {header.x-batch: "1"}, use: small}
  - {name: gold, when: {tenant.plan: gold, tenant: acme, stream: true}, use: large}
  - {name: default, choose: {by: difficulty, among: [small, large], target: {quality: 98% of large}}}
tests:
  - {given: {text: hi, down: [small]}, expect: {model: large}}
  - {given: {text: hi, tools: 1}, expect: {model: small}}
  - {given: {images: 1, model: large}, expect: {model: large, route: pinned}}
  - {given: {turns: [hi, a very long and hard question]}, expect: {model.in: [large, small], route: default}}
  - {given: {header.x-batch: "1"}, expect: {route: batch}}
  - {given: {tenant: acme, tenant.plan: gold, stream: true}, expect: {route: gold}}
  - {name: no text is doubt, given: {prompt_tokens: 90k}, expect: {model: large}}
"""
    )


def test_a_ladder_of_three_is_solved() -> None:
    policy = good(
        HEAD
        + """\
  medium: {at: "http://c/v1", price: {input: $3/M, output: $12/M}}
routes: [{choose: {by: difficulty, among: [small, medium, large], target: {cost: 30% of large}, when_unsure: medium}}]
"""
    )
    choose = policy.routes[0].choose
    assert choose is not None
    assert set(choose.expected.shares) == {"small", "medium", "large"}
    assert 29 < choose.expected.cost_percent <= 30
    decision = decide(policy, Facts(), Estimate(abstains="late"), Snapshot(replicas={}))
    assert decision.choice == Call("medium", "http://c/v1")


# ── files that do not ───────────────────────────────────────────────────────

ROUTE = "routes: [{use: small}]\n"
CHOICE = "routes:\n  - choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}\n"

BAD = [
    ("", ["1:1 the file is empty; a policy begins with `policy: 1`"]),
    ("- a\n", ["1:1 a policy is a map of keys and values; it begins with `policy: 1`"]),
    ("policy: 2\n" + HEAD[10:] + ROUTE, ["1:9 policy should be 1"]),
    (HEAD, ['1:1 the policy needs the key "routes"']),
    (
        HEAD + "route: [{use: small}]\n",
        ['1:1 the policy needs the key "routes"', '5:1 route is not a key here; did you mean "routes"?'],
    ),
    (
        HEAD + "fairness: []\n" + ROUTE,
        [
            "5:1 fairness is not a key here; keys here are: policy, name, models, difficulty, routes, escalations,"
            " conversations, affinity, resilience, budgets, guardrails, experiments, shadows, rollouts, tests"
        ],
    ),
    (
        HEAD + "routes: [{use: small, fallbck: [large]}]\n",
        ['5:23 routes.0.fallbck is not a key here; did you mean "fallback"?'],
    ),
    (
        HEAD + "routes: [{use: smal}]\n",
        ['5:16 routes.0.use names the model smal, which is not declared; did you mean "small"?'],
    ),
    (
        HEAD + "routes:\n  - name: x\n    choose: {by: dificulty, among: [small], target: {cost: 40}}\n",
        [
            '7:18 routes.x.choose.by should be difficulty; did you mean "difficulty"?',
            "7:36 routes.x.choose.among needs 2 entries at least; a route with one model is `use: ...`",
            "7:60 routes.x.choose.target.cost needs a reference: 40% of MODEL",
        ],
    ),
    (
        HEAD + ROUTE + "resilience: {connect: 5, gap: 1 day}\n",
        [
            "6:23 resilience.connect needs a unit: 5ms, 5s, 5m or 5h",
            "6:31 resilience.gap should be a length of time, such as 800ms, 5s or 2m",
        ],
    ),
    (
        HEAD.replace("$1/M", "1") + ROUTE,
        ["3:45 models.small.price.input needs a unit: $1/M (per million tokens) or $1/k (per thousand)"],
    ),
    (HEAD + ROUTE + ROUTE, ["6:1 key routes stands here twice; first at 5:1"]),
    (HEAD + "routes:\n  - use: small\n    when:\n", ["7:5 routes.0.when has no value"]),
    (
        HEAD + "routes: [{use: small, when: {header.X-A: '1', tenat: x}}]\n",
        [
            "5:30 routes.0.when.header.X-A is not a key here; names of headers are written in lower case",
            '5:47 routes.0.when.tenat is not a key here; did you mean "tenant"?',
        ],
    ),
    (HEAD + "routes: [{use: small, when: {stream: yes}}]\n", ["5:38 routes.0.when.stream should be true or false"]),
    (
        HEAD + "routes: [{use: small, when: {tenant: 08}}]\n",
        ["5:38 routes.0.when.tenant should be a text; put it in quotes"],
    ),
    (
        HEAD + "routes: [{use: small, when: {prompt_tokens: {over: 9, under: 10}}}]\n",
        ["5:30 routes.0.when.prompt_tokens no number is over the one and under the other"],
    ),
    (HEAD + "routes: [{name: x}]\n", ["5:10 routes.x needs exactly one of use and choose"]),
    (
        HEAD + "x: &a 1\ny: *a\n",
        [
            "5:4 anchor &a is not read here; models inherit with `like: NAME`",
            "6:4 alias *a is not read here; models inherit with `like: NAME`",
        ],
    ),
    (
        "policy: 1\nmodels: {\n",
        ["3:1 this is not YAML: while parsing a flow node, expected the node content, but found '<stream end>'"],
    ),
    ("policy: 1\n\x07", ["2:1 this character may not stand in a YAML file"]),
    (
        'policy: 1\nname: "\\UFFFFFFFF"\n',
        ["2:1 what follows is not YAML: Python int too large to convert to C int"],
    ),
    (
        HEAD + ROUTE + 'name: "two\\nlines"\ntests: [{name: "\\ud800", given: {}, expect: {model: small}}]\n',
        [
            "6:7 name should be a title of at most 128 characters on one line",
            "7:16 half of a surrogate pair is no character",
            "7:16 tests. .name should be a title of at most 128 characters on one line",
        ],
    ),
    ("policy: 1\n---\npolicy: 1\n", ["2:1 a policy is one document; remove what follows this ---"]),
    (
        HEAD.replace("http://b/v1", "b:80") + ROUTE,
        ["4:15 models.large.at should be a base address, such as http://127.0.0.1:9001/v1"],
    ),
    (
        HEAD.replace("  small:", "  auto:") + "routes: [{use: large}]\n",
        ["3:3 models.auto auto has a meaning of its own in a request; choose another name"],
    ),
    (
        HEAD + "routes: [{use: !!str small}, {use: ! large}]\n",
        [f"5:{column} tags (!...) are not read here; write the plain value" for column in (16, 36)],
    ),
    (
        HEAD + "routes: [{use: small, ? [a] : b, fallback: [~]}]\n",
        [
            "5:25 a key is a plain word",
            "5:45 routes.0.fallback has an item without a value",
            "5:45 routes.0.fallback should be a text; put it in quotes",
        ],
    ),
    (
        "policy: 1\nmodels:\n  small:\n    run: {weights: w, speculate: ngram, draft: v}\nroutes: [{use: small}]\n",
        ["4:5 models.small.run names a draft, which only `speculate: draft` uses"],
    ),
    (
        "policy: 1\nmodels:\n  small:\n    run: {weights: w, device: cpu, graphs: true}\nroutes: [{use: small}]\n",
        ["4:5 models.small.run asks for CUDA graphs with `device: cpu`"],
    ),
    (
        "policy: 1\nmodels:\n  small: {worker: true, run: {weights: w}}\nroutes: [{use: small}]\n",
        ["3:3 models.small is a `worker` only at an address; what runs here is heard anyway"],
    ),
    (
        HEAD + "routes: [{use: small, when: {prompt_tokens: {}, tenant: {a: b}, has: tools, any: x}}]\n",
        [
            "5:30 routes.0.when.prompt_tokens needs over, under or both",
            "5:57 routes.0.when.tenant should be a list",
            "5:82 routes.0.when.any should be a list",
        ],
    ),
    (
        HEAD.replace("  small:", "  price:")
        + "  sm all: {at: 'http://x', pric: 1}\n"
        + "routes: [{use: large, when: x}]\n",
        [
            "5:3 models.sm all should be a name: letters, digits and . _ : / -, at most 128 of them",
            '5:28 models.sm all.pric is not a key here; did you mean "price"?',
            "6:29 routes.0.when should be a map of keys and values",
        ],
    ),
    (
        HEAD.replace('small: {at: "http://a/v1",', "price: {at: 'http://a/v1', pric: 1, prise: 2,")
        + "routes: [{use: large}]\n",
        [
            "3:30 models.price.pric is not a key here; keys here are:"
            " at, run, worker, dialect, replicas, watch, events, serves, key, speaks, price, fits, can, thinking, like, head",
            "3:39 models.price.prise is not a key here; keys here are:"
            " at, run, worker, dialect, replicas, watch, events, serves, key, speaks, price, fits, can, thinking, like, head",
        ],
    ),
    # sense
    (
        HEAD + "routes: [{name: all, use: small}, {name: rest, when: {tenant: a}, use: large}]\n",
        ["5:35 routes.rest can never match: route 1 (all) takes all its requests; move it up or remove it"],
    ),
    (
        HEAD + "routes: [{name: a, when: {stream: true}, use: small}, {name: a, use: large}]\n",
        ["5:55 routes.a is the name of route 1 already; give it another"],
    ),
    (HEAD + "routes: [{use: small, fallback: [large, large]}]\n", ["5:33 routes.0.fallback names large twice"]),
    (
        HEAD + "routes: [{use: requested}]\n",
        ["5:16 routes.0.use honours a name that the client states: add when: {model.is: concrete}"],
    ),
    (
        HEAD + "routes: [{when: {model.is: concrete}, use: small}]\n",
        [
            "5:28 routes.0.when.model.is can never match: a model named by the client is always honoured;"
            " concrete goes with use: requested"
        ],
    ),
    (
        HEAD
        + "routes: [{choose: {by: difficulty, among: [small, large], target: {cost: 40% of larg}, when_unsure: larg}}]\n",
        [
            '5:74 routes.0.choose.target.cost is measured against larg, which is not in among; did you mean "large"?',
            '5:101 routes.0.choose.when_unsure is larg, which is not in among; did you mean "large"?',
        ],
    ),
    (
        HEAD + "  a: {like: b}\n  b: {like: a}\n" + ROUTE,
        ["5:13 models.a.like goes in a circle: a -> b -> a", "6:13 models.b.like goes in a circle: b -> a -> b"],
    ),
    (HEAD + "  a: {serves: x}\n" + ROUTE, ["5:3 models.a needs exactly one of at and run"]),
    (HEAD + "  a: {at: [http://x, http://x/]}\n" + ROUTE, ["5:7 models.a.at names an address twice"]),
    (
        HEAD + "  a: {run: {weights: w}, speaks: {developer: system}}\n" + ROUTE,
        ["5:26 models.a.speaks has no use: our own engine understands all of it"],
    ),
    (
        HEAD + "  a: {run: {weights: w}, key: env:K}\n" + ROUTE,
        ["5:26 models.a.key has no use: an engine in this process asks for no key"],
    ),
    (
        HEAD.replace("$4/M}}", "$4/M}, can: [tools]}") + "routes: [{when: {has: images}, use: small}]\n",
        ["5:23 routes.0.when.has asks for what no model of the route can: small lacks vision"],
    ),
    (
        HEAD.replace(", price: {input: $1/M, output: $4/M}", "") + CHOICE,
        [
            "3:3 models.small has no price, which a target needs where other models of the ladder have one:"
            " add price: {input: $0.05/M, output: $0.20/M} ($0/M if free)"
        ],
    ),
    (
        HEAD.replace("$40/M}}", "$40/M}, head: lrge}") + CHOICE,
        [
            "4:74 models.large.head is lrge, which is no head of the difficulty artefact; its heads are: large, medium, small"
        ],
    ),
    (
        HEAD + "  qwen: {like: small}\n" + CHOICE.replace("[small,", "[qwen,"),
        [
            "7:38 routes.0.choose.among names qwen, which is no head of the difficulty artefact;"
            " its heads are: large, medium, small; add head: ... to models.qwen"
        ],
    ),
    (
        HEAD + CHOICE.replace("40%", "4%"),
        [
            "6:68 routes.0.choose.target.cost cannot be held: the cheapest mix already costs 10.0% of large"
            " (at 66.4% of its quality); ask for at least cost 10%; cost and quality that can be had:"
            " 10% for 66.4%, 23% for 81.1%, 37% for 91.7%, 51% for 99.2%, 64% for 103.8%, 78% for 105.4%"
        ],
    ),
    (
        HEAD + CHOICE.replace("[small, large]", "[large, small]"),
        [
            "6:45 routes.0.choose.among goes from the lowest tier to the highest, but small, after large, answers worse"
            " and costs no more: write small before large"
        ],
    ),
    (
        HEAD.replace(", price: {input: $1/M, output: $4/M}", "").replace(", price: {input: $10/M, output: $40/M}", "")
        + CHOICE.replace("[small, large]", "[large, small]"),
        [
            "6:45 routes.0.choose.among goes from the lowest tier to the highest, but small, after large, answers worse:"
            " write small before large"
        ],
    ),
    (
        HEAD + CHOICE.replace("large}}", "large}, floor: {quality: 98% of large}}"),
        [
            "6:83 routes.0.choose.floor cannot be held: cost 40% of large gives 93.4% of its quality, less than 98%;"
            " that needs cost 48.3%; cost and quality that can be had:"
            " 10% for 66.4%, 23% for 81.1%, 37% for 91.7%, 51% for 99.2%, 64% for 103.8%, 78% for 105.4%"
        ],
    ),
    (
        HEAD + CHOICE.replace("large}}", "large}, floor: {quality: 120% of large}}"),
        [
            "6:83 routes.0.choose.floor cannot be held: cost 40% of large gives 93.4% of its quality, less than 120%;"
            " the best mix reaches 105.4% of the quality of large (at 78.0% of its cost); ask for at most quality 105%;"
            " cost and quality that can be had:"
            " 10% for 66.4%, 23% for 81.1%, 37% for 91.7%, 51% for 99.2%, 64% for 103.8%, 78% for 105.4%"
        ],
    ),
    (
        HEAD + CHOICE.replace("large}}", "large}, floor: {quality: 80% of small}}"),
        [
            "6:83 routes.0.choose.floor stands beside a cost target against the same model;"
            " a quality target is a floor itself"
        ],
    ),
    (
        HEAD.replace("$10/M", "$0/M").replace("$40/M", "$0/M") + CHOICE,
        ["6:68 routes.0.choose.target.cost is a share of what large costs, and large is free"],
    ),
    (
        FOUR_LINES.replace("model: small", "model: large, route: x"),
        ["4:62 tests.0.expect.route names no route; there is: default"],
    ),
    (
        FOUR_LINES.replace("{model: small}", "{model: large}"),
        [
            "4:32 tests.0.expect fails: expected model large, got small: small: least expected cost for"
            " cost 40% of large; p_good small 0.95, large 0.97"
        ],
    ),
    (
        FOUR_LINES.replace("{model: small}", "{}"),
        ["4:32 tests.0.expect expects nothing: needs model, model.in or route"],
    ),
    (
        FOUR_LINES.replace('text: "hi"', "down: [smal], model: lrge"),
        [
            '4:26 tests.0.given.down names the model smal, which is not declared; did you mean "small"?',
            '4:40 tests.0.given.model names the model lrge, which is not declared; did you mean "large"?',
        ],
    ),
]


@pytest.mark.parametrize(("text", "problems"), BAD)
def test_a_bad_file_is_told_where_and_what(text: str, problems: list[str]) -> None:
    assert told(text) == problems


def test_faults_of_shape_and_of_names_are_told_together() -> None:
    text = HEAD.replace("http://a/v1", "a") + "routes: [{use: smal, x: 1}]\ntest: []\n"
    assert [line.split(" ")[0] for line in told(text)] == ["3:15", "5:16", "5:22", "6:1"]


def test_a_faulty_item_of_a_list_does_not_hide_the_next() -> None:
    assert told(HEAD + "routes: [x, {use: smal}]\n") == [
        "5:10 an item of routes should be a map of keys and values",
        '5:19 routes.0.use names the model smal, which is not declared; did you mean "small"?',
    ]


def test_a_failed_route_expectation_is_told() -> None:
    text = HEAD + "routes: [{name: s, when: {stream: true}, use: small}, {use: large}]\n"
    problems = told(text + "tests: [{name: n, given: {stream: false}, expect: {route: s}}]\n")
    assert problems == ["6:43 tests.n.expect fails: expected route s, got default: large: route default uses it"]


def test_an_artefact_that_cannot_be_read_is_a_problem_of_the_file() -> None:
    def missing(artefact: str) -> Calibration:
        raise FileNotFoundError(f"no such artefact: {artefact}")

    text = FOUR_LINES + "difficulty: {artefact: nowhere}\n"
    loaded = load_policy(text, name="p.yaml", calibrate=missing)
    assert [problem.render().splitlines()[0] for problem in loaded.problems] == [
        "p.yaml:5:24 difficulty.artefact cannot be used: no such artefact: nowhere"
    ]


# ── secrets and excerpts ────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "line",
    [
        "  x: {at: http://x, key: correct-horse-battery}",
        "  x: {at: http://me:correct-horse-battery@x/v1}",
        "  x: {at: http://x, serves: sk-correct-horse-battery}",
        "  x: {at: http://x, key: 'correct-horse-battery', bad: [}",
    ],
)
def test_a_secret_is_refused_and_never_shown(line: str) -> None:
    loaded = load(HEAD + line + "\n" + ROUTE)
    assert loaded.policy is None
    shown = "\n".join(problem.render() for problem in loaded.problems)
    assert "p.yaml:5:" in shown
    assert "battery" not in shown


def test_an_excerpt_has_a_caret_under_the_column_also_on_a_long_line() -> None:
    text = HEAD + "routes: [{use: small, " + " " * 300 + "fallbck: [large]}]\n"
    head, line, caret = load(text).problems[0].render().splitlines()
    assert head.startswith("p.yaml:5:323 ")
    assert len(line) < 120
    assert line[caret.index("^") :].startswith("fallbck")


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "a:\n" + "".join(" " * i + "- \n" for i in range(200))])
def test_deep_files_are_refused_early(text: str) -> None:
    assert "nested more than 32 levels deep" in [problem.message for problem in load(text).problems]


def test_large_files_are_refused_unread() -> None:
    assert "larger than" in load("a" * (1 << 18) + "b").problems[0].message


# ── schema ──────────────────────────────────────────────────────────────────


def test_every_key_of_the_schema_is_described() -> None:
    schema = json_schema()
    maps = [schema, *schema["$defs"].values()]
    bare = [
        f"{m['title']}.{key}" for m in maps for key, value in m["properties"].items() if not value.get("description")
    ]
    assert bare == []
    assert all(m["additionalProperties"] is False for m in maps)
    assert json.loads(json.dumps(schema)) == schema


def test_the_schema_takes_headers_by_pattern_and_no_nulls() -> None:
    schema = json_schema()
    assert list(schema["$defs"]["When"]["patternProperties"]) == list(schema["$defs"]["Given"]["patternProperties"])
    assert '"null"' not in json.dumps(schema)


def test_the_reference_page_is_the_schema() -> None:
    readme = Path(policies.language.__file__).with_name("README.md").read_text()
    assert reference() in readme


def maps_of_the_file() -> list[type[Closed]]:
    kinds = [PolicyFile, *Closed.__subclasses__(), *WithHeaders.__subclasses__()]
    return sorted({kind for kind in kinds if kind is not WithHeaders}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", maps_of_the_file(), ids=lambda kind: kind.__name__)
def test_every_example_and_default_of_the_schema_is_accepted(kind: type[Closed]) -> None:
    schema = json_schema()
    shown = {"PolicyFile": schema, **schema["$defs"]}[kind.__name__]["properties"]
    for name, field in kind.model_fields.items():
        key = field.alias or name
        takes = TypeAdapter(Annotated[field.annotation, Field(), *field.metadata])
        for value in (*shown.get(key, {}).get("examples", ()), *(v for v in [shown.get(key, {}).get("default")] if v)):
            takes.validate_python(value)
            pattern = shown[key].get("pattern")
            assert pattern is None or re.fullmatch(pattern, value)
