"""Settings: every field has a variable, and secrets do not print."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.secrets import Secret
from gateway.settings import MIB, Decisions, Limits, Settings, Telemetry, read_secret
from policies.catalogue import SecretRef


def test_variables_set_fields_and_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNOUT_PORT", "9000")
    monkeypatch.setenv("TURNOUT_LIMITS__BODY_BYTES", "77")
    monkeypatch.setenv("TURNOUT_TELEMETRY__LOG", "off")

    assert Settings().port == 9000
    assert Settings(port=9001).port == 9001
    assert Settings().limits.body_bytes == 77
    assert Settings().telemetry.log == "off"


def test_lists_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNOUT_CORS_ORIGINS", '["https://a.example", "https://b.example"]')

    assert Settings().cors_origins == ("https://a.example", "https://b.example")


def test_defaults_are_safe_and_hold_image_requests() -> None:
    settings = Settings()

    assert settings.is_loopback
    assert not settings.allow_anonymous
    assert settings.limits.body_bytes >= 32 * MIB
    assert settings.cors_origins == ()
    assert settings.admin.port is None


@pytest.mark.parametrize(
    "bad",
    [
        {"port": 70_000},
        {"state": "memcached://x"},
        {"drain_s": 0},
        {"limits": {"body_byts": 1}},
        {"admin": {"port": 9_090}},
        {"admin": {"port": 9_090, "key_hash": "secret"}},
        {"port": 9_090, "admin": {"port": 9_090, "key_hash": "0" * 64}},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Settings(**bad)  # type: ignore[arg-type]  # what an operator might write


def test_a_secret_shows_nowhere() -> None:
    settings = Settings(state="redis://user:hunter2@h/0")  # type: ignore[arg-type]  # as it comes from the environment

    assert "hunter2" not in f"{settings!r}{settings}{settings.state}"
    assert settings.state is not None
    assert settings.state.reveal().endswith("@h/0")


def test_secrets_come_from_variables_and_files_without_their_line_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("k1\r\n")
    monkeypatch.setenv("SOME_KEY", " k2 \n")
    monkeypatch.setenv("EMPTY_KEY", "  ")

    assert read_secret(SecretRef("file", str(file))) == Secret("k1")
    assert read_secret(SecretRef("env", "SOME_KEY")) == Secret("k2")
    assert read_secret(SecretRef("env", "EMPTY_KEY")) is None
    assert read_secret(SecretRef("env", "NO_SUCH_KEY")) is None
    assert read_secret(SecretRef("file", str(tmp_path / "none"))) is None


def test_the_table_of_settings_is_whole_and_true() -> None:
    page = (Path(__file__).parents[3] / "gateway" / "README.md").read_text(encoding="utf-8")

    for name in Settings.model_fields:
        assert f"TURNOUT_{name.upper()}" in page, name
    for name, field in Limits.model_fields.items():
        assert f"`{name.upper()}` {shown(field.default)}" in page, name
    for name in (*Telemetry.model_fields, *Decisions.model_fields):
        assert f"`{name.upper()}`" in page, name


def shown(value: float) -> str:
    return f"{value // MIB} MiB" if value >= MIB else f"{value:g}"
