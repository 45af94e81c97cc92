"""What a store's upkeep takes and gives: scopes of dumps, reports of restores and checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from oracleagentmemory.apis.validation import check_id
from oracleagentmemory.errors import InvalidInputError

#: Ids that one scope may name; databases limit the parameters of a statement.
MAX_SCOPE_IDS = 5000


@dataclass(frozen=True, kw_only=True)
class DumpScope:
    """Which records a dump holds: all that any of the three names.

    Attributes:
        user_ids: Profiles of these users, the threads they own or speak in, and their records.
        thread_ids: These threads with everything in them, whoever it belongs to.
        record_ids: Records with these ids; a thread comes whole, a message with its images, a
            memory with its relations.
    """

    user_ids: Collection[str] = ()
    thread_ids: Collection[str] = ()
    record_ids: Collection[str] = ()

    def __post_init__(self) -> None:
        for name in ("user_ids", "thread_ids", "record_ids"):
            ids = getattr(self, name)
            if isinstance(ids, str) or not isinstance(ids, Collection):
                raise InvalidInputError(f"{name} must be a list of ids, not {ids!r:.80}")
            checked = sorted({check_id(one, name) for one in ids})
            object.__setattr__(self, name, tuple(checked))
        count = len(self.user_ids) + len(self.thread_ids) + len(self.record_ids)
        if count > MAX_SCOPE_IDS:
            raise InvalidInputError(
                f"a dump's scope names {count} ids and may name {MAX_SCOPE_IDS}; make several "
                "dumps, or one of the whole store"
            )


@dataclass(frozen=True)
class RestoreReport:
    """What a restore did.

    Attributes:
        rows: Restored rows by table.
        new_ids: With `ids="new"`, the new id of each old one by kind of record.
        left_out: Rows by table that could not be restored: relations and sources whose other
            end does not exist, and what the store has no table for; with `ids="new"` profiles of
            actors that have one, and the log of changes, which belongs to the originals.
    """

    rows: Mapping[str, int]
    new_ids: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """Faults of one sort.

    Attributes:
        code: Names the sort, such as `orphan_chunks`.
        meaning: What is wrong, in words that follow a count.
        count: How many there are.
        examples: What the first few concern.
        repairable: Whether `repair` puts it right.
    """

    code: str
    meaning: str
    count: int
    examples: tuple[str, ...]
    repairable: bool


@dataclass(frozen=True)
class CheckReport:
    """What `check` found."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


@dataclass(frozen=True)
class ReembedProgress:
    """How far a re-embedding is: chunks of text with a new vector, and all of them."""

    done: int
    total: int


@dataclass(frozen=True)
class ReembedReport:
    """What a finished re-embedding has changed.

    Attributes:
        chunks: Chunks that have a new vector.
        cleared: Chunks without text whose vector had been given by a caller; nothing can make it
            anew, so they have none any more.
        dimension: Numbers per vector now.
        embedder_id: The embedder the vectors come from now.
    """

    chunks: int
    cleared: int
    dimension: int
    embedder_id: str | None
