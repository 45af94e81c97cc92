"""Errors are both ours and the built-in that the pages name, and the marker is one object."""

from __future__ import annotations

import copy
import pickle

import pytest

from oracleagentmemory import errors
from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker, given
from oracleagentmemory.core.deepsec import OracleMemoryEndUserSecurityContext
from oracleagentmemory.core.embedders import OracleDBEmbedder

BUILT_INS = {
    errors.InvalidInputError: ValueError,
    errors.ConflictError: ValueError,
    errors.DuplicateIdError: ValueError,
    errors.DimensionMismatchError: ValueError,
    errors.EmbedderMismatchError: ValueError,
    errors.WrongTypeError: TypeError,
    errors.NotFoundError: KeyError,
    errors.MissingFieldError: KeyError,
    errors.AccessDeniedError: PermissionError,
    errors.WaitTimeoutError: TimeoutError,
    errors.StateError: RuntimeError,
    errors.RetryableError: RuntimeError,
    errors.StoreUnavailableError: RuntimeError,
    errors.ModelAnswerError: ValueError,
    errors.ModelError: RuntimeError,
    errors.NotYetError: NotImplementedError,
}


@pytest.mark.parametrize(("kind", "built_in"), BUILT_INS.items(), ids=lambda one: one.__name__)
def test_an_error_is_caught_as_ours_and_as_the_documented_built_in(
    kind: type[errors.AgentMemoryError], built_in: type[Exception]
) -> None:
    assert issubclass(kind, errors.AgentMemoryError)
    assert issubclass(kind, built_in)
    assert str(kind("memory 'x' is gone")) == "memory 'x' is gone"


def test_every_error_is_listed_and_has_a_code_of_its_own() -> None:
    assert {kind.__name__ for kind in BUILT_INS} | {"AgentMemoryError"} == set(errors.__all__)
    codes = [kind.code for kind in BUILT_INS]
    assert len(set(codes)) == len(codes)


def test_the_marker_of_an_omitted_argument_stays_one_object() -> None:
    assert copy.deepcopy(NOT_SET_MARKER) is NOT_SET_MARKER
    assert pickle.loads(pickle.dumps(NOT_SET_MARKER)) is NOT_SET_MARKER
    assert _NotSetMarker() is NOT_SET_MARKER
    assert repr(NOT_SET_MARKER) == "NOT_SET"


def test_given_tells_an_explicit_none_from_an_omitted_argument() -> None:
    assert given(NOT_SET_MARKER, 5) == 5
    assert given(None, 5) is None


def test_what_a_later_version_brings_says_so() -> None:
    with pytest.raises(errors.NotYetError, match="LocalEmbedder"):
        OracleDBEmbedder(connection=object(), model="DOC_MODEL", embedding_dimension=768)
    with pytest.raises(errors.NotYetError, match="NO_CHECK"):
        OracleMemoryEndUserSecurityContext(object())
