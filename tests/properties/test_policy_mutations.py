"""Laws of reading policy files that someone damaged: reading never raises, and always says where."""

import re
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.estimates import Calibration
from policies.language import Loaded, load_policy
from policies.language.problem import LINE_END

FILE = """\
policy: 1
name: whole
models:
  small:
    run: {weights: smollm2, precision: int8, speculate: ngram, max_draft: 4, kv: 8k, max_running: 8}
    price: {input: $0.05/M, cached_input: $0.01/M, output: $0.20/M}
    fits: {context: 2k, output: 1k}
    can: [logprobs]
  large:
    at: [http://127.0.0.1:9002/v1, http://127.0.0.1:9003/v1]
    key: env:LARGE_KEY
    serves: frontier
    price: {input: $3/M, output: $15/M}
    can: [tools, vision, json_schema]
  next:
    like: large
    head: large
difficulty: {artefact: shipped, within: 20ms}
routes:
  - name: pinned
    when: {model.is: concrete}
    use: requested
    fallback: [large, small]
  - name: gold
    when:
      tenant.plan: gold
      stream: true
      prompt_tokens: {over: 10, under: 9k}
      any: [{has: tools}, {header.x-batch: "1"}]
      not: {tenant: acme}
    use: large
  - name: default
    choose:
      by: difficulty
      among: [small, large, next]
      target: {cost: 40% of large}
      when_unsure: large
conversations: {may_move: up}
affinity: {max_imbalance: 1.1, spill_after: 4}
resilience: {attempts: 2, connect: 1s, first_content: 5s, gap: 5s, total: 1m, retry_uncertain: false}
tests:
  - name: greeting
    given: {prompt_tokens: 5, tools: 1, down: [small]}
    expect: {model.in: [large, next], route: default}
"""
LINES = FILE.splitlines()
KEY = re.compile(r"(?<![\w.$/-])([a-z][a-z_.]+)(?=: |:$)")
KEYS = [
    (number, match.start(), match[0])
    for number, line in enumerate(LINES, 1)
    for match in KEY.finditer(line)
    if match[0] not in ("small", "large", "next")
]
SPREAD = Random(7)
SAMPLE = Calibration(
    p_good={name: tuple(SPREAD.random() for _ in range(50)) for name in ("small", "large")}, artefact="sample"
)


def load(text: str) -> Loaded:
    return load_policy(text, name="p.yaml", calibrate=lambda artefact: SAMPLE)


def check(text: str) -> Loaded:
    """What must hold of any text at all."""
    loaded = load(text)
    assert (loaded.policy is None) == bool(loaded.problems)
    lines = len(LINE_END.split(text))
    for problem in loaded.problems:
        assert 1 <= problem.line <= lines
        assert problem.column >= 1
        assert problem.message
        assert problem.render().startswith(f"p.yaml:{problem.line}:{problem.column} ")
    return loaded


def test_the_whole_file_loads() -> None:
    assert load(FILE).problems == ()
    assert len(KEYS) > 50


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read_or_told(text: str) -> None:
    check(text)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, len(FILE) - 1), st.integers(0, 6), st.sampled_from(list("{}[]:,-#&*!|>'\"%@`~ \n\t0x$é\x00\x85")))
def test_a_damaged_character_is_told_or_harmless(at: int, cut: int, put: str) -> None:
    check(FILE[:at] + put + FILE[at + cut :])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_moved_doubled_and_indented_lines_are_told_or_harmless(data: st.DataObject) -> None:
    lines = list(LINES)
    at, to = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    how = data.draw(st.sampled_from(["drop", "double", "move", "indent", "outdent"]))
    line = lines.pop(at)
    changed = {
        "drop": [],
        "double": [line, line],
        "move": [],
        "indent": [f"  {line}"],
        "outdent": [line.removeprefix("  ")],
    }
    lines[at:at] = changed[how]
    if how == "move":
        lines.insert(to, line)
    check("\n".join(lines))


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(KEYS), st.integers(0, 30), st.sampled_from("xyz"))
def test_a_misspelt_key_is_told_at_its_place_with_the_right_word(
    key: tuple[int, int, str], where: int, letter: str
) -> None:
    number, column, word = key
    at = where % (len(word) + 1)
    wrong = word[:at] + letter + word[at:]
    lines = list(LINES)
    lines[number - 1] = lines[number - 1][:column] + wrong + lines[number - 1][column + len(word) :]

    loaded = check("\n".join(lines))

    told = [p for p in loaded.problems if f"{wrong} is not a key here" in p.message]
    assert [(p.line, p.column) for p in told] == [(number, column + 1)]
    assert f'did you mean "{word}"?' in told[0].message


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_value_in_place_of_another_is_told_or_harmless(data: st.DataObject) -> None:
    number, column, word = data.draw(st.sampled_from(KEYS))
    value = data.draw(
        st.sampled_from(["", "~", "1e3", "-1", "[]", "{}", "[[1]]", "{a: b}", "no", "08", "'x'", "9" * 5000])
    )
    line = LINES[number - 1]
    lines = [*LINES[: number - 1], f"{line[: column + len(word)]}: {value}", *LINES[number:]]
    check("\n".join(lines))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["sk-", "hf_", "AIza", "ghp_"]), st.text("abcdefgh0123456789", min_size=24, max_size=30))
def test_what_looks_like_a_credential_is_never_repeated(start: str, rest: str) -> None:
    loaded = check(FILE.replace("env:LARGE_KEY", start + rest).replace("frontier", start + rest))
    assert loaded.policy is None
    assert rest not in "\n".join(problem.render() for problem in loaded.problems)
