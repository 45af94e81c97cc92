"""Django's settings, derived from the deployment's settings in ``environment.py``."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from celery.schedules import crontab
from csp.constants import NONE, SELF

from memoryapp.environment import BASE_DIR, SettingsError, database_settings, load_environment


def _make_private_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"MEMORY_VAR_DIR: cannot create {path}: {error.strerror}") from error


def _kept_secret_key(path: Path) -> str:
    """Read the key, or make it: several processes may start at once, so the first link wins."""
    try:
        if not path.exists():
            descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix="secret_key.")
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(50))
            with suppress(FileExistsError):
                os.link(draft, path)
            Path(draft).unlink()
        return path.read_text()
    except OSError as error:
        raise SettingsError(f"MEMORY_VAR_DIR: cannot use {path}: {error.strerror}") from error


try:
    ENVIRONMENT = load_environment()
    VAR_DIR = ENVIRONMENT.memory_var_dir
    _make_private_folder(VAR_DIR)
    if ENVIRONMENT.django_secret_key is not None:
        SECRET_KEY = ENVIRONMENT.django_secret_key.get_secret_value()
    else:
        SECRET_KEY = _kept_secret_key(VAR_DIR / "secret_key")
    _database_url = ENVIRONMENT.database_url
    DATABASES = {
        "default": database_settings(
            _database_url.get_secret_value()
            if _database_url is not None
            else f"sqlite:///{VAR_DIR / 'memory.sqlite3'}"
        )
    }
except SettingsError as error:
    # Every way of starting the product imports this module: one line serves them all.
    raise SystemExit(f"memoryapp: {error}") from None

DEBUG = ENVIRONMENT.django_debug
ALLOWED_HOSTS = ENVIRONMENT.django_allowed_hosts
DATA_UPLOAD_MAX_MEMORY_SIZE = ENVIRONMENT.memory_max_body_bytes
# Django counts no file into the bound above, and would write each to a temporary folder.
FILE_UPLOAD_MAX_MEMORY_SIZE = ENVIRONMENT.memory_max_body_bytes
FILE_UPLOAD_HANDLERS = ["memoryapp.uploads.BoundedUploadHandler"]

MEMORY_EMBEDDER = ENVIRONMENT.memory_embedder
MEMORY_EMBEDDER_API_BASE = ENVIRONMENT.memory_embedder_api_base
# Stays wrapped: pages and logs that list settings show no secret.
MEMORY_EMBEDDER_API_KEY = ENVIRONMENT.memory_embedder_api_key
MEMORY_LLM = ENVIRONMENT.memory_llm
MEMORY_LLM_API_BASE = ENVIRONMENT.memory_llm_api_base
MEMORY_LLM_API_KEY = ENVIRONMENT.memory_llm_api_key
MEMORY_LLM_VISION = ENVIRONMENT.memory_llm_vision
MEMORY_LLM_TIMEOUT_S = ENVIRONMENT.memory_llm_timeout_s
MEMORY_LLM_CONCURRENCY = ENVIRONMENT.memory_llm_concurrency
MEMORY_LLM_JOB_TOKENS = ENVIRONMENT.memory_llm_job_tokens
MEMORY_LLM_USER_DAILY_TOKENS = ENVIRONMENT.memory_llm_user_daily_tokens
MEMORY_LLM_DAILY_TOKENS = ENVIRONMENT.memory_llm_daily_tokens
MEMORY_JOB_LEASE_S = ENVIRONMENT.memory_job_lease_s
MEMORY_JOB_TIME_LIMIT_S = ENVIRONMENT.memory_job_time_limit_s
MEMORY_JOB_RETRIES = ENVIRONMENT.memory_job_retries
MEMORY_DELETE_WAIT_S = ENVIRONMENT.memory_delete_wait_s
MEMORY_SWEEP_INTERVAL_S = ENVIRONMENT.memory_sweep_interval_s
MEMORY_SEARCH_STRATEGY = ENVIRONMENT.memory_search_strategy
MEMORY_SCHEMA_POLICY = ENVIRONMENT.memory_schema_policy
# Each web process and the worker keep vectors of their own.
MEMORY_VECTOR_CACHE_BYTES = ENVIRONMENT.memory_vector_cache_bytes // (
    ENVIRONMENT.memory_web_processes + 1
)

INSTALLED_APPS = [
    "memoryapp.apps.MemoryAppConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "axes",
]

MIDDLEWARE = [
    "memoryapp.api.problems.ProblemMiddleware",
    "memoryapp.middleware.NoStoreMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "memoryapp.middleware.FormEncodingMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "memoryapp.middleware.SignInMiddleware",
    "memoryapp.middleware.PersonMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
    "memoryapp.middleware.ErrorPageMiddleware",
]

ROOT_URLCONF = "memoryapp.urls"
WSGI_APPLICATION = "memoryapp.wsgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "memoryapp.Person"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"

AXES_VERBOSE = False
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_RESET_ON_SUCCESS = True
# By address alone, one person's typing errors would lock out everybody behind the same proxy.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
# Cookies know no ports: by Django's names, two sites on a machine would end each other's logins.
SESSION_COOKIE_NAME = "memory_login"
CSRF_COOKIE_NAME = "memory_csrf"
SESSION_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = ENVIRONMENT.django_csrf_trusted_origins
if ENVIRONMENT.django_https:
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$"]
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LANGUAGE_CODE = ENVIRONMENT.django_language_code
LANGUAGES = [
    ("en", "English"),
    ("ja", "日本語"),
    ("es", "Español"),
    ("zh-hans", "简体中文"),
]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = ENVIRONMENT.django_time_zone
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

_broker_url = ENVIRONMENT.celery_broker_url
if _broker_url is not None:
    CELERY_BROKER_URL = _broker_url.get_secret_value()
    # A request sends a hint: it must not wait for a broker that is away, nor try for ever.
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
        "socket_connect_timeout": 1,
        "socket_timeout": 5,
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.1,
        "interval_max": 0.1,
    }
else:
    CELERY_BROKER_URL = "filesystem://localhost//"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "folder": str(VAR_DIR / "broker"),
        # The default of 1 s lets a threads pool take one task a second and thread.
        "polling_interval": 0.1,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE = {
    "purge-expired": {
        "task": "memoryapp.purge_expired",
        "schedule": ENVIRONMENT.memory_purge_interval_s,
        # A worker that was away finds one hint, not hundreds.
        "options": {"expires": ENVIRONMENT.memory_purge_interval_s},
    },
    "sweep-jobs": {
        "task": "memoryapp.sweep_jobs",
        "schedule": ENVIRONMENT.memory_sweep_interval_s,
        "options": {"expires": ENVIRONMENT.memory_sweep_interval_s},
    },
    "check-store": {
        "task": "memoryapp.check_store",
        "schedule": crontab(hour=str(ENVIRONMENT.memory_check_hour), minute="0"),
        "options": {"expires": 3600},
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        **{
            name: {"level": ENVIRONMENT.django_log_level}
            for name in ("memoryapp", "oracleagentmemory", "django")
        },
        # Scanners send any host name; each would be a traceback in the log.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
