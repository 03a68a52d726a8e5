"""Who is calling: by digest, in one shape, and never open to the network by accident."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ForeignHost, Unauthorised
from gateway.request.identity import (
    ANONYMOUS,
    BadSettings,
    Identity,
    KeyEntry,
    load_keys,
    open_identity,
    presented_key,
    tenant_salt,
)
from gateway.settings import Settings

KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


def entry(key: str, tenant: str = "t", **fields: object) -> KeyEntry:
    return KeyEntry.model_validate({"hash": hashlib.sha256(key.encode()).hexdigest(), "tenant": tenant, **fields})


@given(KEYS, KEYS)
def test_a_key_is_known_exactly_when_it_was_configured(configured: str, presented: str) -> None:
    identity = Identity([entry(configured)])

    if presented == configured:
        assert identity.identify({"authorization": f"Bearer {presented}"}).tenant == "t"
        assert identity.identify({"x-api-key": presented}).tenant == "t"
    else:
        with pytest.raises(Unauthorised):
            identity.identify({"authorization": f"Bearer {presented}"})


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": ""}, {"authorization": "Bearer"}, {"authorization": "Basic k"}]
)
def test_no_key_is_a_wrong_key(headers: dict[str, str]) -> None:
    with pytest.raises(Unauthorised):
        Identity([entry("")]).identify({"x-api-key": "other", **headers})


def test_the_digest_of_nothing_lets_nobody_in() -> None:
    """`sha256sum` prints it too, when the variable that should hold the key is not set."""
    with pytest.raises(Unauthorised):
        Identity([entry("")]).identify({})


def test_two_keys_with_one_beginning_are_two_principals() -> None:
    long = "x" * 200
    identity = Identity([entry(long + "a", "first"), entry(long + "b", "second", models=["m"], plan="gold")])

    first, second = (identity.identify({"x-api-key": long + end}) for end in "ab")

    assert (first.tenant, second.tenant, second.plan) == ("first", "second", "gold")
    assert first.may_use("anything")
    assert not second.may_use("anything")
    assert first.salt != second.salt


def test_without_keys_everybody_is_the_default_tenant() -> None:
    assert Identity([]).identify({"authorization": "Bearer whatever"}) == ANONYMOUS
    assert ANONYMOUS.salt == tenant_salt("default")


def test_bearer_goes_before_x_api_key() -> None:
    assert presented_key({"authorization": "Bearer a", "x-api-key": "b"}) == "a"
    assert presented_key({"authorization": "Basic a", "x-api-key": "b"}) == "b"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "gateway.example"])
def test_a_gateway_without_keys_does_not_listen_beyond_this_machine(host: str) -> None:
    with pytest.raises(BadSettings, match="TURNOUT_KEYS_FILE"):
        open_identity(Settings(host=host))

    open_identity(Settings(host=host, allow_anonymous=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_on_loopback_no_keys_are_needed(host: str) -> None:
    assert open_identity(Settings(host=host)).identify({}) == ANONYMOUS


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("localhost", True),
        ("LocalHost:8080", True),
        ("127.0.0.1:8080", True),
        ("127.8.8.8", True),
        ("[::1]:8080", True),
        ("[::1]", True),
        ("evil.example", False),
        ("evil.example:8080", False),
        ("localhost.evil.example:8080", False),
        ("127.0.0.1.evil.example", False),
        ("192.168.1.4:8080", False),
        ("[2001:db8::1]:8080", False),
        ("0.0.0.0", False),
        ("", False),
    ],
)
def test_without_keys_only_names_of_this_machine_are_answered(host: str, is_here: bool, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps([{"hash": hashlib.sha256(b"k").hexdigest(), "tenant": "default", "gateway": True}]))
    headers = {"host": host, "x-api-key": "k"}

    if is_here:
        assert open_identity(Settings()).identify(headers) == ANONYMOUS
    else:
        with pytest.raises(ForeignHost, match=r"TURNOUT_KEYS_FILE.*TURNOUT_ALLOW_ANONYMOUS"):
            open_identity(Settings()).identify(headers)
    for chosen in (Settings(allow_anonymous=True), Settings(keys_file=keys)):
        assert open_identity(chosen).identify(headers) == ANONYMOUS


def test_keys_are_read_from_json_and_yaml(tmp_path: Path) -> None:
    rows = [{"hash": "ab" * 32, "tenant": "t", "models": ["m"]}]
    as_json, as_yaml = tmp_path / "keys.json", tmp_path / "keys.yaml"
    as_json.write_text(json.dumps(rows))
    as_yaml.write_text(f"- hash: {'ab' * 32}\n  tenant: t\n  models: [m]\n")

    assert load_keys(as_json) == load_keys(as_yaml)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"hash": "abc", "tenant": "t"}]', "entry 0.hash"),
        ('[{"hash": "' + "ab" * 32 + '", "tenat": "t"}]', "entry 0.tenant"),
        ("{", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_a_bad_keys_file_is_told_with_its_place_and_without_its_content(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)

    with pytest.raises(BadSettings, match=told) as raised:
        load_keys(path)

    assert "abab" not in str(raised.value)
