"""Records by the words in them, found through the store's keyword index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory._notset import NOT_SET_MARKER
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection.selection import Criteria
from oracleagentmemory.storage.constructs import text_matches
from oracleagentmemory.storage.textsearch import (
    fts_query_of_all,
    oracle_query_of_all,
    query_words,
    scope_token,
)
from oracleagentmemory.storage.types import LongText

if TYPE_CHECKING:
    from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore

_WORDS = sa.bindparam("words", type_=LongText())
# From here on, asking the index for each row of an ordered walk is cheaper than collecting all
# matches (measured with 100,000 memories).
_COMMON = 20_000
# Above this many, the users' words would make the query longer than the rest of the work.
_MAX_SCOPES = 32


class Texts:
    """The keyword index as a condition on records.

    The full-text table (SQLite) is asked for a user's own words alone, where the filters name
    users: its posting lists hold everybody's.
    """

    def __init__(self, store: SQLMemoryStore) -> None:
        self._store = store
        self._full_text = store.keeps_texts
        self._text = store.extras.text
        self._chunks = store.tables.record_chunks

    def worded(self, criteria: Criteria) -> Criteria:
        """Return the criteria with the query of their text; no words match nothing.

        Raises:
            InvalidInputError: If there is a text and the store has no index of texts.
        """
        if criteria.text is None:
            return criteria
        if not self._full_text:
            self._require_index()
            query = oracle_query_of_all(criteria.text)
        else:
            words = query_words(criteria.text)
            query = fts_query_of_all(words, _scopes(criteria)) if words else ""
        return replace(criteria, words=query, nothing=criteria.nothing or not query)

    def weighed(self, connection: sa.Connection, criteria: Criteria) -> Criteria:
        """Note in the criteria when very many texts hold the words."""
        if criteria.words is None or not self._full_text:
            return criteria
        binds = {"words": criteria.words, "most": _COMMON}
        count = connection.execute(self._probe(), binds).scalar_one()
        return replace(criteria, is_common=count == _COMMON)

    def found(
        self, types: tuple[str, ...]
    ) -> tuple[sa.FromClause, sa.Column[Any], list[ColumnElement[bool]]]:
        """What holds the chunks of records of these types, whose records, and the conditions.

        The conditions select the chunks with all of ``:words``.
        """
        chunk = self._chunks.c
        of_type = chunk.source_record_type.in_(types)
        if not self._full_text:
            holds_words = text_matches(chunk.chunk_text, _WORDS) > sa.literal_column("0")
            return self._chunks, chunk.source_id, [holds_words, of_type]
        joined = self._text.join(self._chunks, chunk.chunk_id == self._text.c.rowid)
        return joined, chunk.source_id, [self._matches(), of_type]

    def _require_index(self) -> None:
        if self._store.current_config().indexing_mode == "vector":
            raise InvalidInputError(
                "text cannot be looked for: this store is indexed for vector search alone; open "
                "it once with the keyword or hybrid strategy and a policy that may add the index"
            )

    def _matches(self) -> ColumnElement[bool]:
        return sa.literal_column(self._text.name).op("MATCH")(_WORDS)

    def _probe(self) -> sa.Select[Any]:
        most = sa.bindparam("most", type_=sa.Integer())
        some = sa.select(self._text.c.rowid).where(self._matches()).limit(most).subquery("some")
        return sa.select(sa.func.count()).select_from(some)


def _scopes(criteria: Criteria) -> list[str]:
    user_id = criteria.equal.get("user_id", NOT_SET_MARKER)
    if user_id is not NOT_SET_MARKER:
        return [scope_token(criteria.equal["user_id"])]
    users = criteria.user_ids or ()
    return [scope_token(one) for one in sorted(users)] if len(users) <= _MAX_SCOPES else []
