"""No prompt of one tenant shares a block key with any prompt of another, whatever they send, unless both are told to share."""

import hashlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backends.dialects.openai_chat.request import read_chat
from backends.remote.prefix import prefix_blocks
from backends.worker.prefix import SALT_HEADER
from gateway.request.identity import Identity, KeyEntry
from policies.affinity.blocks import seed, token_blocks

names = st.text(min_size=1, max_size=12)
texts = st.text(st.characters(codec="utf-8"), min_size=0, max_size=40).map(lambda text: text + " and so on" * 120)
wishes = st.fixed_dictionaries(
    {}, optional={"cache_salt": names, "user": names, "prompt_cache_key": names, "safety_identifier": names}
)


def entry(key: str, tenant: str, **more: Any) -> KeyEntry:
    return KeyEntry(hash=hashlib.sha256(key.encode()).hexdigest(), tenant=tenant, **more)


def salts(*entries: KeyEntry, headers: dict[str, str] | None = None) -> list[bytes]:
    """Of the keys k0, k1 ..., each with these headers beside its key."""
    identity = Identity(entries)
    return [identity.identify({**(headers or {}), "authorization": f"Bearer k{n}"}).salt for n in range(len(entries))]


def keys_of(text: str, salt: bytes, **wish: object) -> set[bytes]:
    """All keys that this prompt has anywhere: as text at remote servers, as token ids at an engine of ours."""
    request = read_chat(json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **wish}).encode())
    return {*prefix_blocks(request, "m", salt), *token_blocks(seed("m", salt), list(text.encode()), 16)}


@given(one=names, other=names, text=texts, wish=wishes)
def test_two_tenants_never_share_a_key_whatever_the_body_says(one: str, other: str, text: str, wish: dict[str, str]):
    a, b = salts(entry("k0", one), entry("k1", other))

    plain, wishing = keys_of(text, a), keys_of(text, b, **wish)

    assert plain
    assert bool(plain & wishing) == (one == other)


@given(one=names, other=names, forged=st.text("0123456789abcdef", max_size=40), text=texts)
def test_a_salt_that_a_client_sends_means_nothing(one: str, other: str, forged: str, text: str):
    entries = entry("k0", one), entry("k1", other)

    assert salts(*entries, headers={SALT_HEADER: forged}) == salts(*entries)
    assert salts(*entries, headers={SALT_HEADER: salts(*entries)[0].hex()}) == salts(*entries)


@given(tenants=st.lists(names, min_size=2, max_size=2, unique=True), word=names, text=texts)
def test_tenants_that_are_told_to_share_do_and_nobody_joins_them_by_name(tenants: list[str], word: str, text: str):
    one, other = tenants
    a, b, outside, namesake, another = salts(
        entry("k0", one, shares=word),
        entry("k1", other, shares=word),
        entry("k2", one),
        entry("k3", word),
        entry("k4", other, shares=word + "'"),
    )

    assert keys_of(text, a) == keys_of(text, b)
    for stranger in (outside, namesake, another):
        assert not keys_of(text, a) & keys_of(text, stranger)


@given(
    front=st.lists(names, min_size=2, max_size=2, unique=True),
    salt=st.text("0123456789abcdef", min_size=2, max_size=32),
)
def test_tenants_of_two_gateways_are_apart_even_with_one_salt(front: list[str], salt: str):
    a, b = salts(entry("k0", front[0], gateway=True), entry("k1", front[1], gateway=True), headers={SALT_HEADER: salt})

    assert a != b
