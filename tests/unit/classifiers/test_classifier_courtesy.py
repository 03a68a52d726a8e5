"""Courtesy around a question changes nothing that is computed of it, and nothing else is taken for courtesy."""

import pytest
from calls_made import calls
from hypothesis import given
from hypothesis import strategies as st

from classifiers.features.lexical import lexical
from classifiers.features.text import cut
from classifiers.outcomes import pool
from classifiers.reading.appeals import without_appeals
from classifiers.reading.courtesy import without_courtesy
from classifiers.reading.readings import readings

PROMPTS = (
    "What is the capital of Norway?",
    "Prove that every tree with n vertices has n - 1 edges.",
    "A box holds 12 eggs and a crate holds 8 boxes. How many eggs are in 3 crates?",
    "Which of these is a noble gas?\nA. Oxygen\nB. Argon\nC. Chlorine\nD. Sulphur\nAnswer:",
    "Thanking people is\n(A) polite\n(B) rude\n(C) thanks\n(D) help",
    "Write a short story about a lighthouse keeper who is afraid of the dark.",
    "Translate 'see you tomorrow' into Italian.",
    "Implement an LRU cache in Rust:\n\n- get and put in O(1)\n- safe to use from several threads",
    "Let G be a finite group. Show that the order of a subgroup divides the order of G",
    "Come up with three names for a tea shop.",
    "Provide a summary of the causes of the First World War",
    "You are given a list of intervals. Merge those that overlap.",
)

_whom = st.sampled_from(("", " there", " everyone", " dear assistant"))
_hello = st.builds("{}{}{} ".format, st.sampled_from(("Hi", "Hello", "Hey", "HELLO")), _whom, st.sampled_from("!."))
_daytime = st.builds("Good {}{} ".format, st.sampled_from(("morning", "afternoon", "evening")), st.sampled_from(".!"))
_wish = st.builds(
    "{} {}. ".format,
    st.sampled_from(("I hope", "Hope", "I really hope")),
    st.sampled_from(("you are well", "you are having a great day", "all is well with you")),
)
_sorry = st.sampled_from(("Sorry to bother you again. ", "Excuse me! ", "Apologies for the trouble. "))
_modal = st.sampled_from(("Could", "Can", "Would", "Might"))
_plea = st.builds(
    "{} you {}help {}? ".format,
    _modal,
    st.sampled_from(("", "please ", "kindly ", "possibly ")),
    st.sampled_from(("me", "us with this", "me out with something", "me answer a quick question")),
)
_announces = st.sampled_from(
    ("Here is my question:\n", "I have a little question for you: ", "I would be so glad if you could answer this: ")
)
_gratitude = st.builds(
    "{}{}{}".format,
    st.sampled_from(("Thanks", "Thank you", "Many thanks", "Thank you so much")),
    st.sampled_from(("", " in advance", " for your time and patience", " again for all the help")),
    st.sampled_from((".", "!", "", " :)")),
)
_appreciation = st.builds(
    "{} {}.".format,
    st.sampled_from(("I really appreciate", "We greatly appreciate")),
    st.sampled_from(("it", "your help")),
)
_close = st.sampled_from(("Kind regards", "Cheers!", "Have a nice day, and thanks!", "Please help me with this."))

before = st.lists(st.one_of(_hello, _daytime, _wish, _sorry, _plea, _announces), min_size=1, max_size=4).map("".join)
behind = st.lists(st.one_of(_gratitude, _appreciation, _close), min_size=1, max_size=3).map("\n".join)


@given(st.sampled_from(PROMPTS), before)
def test_courtesy_before_a_prompt_leaves_the_very_text(prompt: str, courtesy: str):
    assert without_appeals(courtesy + prompt) == without_appeals(prompt)


@given(st.sampled_from(PROMPTS), st.sampled_from(("\n", "\n\n")), behind)
def test_courtesy_behind_a_prompt_leaves_the_very_text(prompt: str, gap: str, courtesy: str):
    assert without_appeals(prompt + gap + courtesy) == without_appeals(prompt)


@given(st.sampled_from([prompt for prompt in PROMPTS if prompt[-1] in ".?:"]), before, behind)
def test_courtesy_at_both_ends_moves_nothing_that_is_computed(prompt: str, first: str, last: str):
    polite = f"{first}{prompt} {last}"

    assert cut(polite) == cut(prompt)
    assert lexical(polite).tobytes() == lexical(prompt).tobytes()
    assert {cut(text) for text in readings(polite)} == {cut(text) for text in readings(prompt)}


_GREETS = ("Hello! ", "Good morning! ", "Hi there! ", "Thanks! ")
_APPEALS = ("Think very hard. ", "Use your best model. ", "Think deeply about it. ")


@given(
    st.sampled_from(PROMPTS[:1]),
    st.lists(st.tuples(st.sampled_from(_GREETS), st.sampled_from(_APPEALS)), min_size=1, max_size=3),
    st.sampled_from(("", *_GREETS)),
)
def test_courtesy_and_appeals_by_turns_before_a_prompt_leave_the_very_text(
    prompt: str, turns: list[tuple[str, str]], last: str
):
    text = "".join(map("".join, turns)) + last + prompt

    assert readings(text) == readings(prompt)


@given(before, behind)
def test_courtesy_alone_is_what_is_said(first: str, last: str):
    for text in (first, last, first + last):
        assert without_courtesy(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "cool, thank you for your help",
        "yes please",
        "Hello, is anyone there?",
        "Please help. My dog ate a bar of chocolate.",
        "My program deadlocks under load. Please help me!",
        "Translate into Spanish: Thank you for your help.",
        "Translate this into Spanish.\nThank you for your help.",
        "Thank you. Translate that into French.",
        "Which does one say?\nA. Sorry\nB. Thanks",
        "Write a letter that ends with 'Kind regards'",
        "Hello world is the first program that one writes. Why?",
        "I hope the experiment works. Why did it fail?",
        "Help the police find the thief. Who did it?",
        "How can I thank a colleague for her help?",
        "The question is whether light is a wave. Is it?",
    ],
)
def test_what_says_something_of_the_matter_stays(text: str):
    assert without_courtesy(text) == text


def test_what_teaches_small_talk_is_learned_as_it_stands():
    texts = pool.read_anchors().texts

    assert [text for text in texts if len(text.split()) <= 6 and without_courtesy(text) != text] == []


@given(st.text(alphabet=st.sampled_from("Hi! thanks. please?\n"), max_size=120))
def test_what_is_left_is_a_part_of_the_text_and_stands_as_it_is(text: str):
    left = without_courtesy(text)

    assert left in text
    assert left.strip() or not text.strip()


@pytest.mark.parametrize(
    "piece", ["thanks ", "Please ", "Thanks! ", "hi, ", "it's ", "how ", "a look ", "Thanks,\n", ". ", "a: "]
)
def test_a_long_text_of_courtesy_costs_no_more_than_its_ends(piece: str):
    for text in (piece, f"{piece} why? {piece}", f"Name a moon. {piece}"):
        long = text.replace(piece, piece * (8192 // len(piece)))
        assert calls(without_courtesy, long) <= 20_000  # some 2 ms
