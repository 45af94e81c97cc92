"""Settings come from the environment, then from ``.env``; what is wrong is named in one line."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pytest_django import Settings

from memoryapp import memory
from memoryapp.environment import (
    BASE_DIR,
    Environment,
    SettingsError,
    database_settings,
    load_environment,
)
from memoryapp.settings import _kept_secret_key


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Environment.names():
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / ".env"
    monkeypatch.setitem(Environment.model_config, "env_file", file)
    return file


def test_nothing_needs_to_be_set() -> None:
    environment = load_environment()
    assert (environment.host, environment.port) == ("127.0.0.1", 8000)
    assert environment.memory_var_dir == BASE_DIR / "var"
    assert environment.django_debug is False


def test_environment_wins_over_the_file(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env_file.write_text("PORT=9001\nMEMORY_WEB_THREADS=7\nUNRELATED=1\n")
    monkeypatch.setenv("PORT", "9002")
    environment = load_environment()
    assert (environment.port, environment.memory_web_threads) == (9002, 7)


def test_an_empty_value_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "")
    assert load_environment().django_secret_key is None


@pytest.mark.parametrize(("given", "is_told"), [("", None), ("true", True), ("false", False)])
def test_whether_the_model_reads_images_is_left_open_unless_it_is_said(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, given: str, is_told: bool | None
) -> None:
    monkeypatch.setenv("MEMORY_LLM_VISION", given)
    settings.MEMORY_LLM = "openai/a-model-nobody-knows"
    settings.MEMORY_LLM_VISION = load_environment().memory_llm_vision
    memory.llm.cache_clear()
    model = memory.llm()
    memory.llm.cache_clear()
    assert settings.MEMORY_LLM_VISION is is_told
    assert model is not None
    # Of a model that LiteLLM does not know it says: no.
    assert model.supports_vision is bool(is_told)


def test_lists_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_ALLOWED_HOSTS", "a.example, b.example,")
    assert load_environment().django_allowed_hosts == ["a.example", "b.example"]


def test_unknown_name_is_refused_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_EMBEDER", "local")
    with pytest.raises(SettingsError, match=r"^MEMORY_EMBEDER is not a setting"):
        load_environment()


def test_unknown_name_is_refused_in_the_file(env_file: Path) -> None:
    env_file.write_text("MEMORY_EMBEDER=local\n")
    with pytest.raises(SettingsError, match=r"^MEMORY_EMBEDER is not a setting"):
        load_environment()


def test_names_of_the_test_suite_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TEST_ORACLE_DSN", "x")
    load_environment()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "http"),
        ("DJANGO_DEBUG", "perhaps"),
        ("DJANGO_LANGUAGE_CODE", "tlh"),
        ("DJANGO_LOG_LEVEL", "LOUD"),
        ("DJANGO_TIME_ZONE", "Mars/Olympus_Mons"),
        ("MEMORY_EMBEDDER", "my.module"),
        ("MEMORY_EMBEDDER", "os;x:make"),
        ("MEMORY_MAX_BODY_BYTES", "10"),
        ("MEMORY_PURGE_INTERVAL_S", "0"),
        ("MEMORY_SCHEMA_POLICY", "recreate"),
        ("MEMORY_WEB_PROCESSES", "65"),
        ("MEMORY_WEB_THREADS", "-1"),
    ],
)
def test_value_out_of_bounds_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"^{name}: .*'{value}'"):
        load_environment()


@pytest.mark.parametrize(
    "url",
    [
        "memory.sqlite3",
        "sqlite://",
        "sqlite:///",
        "sqlite://host/file",
        "postgres://u:hunter2@h/d",
        "oracle://h:1521/service",
        "oracle://u:hunter2@h:port/service",
        "oracle://u:hunter2@h:1521",
        "oracle://u:hunter2@h/s?max=many",
        "oracle://u:hunter2@h/s?size=8",
    ],
)
def test_database_url_of_another_form_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^DATABASE_URL: ") as caught:
        database_settings(url)
    assert "hunter2" not in str(caught.value)


def test_sqlite_url_is_relative_to_the_project_or_absolute() -> None:
    assert database_settings("sqlite:///var/a%20b.sqlite3")["NAME"] == BASE_DIR / "var/a b.sqlite3"
    assert database_settings("sqlite:////tmp/a.sqlite3")["NAME"] == Path("/tmp/a.sqlite3")


def test_oracle_url_names_service_user_and_pool() -> None:
    database = database_settings("oracle://scott:t%40ger@db.example/FREEPDB1?max=20")
    assert database["ENGINE"] == "django.db.backends.oracle"
    assert database["NAME"] == "db.example:1521/FREEPDB1"
    assert (database["USER"], database["PASSWORD"]) == ("scott", "t@ger")
    assert database["OPTIONS"] == {"pool": {"min": 1, "max": 20}}
    assert database["CONN_MAX_AGE"] == 0


def test_processes_that_start_at_once_agree_on_one_private_secret_key(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: _kept_secret_key(path), range(32)))
    assert len(keys) == 1
    assert len(keys.pop()) > 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_secret_key_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "secret_key").mkdir()
    with pytest.raises(SettingsError, match=r"^MEMORY_VAR_DIR: cannot use .*secret_key"):
        _kept_secret_key(tmp_path / "secret_key")
