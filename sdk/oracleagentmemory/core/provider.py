"""One model behind LiteLLM: how it is reached, and what its errors mean."""

from __future__ import annotations

import email.utils
import importlib
import json
import os
import re
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, given
from oracleagentmemory.apis.validation import check_text
from oracleagentmemory.errors import AgentMemoryError, InvalidInputError, ModelError, RetryableError

#: LiteLLM's default of 6,000 s would hold a worker for the whole of a provider's bad day.
DEFAULT_TIMEOUT_S = 120.0
_LONGEST_REASON = 300
_RETRYABLE = frozenset({408, 409, 425, 429})
_SECRET_NAMES = re.compile(r"key|token|secret|password|credential|authorization", re.IGNORECASE)
#: What LiteLLM puts before the provider's own words.
_WRAPPING = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception)(?:: | - ))+")
_SECRET_SHAPES = re.compile(r"\b(?:sk|pk|gsk|xai|hf)[-_][\w*.-]{6,}|\bBearer\s+\S+", re.IGNORECASE)


def load_litellm() -> Any:
    """Import LiteLLM, at the first request and never earlier; it then reaches no network.

    Without these variables its import downloads a price table, and reads whatever ``.env`` file it
    finds into the environment. What the environment says already stays.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    litellm: Any = importlib.import_module("litellm")
    # Else every failed request prints an invitation to report it on standard output.
    litellm.suppress_debug_info = True
    return litellm


@dataclass(frozen=True, kw_only=True)
class Transport:
    """Certificates and proxy of a connection; ``None`` is the default of the HTTP client.

    Raises:
        InvalidInputError: A file cannot be used, or a key comes without its certificate.
    """

    key_file: str | None = None
    cert_file: str | None = None
    ca_file: str | None = None
    proxy: str | None = None
    trust_env: bool = True
    _tls: ssl.SSLContext = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.key_file and not self.cert_file:
            raise InvalidInputError("key_file needs cert_file")
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            if self.cert_file:
                context.load_cert_chain(self.cert_file, self.key_file)
        except (OSError, ssl.SSLError) as exc:
            raise InvalidInputError(
                f"key_file, cert_file or ca_file cannot be used: {exc}"
            ) from exc
        object.__setattr__(self, "_tls", context)

    def http_client(self) -> Any:
        """Make the HTTP client; the caller keeps it."""
        client = importlib.import_module("httpx").Client
        return client(verify=self._tls, proxy=self.proxy, trust_env=self.trust_env)


def make_transport(
    key_file: Maybe[str | None],
    cert_file: Maybe[str | None],
    ca_file: Maybe[str | None],
    proxy: Maybe[str | None],
    trust_env: Maybe[bool],
) -> Transport | None:
    """Return the transport of an `Llm` or `Embedder`, ``None`` when nothing was given."""
    arguments = (key_file, cert_file, ca_file, proxy, trust_env)
    if all(argument is NOT_SET_MARKER or argument is None for argument in arguments):
        return None
    return Transport(
        key_file=given(key_file, None),
        cert_file=given(cert_file, None),
        ca_file=given(ca_file, None),
        proxy=given(proxy, None),
        trust_env=given(trust_env, True),
    )


class Provider:
    """Sends requests for one model and translates what goes wrong. Thread-safe."""

    def __init__(
        self,
        model: str,
        api_base: Maybe[str | None],
        api_key: Maybe[str | None],
        transport: Transport | None,
        default_kwargs: Mapping[str, Any],
    ) -> None:
        if not check_text(model, "model").strip():
            raise InvalidInputError("model must name a LiteLLM model, such as openai/gpt-4o-mini")
        self.model = model
        self._api_base = given(api_base, None)
        self._api_key = given(api_key, None)
        self._transport = transport
        self._defaults = {"timeout": DEFAULT_TIMEOUT_S, "max_retries": 0, **default_kwargs}
        self._lock = threading.Lock()
        self._client: Any = None

    def request(self, function: str, model: str, **arguments: Any) -> Any:
        """Call a function of LiteLLM; later arguments win over the defaults.

        Raises:
            RetryableError: Busy, unreachable, too slow, or the answer was cut off.
            ModelError: The provider refuses the request.
            InvalidInputError: A transport was given that the provider's client cannot use.
        """
        litellm = load_litellm()
        options = {**self._defaults, **arguments}
        try:
            options = {**options, **self._reach(litellm, model)}
            return getattr(litellm, function)(model=model, **options)
        except AgentMemoryError:
            raise
        except Exception as exc:  # noqa: BLE001 - LiteLLM promises no common class
            raise self.failed(exc, options) from self._shown_cause(exc, options)

    def failed(self, exc: Exception, options: Mapping[str, Any]) -> AgentMemoryError:
        """Return our error for one of LiteLLM's; it holds no secret."""
        options = {**self._defaults, **options}
        status = getattr(exc, "status_code", None)
        name = type(exc).__name__
        if "Timeout" in name:
            return RetryableError(f"{self.model} did not answer in {options.get('timeout')} s")
        if status == 429:
            wait = _retry_after(exc)
            hint = "" if wait is None else f"; it asks to wait {wait:g} s"
            return RetryableError(f"{self.model} is busy (429){hint}", retry_after=wait)
        if status in (401, 403):
            # Providers repeat the key here, shortened in ways that no pattern knows.
            return ModelError(f"{self.model} refuses the key or the permission ({status})")
        # LiteLLM gives what happened on the way the status 500; the chain tells it apart.
        if any(type(link).__name__ == "APIConnectionError" for link in _chain(exc)):
            return RetryableError(f"{self.model} could not be reached, or hung up")
        if any(isinstance(link, json.JSONDecodeError) for link in _chain(exc)):
            return RetryableError(f"{self.model} answered with a body that is not JSON")
        reason = self._reason(exc, options)
        if isinstance(status, int) and (status >= 500 or status in _RETRYABLE):
            wait = _retry_after(exc)
            return RetryableError(f"{self.model} failed ({status}): {reason}", retry_after=wait)
        return ModelError(f"{self.model} refused the request ({status or name}): {reason}")

    def _reach(self, litellm: Any, model: str) -> dict[str, Any]:
        """Return the arguments that say where and as whom."""
        reach = {"api_base": self._api_base, "api_key": self._api_key}
        _, provider, _, _ = litellm.get_llm_provider(model=model, **reach)
        if provider == "openai" and "/responses/" not in model:
            return {**reach, "client": self._openai_client()}
        if self._transport is not None:
            raise InvalidInputError(
                "key_file, cert_file, ca_file, proxy and trust_env work with models named "
                f"openai/… and chat completions, not with {model}"
            )
        return {name: value for name, value in reach.items() if value is not None}

    def _openai_client(self) -> Any:
        # A client of our own takes our transport, and as few retries as asked.
        with self._lock:
            if self._client is None:
                base = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
                transport = self._transport
                self._client = _client_class(self._defaults["max_retries"])(
                    api_key=self._api_key,
                    base_url=self._api_base or base,
                    http_client=None if transport is None else transport.http_client(),
                )
            return self._client

    def _reason(self, exc: BaseException, options: Mapping[str, Any]) -> str:
        # LiteLLM puts whole tracebacks, paths of this machine included, into some of its texts.
        text = str(exc).partition("Traceback (most recent call last)")[0]
        text = " ".join(self._redacted(text, options).split())
        text = _WRAPPING.sub("", text)
        return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"

    def _shown_cause(self, exc: BaseException, options: Mapping[str, Any]) -> BaseException | None:
        """Return the cause for tracebacks, unless one of its texts holds a secret."""
        texts = map(str, _chain(exc))
        return exc if all(self._redacted(text, options) == text for text in texts) else None

    def _redacted(self, text: str, options: Mapping[str, Any]) -> str:
        for secret in sorted(self._secrets(options), key=len, reverse=True):
            text = text.replace(secret, "[secret]")
        return _SECRET_SHAPES.sub("[secret]", text)

    def _secrets(self, options: Mapping[str, Any]) -> set[str]:
        named = [*os.environ.items(), *options.items()]
        named += (options.get("extra_headers") or {}).items()
        found = {str(value) for name, value in named if _SECRET_NAMES.search(name)}
        for url in (self._api_base, self._transport and self._transport.proxy):
            found |= set(re.findall(r"//([^/@]+)@", url or ""))
        found.add(self._api_key or "")
        # Shorter ones would blacken ordinary words (max_tokens=5).
        return {value for value in found if len(value) >= 8}


def _client_class(retries: int) -> Any:
    """Return OpenAI's client with a fixed number of retries: LiteLLM turns 0 into 2."""
    openai: Any = importlib.import_module("openai")
    fixed = property(lambda client: retries, lambda client, value: None)
    return type("OpenAI", (openai.OpenAI,), {"max_retries": fixed})


def _chain(exc: BaseException) -> Iterator[BaseException]:
    """Walk from an exception to the one that began it."""
    link: BaseException | None = exc
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _retry_after(exc: BaseException) -> float | None:
    """Return the seconds of a ``Retry-After`` header, a number or a date."""
    response = getattr(exc, "response", None)
    headers = getattr(response, "headers", None) or getattr(exc, "litellm_response_headers", None)
    value = (headers or {}).get("retry-after")
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if seconds < 86_400 else 86_400.0
