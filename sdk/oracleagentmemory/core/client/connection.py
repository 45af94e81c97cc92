"""From ``connection=`` to a store: a file path, a SQLite URL or connection, or an Oracle one."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from oracleagentmemory._notset import Maybe, _NotSetMarker
from oracleagentmemory.apis.embedders.embedder import IEmbedder
from oracleagentmemory.core.embedders.embedder import Embedder
from oracleagentmemory.core.oracledbmemorystore import OracleDBMemoryStore
from oracleagentmemory.core.sqlitememorystore import SQLiteMemoryStore
from oracleagentmemory.errors import InvalidInputError, WrongTypeError

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

_URL = re.compile(r"([a-z][a-z0-9+.-]*):(//.*)", re.IGNORECASE | re.DOTALL)
_ORACLE_ONLY = ("schema_owner", "table_name_prefix")


def open_store(
    connection: object, embedder: Maybe[IEmbedder | str], options: Mapping[str, Any]
) -> OracleMemoryStore:
    """Open the store behind a connection.

    Args:
        options: The store's own constructor arguments that were given.

    Raises:
        InvalidInputError: If the URL or an option does not fit the database.
        WrongTypeError: If the connection is nothing that can be opened.
    """
    model = check_embedder(embedder)
    if isinstance(connection, str | os.PathLike | sqlite3.Connection):
        refused = [name for name in _ORACLE_ONLY if name in options]
        if refused:
            raise InvalidInputError(f"{', '.join(refused)} cannot be used with a SQLite store")
        place = connection if isinstance(connection, sqlite3.Connection) else _path(connection)
        return SQLiteMemoryStore(place, embedder=model, **options)
    if not hasattr(connection, "acquire") and not hasattr(connection, "cursor"):
        raise WrongTypeError(
            "connection must be a path, a sqlite:/// URL, a sqlite3.Connection, or an oracledb "
            f"connection or pool, not {type(connection).__name__}"
        )
    return OracleDBMemoryStore(model, connection, **options)


def check_embedder(embedder: Maybe[IEmbedder | str]) -> IEmbedder | None:
    """Return the embedder object, made from the name of a LiteLLM model, or ``None``.

    Raises:
        WrongTypeError: If it is nothing that embeds.
    """
    if embedder is None or isinstance(embedder, _NotSetMarker):
        return None
    if isinstance(embedder, str):
        return Embedder(embedder)
    if not hasattr(embedder, "embed"):
        raise WrongTypeError(f"embedder must be an IEmbedder, not {type(embedder).__name__}")
    return embedder


def _path(connection: str | os.PathLike[str]) -> str | None:
    """Return the path of a file, ``None`` for a store in memory."""
    text = os.fspath(connection)
    if not isinstance(text, str) or not text:
        raise InvalidInputError("connection must not be empty, nor a path of bytes")
    url = _URL.fullmatch(text)
    path = text if url is None else _path_of_url(url[1].lower(), url[2])
    return None if path == ":memory:" else path


def _path_of_url(scheme: str, rest: str) -> str:
    if scheme != "sqlite":
        raise InvalidInputError(
            f"a {scheme}: URL cannot be opened; pass an oracledb connection or pool"
        )
    path, _, options = rest.removeprefix("///").partition("?")
    if options or not path or not rest.startswith("///"):
        raise InvalidInputError(
            "a SQLite URL is sqlite:///relative or sqlite:////absolute, without options"
        )
    return unquote(path)
