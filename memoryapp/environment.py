"""The settings that a deployment may set: their names, bounds and defaults.

Values come from the environment, then from a ``.env`` file beside ``manage.py``. ``settings.py``
turns them into Django's settings; ``docs/settings.md`` and ``.env.example`` describe each one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit
from zoneinfo import available_timezones

from dotenv import dotenv_values
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

BASE_DIR = Path(__file__).resolve().parent.parent

#: Read by the test suite and never by the product, so they are not unknown settings.
TEST_PREFIX = "MEMORY_TEST_"

#: Their values hold passwords: an error names the setting and never shows the value.
SECRETS = frozenset(
    {
        "DJANGO_SECRET_KEY",
        "DATABASE_URL",
        "CELERY_BROKER_URL",
        "MEMORY_EMBEDDER_API_BASE",
        "MEMORY_EMBEDDER_API_KEY",
        "MEMORY_LLM_API_BASE",
        "MEMORY_LLM_API_KEY",
    }
)

CommaSeparated = Annotated[list[str], NoDecode]


class SettingsError(ValueError):
    """A setting is unknown or has a value that cannot be used; the text names it."""


class Environment(BaseSettings):
    """Every setting of a deployment. None is needed for ``make run``."""

    model_config = SettingsConfigDict(
        env_file=BASE_DIR / ".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    #: Address that ``memory_run`` listens on. Loopback unless you say otherwise.
    host: str = "127.0.0.1"
    #: TCP port that ``memory_run`` listens on.
    port: int = Field(default=8000, ge=1, le=65535)

    #: Database of Django's tables and of the memory store: ``sqlite:///path`` or
    #: ``oracle://user:password@host:1521/service``. Unset: a SQLite file in MEMORY_VAR_DIR.
    database_url: SecretStr | None = None
    #: Celery's broker, such as ``redis://localhost:6379/0``. Unset: files in MEMORY_VAR_DIR.
    celery_broker_url: SecretStr | None = None

    #: Key that signs sessions. Unset: a random one, kept in MEMORY_VAR_DIR/secret_key.
    django_secret_key: SecretStr | None = None
    #: Tracebacks in the browser. Never in production.
    django_debug: bool = False
    #: Host names that the site answers to, separated by commas.
    django_allowed_hosts: CommaSeparated = ["localhost", "127.0.0.1", "[::1]"]
    #: Origins such as ``https://memory.example.com`` whose forms are trusted behind a proxy.
    django_csrf_trusted_origins: CommaSeparated = []
    #: The site is reached by HTTPS only: secure cookies, HSTS, X-Forwarded-Proto is trusted.
    django_https: bool = False
    #: Zone for people who have chosen none, as in the IANA time zone database.
    django_time_zone: str = "UTC"
    #: Language for people who have chosen none.
    django_language_code: Literal["en", "ja", "es", "zh-hans"] = "en"
    #: Lowest level that is logged.
    django_log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    #: Folder for what the product writes: database, broker files, secret key, collected files.
    memory_var_dir: Path = BASE_DIR / "var"
    #: What turns text into vectors: ``local`` (English, offline, 256 dimensions), a model that
    #: LiteLLM reaches, with its provider (``openai/text-embedding-3-small``), or
    #: ``module:factory``, a function of yours without arguments that returns an ``IEmbedder``.
    memory_embedder: str = "local"
    #: Address of the embedding model's provider. Unset: LiteLLM's for the model.
    memory_embedder_api_base: str | None = Field(default=None, pattern=r"^https?://\S+$")
    #: Key for it. Unset: the provider's own variable, such as ``OPENAI_API_KEY``.
    memory_embedder_api_key: SecretStr | None = None
    #: The model that learns from messages, as LiteLLM names it with its provider
    #: (``openai/gpt-4o-mini``). Unset: nothing is learnt, and the pages say so.
    memory_llm: str | None = Field(default=None, pattern=r"^[^\s/:]+/\S+$")
    #: Address of its provider. Unset: LiteLLM's for the model.
    memory_llm_api_base: str | None = Field(default=None, pattern=r"^https?://\S+$")
    #: Key for it. Unset: the provider's own variable, such as ``OPENAI_API_KEY``.
    memory_llm_api_key: SecretStr | None = None
    #: Whether it reads images. Unset: as LiteLLM's table of models says.
    memory_llm_vision: bool | None = None
    #: Seconds that one answer of it may take.
    memory_llm_timeout_s: float = Field(default=120, gt=0, le=3600)
    #: Jobs that ask it at the same time, in all workers together.
    memory_llm_concurrency: int = Field(default=4, ge=1, le=1000)
    #: Tokens that one job may use; one that needs more fails. Unset: no limit.
    memory_llm_job_tokens: int | None = Field(default=None, ge=1)
    #: Tokens that the jobs of one user may use on a day (UTC); later ones wait. Unset: no limit.
    memory_llm_user_daily_tokens: int | None = Field(default=None, ge=1)
    #: Tokens that all jobs may use on a day (UTC); later ones wait. Unset: no limit.
    memory_llm_daily_tokens: int | None = Field(default=None, ge=1)
    #: Seconds without a heartbeat after which another worker takes a job over.
    memory_job_lease_s: float = Field(default=60, ge=1, le=3600)
    #: Seconds that one run of a job may take before another worker takes it over.
    memory_job_time_limit_s: float = Field(default=900, ge=1)
    #: Times that a job is tried again after failures that may pass.
    memory_job_retries: int = Field(default=5, ge=0, le=100)
    #: Seconds between two looks of the worker for jobs whose hint was lost.
    memory_sweep_interval_s: float = Field(default=5, ge=0.1, le=3600)
    #: Hour of the day (UTC) of the nightly check of the store.
    memory_check_hour: int = Field(default=3, ge=0, le=23)
    #: Seconds that a delete waits for the end of jobs that ran on what it deleted.
    memory_delete_wait_s: float = Field(default=10, ge=0, le=300)
    #: Jobs that one worker runs at the same time.
    memory_worker_threads: int = Field(default=4, ge=1, le=256)
    #: What searches compare: meanings (``vector``), words (``keyword``) or both (``hybrid``).
    memory_search_strategy: Literal["vector", "keyword", "hybrid"] = "hybrid"
    #: Bytes of vectors that web processes and worker keep in memory, all together.
    memory_vector_cache_bytes: int = Field(default=768 * 1024 * 1024, ge=1024 * 1024)
    #: May the store create its tables? ``require_existing`` when a DBA made them.
    memory_schema_policy: Literal["create_if_necessary", "require_existing"] = "create_if_necessary"
    #: Import the demo dialogues on the first run of an empty store.
    memory_demo: bool = True
    #: Largest request body in bytes; a bigger one is answered with 413.
    memory_max_body_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    #: Seconds between two deletions of expired records by the worker.
    memory_purge_interval_s: int = Field(default=300, ge=1)
    #: Processes of the web server.
    memory_web_processes: int = Field(default=2, ge=1, le=64)
    #: Threads of each web process.
    memory_web_threads: int = Field(default=4, ge=1, le=256)

    @field_validator("django_allowed_hosts", "django_csrf_trusted_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("django_time_zone", mode="after")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value not in available_timezones():
            raise ValueError("not a zone of the IANA time zone database")
        return value

    @field_validator("memory_embedder", mode="after")
    @classmethod
    def _names_an_embedder(cls, value: str) -> str:
        if not re.fullmatch(r"local|\w+(\.\w+)*:\w+|[^\s/:]+/\S+", value):
            raise ValueError(
                "must be local, provider/model as LiteLLM names it, or module:factory as in "
                "my_models:make_embedder"
            )
        return value

    @field_validator("memory_var_dir", mode="after")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return BASE_DIR / value

    @classmethod
    def names(cls) -> frozenset[str]:
        """The name of each setting as it stands in the environment."""
        return frozenset(name.upper() for name in cls.model_fields)


def load_environment() -> Environment:
    """Read and check every setting.

    Raises:
        SettingsError: A ``MEMORY_`` name is unknown, or a value is out of bounds.
    """
    env_file = Environment.model_config.get("env_file")
    in_file = dotenv_values(env_file) if isinstance(env_file, Path) and env_file.exists() else {}
    _refuse_unknown_names({*os.environ, *in_file})
    try:
        return Environment()
    except ValidationError as error:
        raise SettingsError(_explain(error)) from None


def _refuse_unknown_names(names: Iterable[str]) -> None:
    known = Environment.names()
    for name in sorted(names):
        upper = name.upper()
        if upper.startswith("MEMORY_") and upper not in known and not upper.startswith(TEST_PREFIX):
            raise SettingsError(f"{name} is not a setting; docs/settings.md lists those there are")


def _explain(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    name = str(problem["loc"][0]).upper()
    shown = "" if name in SECRETS else f" (got {problem['input']!r})"
    return f"{name}: {problem['msg']}{shown}"


def database_settings(url: str) -> dict[str, Any]:
    """Turn ``DATABASE_URL`` into an entry of Django's ``DATABASES``.

    Raises:
        SettingsError: The URL is neither of the two forms we run on.
    """
    parts = urlsplit(url)
    if parts.scheme == "sqlite" and not parts.netloc and len(parts.path) > 1:
        return _sqlite(BASE_DIR / unquote(parts.path[1:]))
    if parts.scheme == "oracle" and parts.hostname and parts.username and len(parts.path) > 1:
        return _oracle(url)
    raise SettingsError(
        "DATABASE_URL: use sqlite:///folder/file.sqlite3 (four slashes for an absolute path) "
        "or oracle://user:password@host:1521/service"
    )


def _sqlite(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": 60,
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
            "PRAGMA foreign_keys=ON; PRAGMA secure_delete=ON;",
        },
    }


def _oracle(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    try:
        port = parts.port or 1521
        pool = {name: int(value) for name, value in parse_qsl(parts.query, strict_parsing=False)}
    except ValueError:
        raise SettingsError("DATABASE_URL: the port and pool sizes must be numbers") from None
    if unknown := set(pool) - {"min", "max"}:
        raise SettingsError(f"DATABASE_URL: unknown option {min(unknown)!r}; use min or max")
    return {
        "ENGINE": "django.db.backends.oracle",
        "NAME": f"{parts.hostname}:{port}{parts.path}",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        # The driver's pool replaces Django's kept connections; it refuses CONN_MAX_AGE.
        "CONN_MAX_AGE": 0,
        "OPTIONS": {"pool": {"min": 1, "max": 8} | pool},
    }
