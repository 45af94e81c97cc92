"""Errors of the SDK.

Each error is an :class:`AgentMemoryError` and also the built-in that the documentation names::

    AgentMemoryError
    |- InvalidInputError (ValueError)     an argument cannot be accepted; nothing was changed
    |  |- ConflictError                   the stored record is not the one the caller saw
    |  |- DuplicateIdError                a record with this id exists already
    |  |- DimensionMismatchError          a vector has another dimension than the store
    |  `- EmbedderMismatchError           the store was filled by another embedder
    |- WrongTypeError (TypeError)         an argument has the wrong type
    |- NotFoundError (KeyError)           no such record is visible here
    |- MissingFieldError (KeyError)       a mapping lacks a field
    |- AccessDeniedError (PermissionError)
    |- WaitTimeoutError (TimeoutError)    a wait ran out of time; nothing was deleted
    |- StateError (RuntimeError)          not allowed in the present state
    |- RetryableError (RuntimeError)      may succeed when repeated
    |- StoreUnavailableError (RuntimeError)
    |- ModelError (RuntimeError)          a model refused a request, or answered with nonsense
    |- ModelAnswerError (ValueError)      a model's answer is not what it was asked for
    `- NotYetError (NotImplementedError)  a documented capability that this version lacks
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AccessDeniedError",
    "AgentMemoryError",
    "ConflictError",
    "DimensionMismatchError",
    "DuplicateIdError",
    "EmbedderMismatchError",
    "InvalidInputError",
    "MissingFieldError",
    "ModelAnswerError",
    "ModelError",
    "NotFoundError",
    "NotYetError",
    "RetryableError",
    "StateError",
    "StoreUnavailableError",
    "WaitTimeoutError",
    "WrongTypeError",
]


class AgentMemoryError(Exception):
    """Root of every error that the SDK raises; ``code`` is stable across releases."""

    code: ClassVar[str] = "agent_memory_error"


class InvalidInputError(AgentMemoryError, ValueError):
    """An argument cannot be accepted; nothing was read or changed."""

    code: ClassVar[str] = "invalid_input"


class ConflictError(InvalidInputError):
    """The stored record has changed since the caller read it (``if_fingerprint``)."""

    code: ClassVar[str] = "fingerprint_mismatch"


class DuplicateIdError(InvalidInputError):
    """A record with this id exists already."""

    code: ClassVar[str] = "duplicate_id"


class DimensionMismatchError(InvalidInputError):
    """A vector has another dimension than the store's."""

    code: ClassVar[str] = "dimension_mismatch"


class EmbedderMismatchError(InvalidInputError):
    """The store's vectors come from another embedder than the one in use."""

    code: ClassVar[str] = "embedder_mismatch"


class WrongTypeError(AgentMemoryError, TypeError):
    """An argument has the wrong type."""

    code: ClassVar[str] = "wrong_type"


class NotFoundError(AgentMemoryError, KeyError):
    """No record with this id is visible in the caller's scope."""

    code: ClassVar[str] = "not_found"

    def __str__(self) -> str:
        # KeyError shows the repr of its argument: a message would come out in quotes.
        return str(self.args[0]) if self.args else ""


class MissingFieldError(AgentMemoryError, KeyError):
    """A mapping given by the caller lacks a field."""

    code: ClassVar[str] = "missing_field"

    __str__ = NotFoundError.__str__


class AccessDeniedError(AgentMemoryError, PermissionError):
    """The caller may not do this."""

    code: ClassVar[str] = "access_denied"


class WaitTimeoutError(AgentMemoryError, TimeoutError):
    """A wait ran out of time."""

    code: ClassVar[str] = "wait_timeout"


class StateError(AgentMemoryError, RuntimeError):
    """Not allowed in the present state (closed client, open transaction, read-only store)."""

    code: ClassVar[str] = "wrong_state"


class RetryableError(AgentMemoryError, RuntimeError):
    """The same call may succeed when it is made again.

    Attributes:
        retry_after: Seconds to wait before that, if the other side named them.
    """

    code: ClassVar[str] = "retryable"

    def __init__(self, *args: object, retry_after: float | None = None) -> None:
        super().__init__(*args)
        self.retry_after = retry_after


class StoreUnavailableError(AgentMemoryError, RuntimeError):
    """The store's database cannot be reached or read."""

    code: ClassVar[str] = "store_unavailable"


class ModelError(AgentMemoryError, RuntimeError):
    """A language or embedding model refused a request; the same one would be refused again."""

    code: ClassVar[str] = "model_failed"


class ModelAnswerError(AgentMemoryError, ValueError):
    """A model answered, but not with what the SDK asked for; another answer may serve."""

    code: ClassVar[str] = "model_answer"


class NotYetError(AgentMemoryError, NotImplementedError):
    """A documented capability that this version does not have."""

    code: ClassVar[str] = "not_yet"
