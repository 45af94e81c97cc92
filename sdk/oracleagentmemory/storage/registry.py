"""The registry row of a store: what it was created with, read when it is opened."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from oracleagentmemory.errors import (
    DimensionMismatchError,
    EmbedderMismatchError,
    InvalidInputError,
    RetryableError,
    StateError,
)
from oracleagentmemory.storage.constructs import utc_now
from oracleagentmemory.storage.extras import EXTRAS_VERSION
from oracleagentmemory.storage.layout import SCHEMA_VERSION, ManagedTables
from oracleagentmemory.storage.retention import Retention

UNPREFIXED_NAME = "__UNPREFIXED_DEFAULT__"
_STORE_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,15}")
REEMBED_COMMAND = "manage.py memory_reembed"
#: Our part of the row's JSON is below its optional application key `attributes`.
_VERSION = "sdk_tables_version"
_REEMBEDDING = "reembedding"


def check_store_id(memory_store_id: str | None) -> str | None:
    """Return a store id in its stored, upper-case form.

    Raises:
        InvalidInputError: If it is not a letter with up to 15 letters, digits or underscores.
    """
    if memory_store_id is None:
        return None
    if not isinstance(memory_store_id, str) or not _STORE_ID.fullmatch(memory_store_id):
        raise InvalidInputError(
            "memory_store_id must be a letter followed by at most 15 letters, digits or "
            f"underscores, not {memory_store_id!r:.80}"
        )
    return memory_store_id.upper()


def check_vector_dim(vector_dim: object) -> int | None:
    """Return a `vector_dim` argument.

    Raises:
        InvalidInputError: If it is no positive number.
    """
    if vector_dim is None:
        return None
    if isinstance(vector_dim, bool) or not isinstance(vector_dim, int) or vector_dim < 1:
        raise InvalidInputError(f"vector_dim must be a positive number, not {vector_dim!r:.80}")
    return vector_dim


def store_name(memory_store_id: str | None) -> str:
    """Return the name a store has in the registry."""
    return UNPREFIXED_NAME if memory_store_id is None else memory_store_id


def table_prefix(memory_store_id: str | None) -> str:
    """Return the prefix of a store's tables."""
    return "" if memory_store_id is None else f"{memory_store_id.lower()}_"


@dataclass(frozen=True)
class Reembedding:
    """A re-embedding that has begun and is not finished.

    Attributes:
        run: Names the process at work; another one that goes on with it takes another name.
        embedder_id: The new embedder, None when it has no name.
        dimension: Numbers per new vector.
        started_at: ISO-8601.
    """

    run: str
    embedder_id: str | None
    dimension: int
    started_at: str


@dataclass(frozen=True)
class StoreConfig:
    """A registry row.

    Attributes:
        incarnation: The row's random name, 32 hexadecimal digits.
        dimension: Numbers per vector; None until the first vector is stored.
        embedder_id: Name of the embedder the vectors come from; None when it has none.
        retention: Rules for the life of records.
        saved: The stored JSON as it is.
    """

    incarnation: str
    lifecycle_state: str
    schema_version: str
    saved: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dimension(self) -> int | None:
        dimension = self.saved.get("embedding_dimension")
        return None if dimension is None else int(dimension)

    @property
    def embedder_id(self) -> str | None:
        embedder_id: str | None = (self.saved.get("embedding") or {}).get("embedder_id")
        return embedder_id

    @property
    def retention(self) -> Retention:
        return Retention.of_saved(self.saved.get("memory_retention_config"))

    @property
    def indexing_mode(self) -> str:
        return str(self.saved.get("record_chunks_indexing_mode", "vector"))

    @property
    def extras_version(self) -> int | None:
        """The layout of the SDK-only tables; None when the row does not say."""
        version: int | None = self._attributes.get(_VERSION)
        return version

    @property
    def reembedding(self) -> Reembedding | None:
        """The re-embedding under way; writes are refused while there is one."""
        noted = self._attributes.get(_REEMBEDDING)
        return None if noted is None else Reembedding(**noted)

    @property
    def _attributes(self) -> Mapping[str, Any]:
        return self.saved.get("attributes") or {}

    def with_vectors(self, dimension: int, embedder_id: str | None) -> StoreConfig:
        """Return the row as it is once vectors of a dimension and embedder are stored."""
        saved = {**self.saved, "embedding_dimension": dimension}
        embedding = {**(saved.pop("embedding", None) or {}), "embedder_id": embedder_id}
        if embedder_id is None:
            del embedding["embedder_id"]
        if embedding:
            saved["embedding"] = embedding
        return replace(self, saved=saved)

    def with_text_index(self, index_sync: str) -> StoreConfig:
        """Return the row of a store whose chunks have a text index."""
        index = {"record_chunks_indexing_mode": "keyword", "search_index_sync": index_sync}
        return replace(self, saved={**self.saved, **index})

    def with_extras_version(self, version: int) -> StoreConfig:
        """Return the row with a layout of the SDK-only tables."""
        return self._with_attribute(_VERSION, version)

    def with_reembedding(self, reembedding: Reembedding | None) -> StoreConfig:
        """Return the row with a re-embedding begun, or with none under way."""
        noted = None if reembedding is None else asdict(reembedding)
        state = "CREATED" if reembedding is None else "UPGRADING"
        return replace(self._with_attribute(_REEMBEDDING, noted), lifecycle_state=state)

    def _with_attribute(self, name: str, value: Any) -> StoreConfig:
        attributes = {**self._attributes, name: value}
        if value is None:
            del attributes[name]
        saved = {key: one for key, one in self.saved.items() if key != "attributes"}
        return replace(self, saved={**saved, "attributes": attributes} if attributes else saved)

    def check_state(self) -> None:
        """Refuse a store that this version cannot work on, whatever the schema policy.

        Raises:
            StateError: If a newer version made or upgraded it, an older one did that the
                reference has to upgrade, or its making was never finished.
        """
        if _number(self.schema_version) > int(SCHEMA_VERSION):
            self._refuse_newer("schema version", self.schema_version, SCHEMA_VERSION)
        if (self.extras_version or 0) > EXTRAS_VERSION:
            self._refuse_newer("SDK-only tables of layout", self.extras_version, EXTRAS_VERSION)
        if self.schema_version != SCHEMA_VERSION:
            raise StateError(
                f"the store has schema version {self.schema_version}, and this version of the "
                f"SDK knows {SCHEMA_VERSION}; upgrade it first with the reference's own command, "
                "oam upgrade-memory-store"
            )
        if self.lifecycle_state != "CREATED" and self.reembedding is None:
            raise StateError(
                f"the store is in state {self.lifecycle_state}: what it was about was not "
                "finished; wait for it, restore a backup, or start anew with "
                "schema_policy=RECREATE"
            )

    def _refuse_newer(self, what: str, found: object, known: object) -> None:
        raise StateError(
            f"the store has {what} {found} and this version of the SDK knows {known}: it was "
            "made by a newer version; update the software"
        )

    def refuse_writes(self) -> None:
        """Refuse a change while the store is being re-embedded, or is no longer whole.

        Raises:
            RetryableError: Until the re-embedding is finished or given up.
            StateError: If the store is in a state that no change may meet.
        """
        if self.lifecycle_state == "CREATED":
            return
        if self.reembedding is not None:
            raise RetryableError(
                "the store is being re-embedded, and changes have to wait (since "
                f"{self.reembedding.started_at}); searches still answer. Should the command have "
                f"been interrupted: {REEMBED_COMMAND} goes on with it, --abort gives it up"
            )
        self.check_state()

    def check_vectors(self, dimension: int, embedder_id: str | None) -> None:
        """Refuse vectors that cannot be compared with the stored ones.

        Raises:
            DimensionMismatchError: If they have another dimension.
            EmbedderMismatchError: If both sides name their embedder and the names differ.
        """
        if self.dimension is not None and self.dimension != dimension:
            raise DimensionMismatchError(
                f"this store holds vectors of {self.dimension} numbers and the embedder makes "
                f"{dimension}; use the embedder it was filled with, or run {REEMBED_COMMAND}"
            )
        self.check_embedder(embedder_id)

    def check_embedder(self, embedder_id: str | None) -> None:
        """Refuse an embedder of another name than the store's; unnamed ones pass.

        Raises:
            EmbedderMismatchError: If both sides have a name and the names differ.
        """
        if self.embedder_id and embedder_id and self.embedder_id != embedder_id:
            raise EmbedderMismatchError(
                f"this store's vectors were made by {self.embedder_id!r} and the embedder in use "
                f"is {embedder_id!r}; use the former, or run {REEMBED_COMMAND}"
            )


def new_config(
    *,
    dimension: int | None,
    embedder_id: str | None,
    retention: Retention,
    index_sync: str | None = None,
) -> dict[str, Any]:
    """Return the stored JSON of a new store: the six keys that every reader requires, and ours.

    Args:
        index_sync: When its text index takes up changes; None if it has none.
    """
    saved: dict[str, Any] = {
        "attributes": {_VERSION: EXTRAS_VERSION},
        "description": None,
        "embedding_dimension": dimension,
        "memory_retention_config": retention.to_saved(),
        "record_chunks_indexing_mode": "vector" if index_sync is None else "keyword",
        "search_index_sync": index_sync,
        "vectorizer_config": None,
    }
    if dimension is not None and embedder_id is not None:
        saved["embedding"] = {"embedder_id": embedder_id}
    return saved


class Registry:
    """Reads and writes the registry row of one store."""

    def __init__(self, tables: ManagedTables, name: str, owner: Any) -> None:
        self.table = tables.stores
        self.name = name
        self.owner = owner
        c = self.table.c
        self._mine = c.memory_store_name == name
        self._select = sa.select(
            c.memory_store_uid, c.lifecycle_state, c.schema_version, c.store_config
        ).where(self._mine)

    def read(self, connection: sa.Connection, *, locked: bool = False) -> StoreConfig | None:
        """Return the row, None when the store is not registered."""
        statement = self._select.with_for_update() if locked else self._select
        row = connection.execute(statement).first()
        return None if row is None else StoreConfig(*row)

    def insert(self, connection: sa.Connection, saved: Mapping[str, Any]) -> None:
        """Register a created store; the database gives it its random name."""
        values = {
            "owner_id": self.owner,
            "memory_store_name": self.name,
            "lifecycle_state": "CREATED",
            "schema_version": SCHEMA_VERSION,
            "store_config": dict(saved),
        }
        connection.execute(sa.insert(self.table).values(values))

    def save(self, connection: sa.Connection, saved: Mapping[str, Any]) -> None:
        """Replace the stored configuration."""
        self._update(connection, store_config=dict(saved))

    def save_state(self, connection: sa.Connection, config: StoreConfig) -> None:
        """Replace the stored configuration and the state of the store's life."""
        state, saved = config.lifecycle_state, dict(config.saved)
        self._update(connection, lifecycle_state=state, store_config=saved)

    def rename(self, connection: sa.Connection) -> None:
        """Give the store another random name: whoever cached its vectors reads them anew."""
        self._update(connection, memory_store_uid=uuid.uuid4().hex)

    def delete(self, connection: sa.Connection) -> None:
        """Let the registry forget the store."""
        connection.execute(sa.delete(self.table).where(self._mine))

    def _update(self, connection: sa.Connection, **values: Any) -> None:
        values["updated_at"] = utc_now()
        connection.execute(sa.update(self.table).where(self._mine).values(values))


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
