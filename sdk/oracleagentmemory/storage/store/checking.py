"""`check` and `repair`: what stands beside the records is compared with them and put right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from oracleagentmemory._threaded import threaded
from oracleagentmemory.apis.embedders.scoped import ScopedQueryEmbedder
from oracleagentmemory.apis.upkeep import CheckReport
from oracleagentmemory.storage.check import (
    COMMON_CHECKS,
    Check,
    Fault,
    MissingTokens,
    RegistryState,
)
from oracleagentmemory.storage.check_sqlite import (
    FIRST_CHECKS,
    LAST_CHECKS,
    VectorSizes,
)
from oracleagentmemory.storage.dump_reads import WHOLE_STORE
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.extras import scope_key
from oracleagentmemory.storage.fingerprints import ImageMark
from oracleagentmemory.storage.kinds import IMAGE, MEMORY, Kind
from oracleagentmemory.storage.statements import CHANGEABLE, bind, columns_of, in_lists
from oracleagentmemory.storage.store.base import StoreParts
from oracleagentmemory.storage.store.extending import chunk_scope, state_row
from oracleagentmemory.storage.store.restoring import user_of
from oracleagentmemory.storage.textsearch import index_text
from oracleagentmemory.storage.writes import Prepared


@dataclass
class _Repair:
    """One repair: its transaction, and the users whose searches see another store after it."""

    transaction: WriteTransaction
    scopes: set[str] = field(default_factory=set)

    def touch(self, chunk: Any) -> None:
        """Note whose chunk this is."""
        of_user = chunk.source_record_type == "user_profile"
        self.scopes.add(scope_key(chunk.source_id if of_user else chunk.user_id))


Faults = Sequence[Fault]


class Checking(StoreParts):
    """Finds rows that disagree with the records, and mends them."""

    def check(self) -> CheckReport:
        """Compare everything that stands beside the records with them; changes nothing.

        Reads the whole store, as of one moment.

        Returns:
            Every sort of fault found, with a count and a few examples.
        """
        findings, checks = [], self._checks()
        with self.engine.snapshot() as connection:
            for check in checks:
                finding = check.finding(connection)
                if finding is not None:
                    findings.append(finding)
                    if check.alone:
                        break
        return CheckReport(tuple(findings))

    def repair(self, report: CheckReport) -> Mapping[str, int]:
        """Put right what `check` found, in one transaction.

        Each sort of fault is looked for again under the lock, so that a report may be old.

        Returns:
            The rows put right by code; what the report calls unrepairable stays.
        """
        return self.write(self.prepare_repair(report))

    def prepare_repair(self, report: CheckReport) -> Prepared[Mapping[str, int]]:
        """Prepare what `repair` writes."""
        return Prepared(lambda transaction: {} if report.ok else self._repair(transaction))

    check_async = threaded(check)
    repair_async = threaded(repair)

    def _checks(self) -> list[Check]:
        """Return what is checked, in the order in which it is mended: numbers come first."""
        tables, extras = self.tables, self.extras
        first, last = (FIRST_CHECKS, LAST_CHECKS) if self.keeps_texts else ((), ())
        checks = [sort(tables, extras) for sort in (*first, *COMMON_CHECKS, *last)]
        if isinstance(self.embedder, ScopedQueryEmbedder) and "embedding" in tables.record_chunks.c:
            checks.append(MissingTokens(tables, extras))
        if self.keeps_texts:
            checks.append(VectorSizes(tables, extras, self.current_config().dimension))
        checks.append(RegistryState(tables, extras, self.registry))
        return [check for check in checks if self.has_extras or not check.needs_extras]

    def _repair(self, transaction: WriteTransaction) -> dict[str, int]:
        work, mended = _Repair(transaction), {}
        for check in self._checks():
            if not check.repairable:
                continue
            faults = list(check.faults(transaction.connection))
            for part in in_lists(faults):
                _MENDS[check.code](self, work, part)
            if faults:
                mended[check.code] = len(faults)
        note = {
            "record_kind": WHOLE_STORE,
            "record_id": "repair",
            "operation": "scope",
            "fingerprint": None,
        }
        if work.scopes:
            self._reserve(transaction, len(work.scopes))
            changes = [{"scope_key": key, **note} for key in sorted(work.scopes)]
            self._record_changes(transaction, changes)
        return mended

    # -- what each sort of fault needs ----------------------------------------------------------

    def _mend_sequence(self, work: _Repair, faults: Faults) -> None:
        sequence = self.extras.sequence
        work.transaction.execute(sa.delete(sequence))
        work.transaction.execute(sa.insert(sequence), [{"last": fault.row} for fault in faults])

    def _mend_orphan_chunks(self, work: _Repair, faults: Faults) -> None:
        for fault in faults:
            work.touch(fault.row)
            # A kind of its own for the type, which may be one that no record has.
            kind = Kind("chunk", "record_chunks", (fault.row.source_record_type,))
            self._drop_chunks(work.transaction, kind, "record", fault.row.source_id)

    def _mend_living_targets(self, work: _Repair, faults: Faults) -> None:
        for row in self._locked(work, MEMORY, [fault.row for fault in faults]):
            values = {name: row._mapping[name] for name in CHANGEABLE[MEMORY.name]}
            values["status"] = "invalid"
            update = self.statements.update(MEMORY)
            work.transaction.execute(update, {"id_": row.record_id, **values})
            self._note(work, MEMORY, row, values)
            source = {"of_source_id": row.record_id, "source_type": row.memory_type}
            status = {"new_status": "invalid", **source}
            work.transaction.execute(self.statements.set_chunk_status, status)

    def _mend_misplaced_chunks(self, work: _Repair, faults: Faults) -> None:
        chunks = self.tables.record_chunks
        for fault in faults:
            work.touch(fault.row)
            columns = fault.row._mapping
            right = {
                name.removeprefix("right_"): columns[name]
                for name in columns
                if name.startswith("right_")
            }
            if "user_id" in right:
                work.scopes.add(scope_key(right["user_id"]))
            mine = chunks.c.chunk_id == fault.row.chunk_id
            work.transaction.execute(sa.update(chunks).where(mine).values(right))

    def _mend_orphan_tokens(self, work: _Repair, faults: Faults) -> None:
        token = self.extras.chunk_token
        gone = token.c.chunk_id.in_([fault.row.chunk_id for fault in faults])
        work.transaction.execute(sa.delete(token).where(gone))

    def _mend_missing_tokens(self, work: _Repair, faults: Faults) -> None:
        assert isinstance(self.embedder, ScopedQueryEmbedder)  # noqa: S101 - else not looked for
        tokens = self.embedder.token_ids([fault.row.chunk_text or "" for fault in faults])
        rows = [
            {"chunk_id": fault.row.chunk_id, "token_ids": ids.astype("<u4").tobytes()}
            for fault, ids in zip(faults, tokens, strict=True)
        ]
        work.transaction.execute(self.statements.insert(self.extras.chunk_token), rows)
        for fault in faults:
            work.touch(fault.row)

    def _mend_missing_states(self, work: _Repair, faults: Faults) -> None:
        for kind in dict.fromkeys(fault.row[0] for fault in faults):
            ids = [fault.row[1] for fault in faults if fault.row[0] is kind]
            states = [state_row(kind, row) for row in self._locked(work, kind, ids)]
            work.transaction.execute(self.statements.insert(self.extras.record_state), states)

    def _mend_orphan_states(self, work: _Repair, faults: Faults) -> None:
        state = self.extras.record_state.c
        mine = (
            state.record_kind == bind("kind", state.record_kind),
            state.record_id == bind("id", state.record_id),
        )
        rows = [{"kind": fault.row.record_kind, "id": fault.row.record_id} for fault in faults]
        work.transaction.execute(sa.delete(self.extras.record_state).where(*mine), rows)

    def _mend_changed_outside(self, work: _Repair, faults: Faults) -> None:
        for kind in dict.fromkeys(fault.row[0] for fault in faults):
            ids = [fault.row[1] for fault in faults if fault.row[0] is kind]
            for row in self._locked(work, kind, ids):
                values = {"blob": self._mark(work, row.record_id)} if kind is IMAGE else {}
                self._note(work, kind, row, values)

    def _mend_orphan_sources(self, work: _Repair, faults: Faults) -> None:
        source = self.extras.source.c
        mine = (
            source.memory_id == bind("memory", source.memory_id),
            source.message_id == bind("message", source.message_id),
        )
        rows = [
            {"memory": fault.row.memory_id, "message": fault.row.message_id} for fault in faults
        ]
        work.transaction.execute(sa.delete(self.extras.source).where(*mine), rows)

    def _mend_orphan_texts(self, work: _Repair, faults: Faults) -> None:
        text = self.extras.text
        gone = text.c.rowid.in_([fault.row.chunk_id for fault in faults])
        work.transaction.execute(sa.delete(text).where(gone))

    def _mend_missing_texts(self, work: _Repair, faults: Faults) -> None:
        rows = [
            {
                "rowid": fault.row.chunk_id,
                "scope": chunk_scope(fault.row._mapping),
                "body": index_text(fault.row.chunk_text or ""),
            }
            for fault in faults
        ]
        self._insert_texts(work.transaction, rows)

    def _mend_wrong_texts(self, work: _Repair, faults: Faults) -> None:
        self._mend_orphan_texts(work, faults)
        self._mend_missing_texts(work, faults)

    def _locked(self, work: _Repair, kind: Kind, ids: list[str]) -> Sequence[Any]:
        """Lock and return the records of some ids, expired ones too."""
        table = kind.table(self.tables)
        columns = columns_of(kind, table, with_bytes=False)
        statement = sa.select(*columns).where(table.c[kind.key].in_(ids)).with_for_update()
        rows: Sequence[Any] = work.transaction.execute(statement).all()
        return rows

    def _mark(self, work: _Repair, image_id: str) -> ImageMark:
        data = work.transaction.execute(self.statements.select_bytes, {"id": image_id})
        return ImageMark.of(bytes(data.scalar_one()))

    def _note(self, work: _Repair, kind: Kind, row: Any, values: Mapping[str, Any]) -> None:
        self._reserve(work.transaction, 1)
        self._note_update(work.transaction, kind, row, values, user_of(kind, row._mapping))


_MENDS: Mapping[str, Callable[[Any, _Repair, Faults], None]] = {
    "sequence_behind": Checking._mend_sequence,
    "orphan_chunks": Checking._mend_orphan_chunks,
    "living_targets": Checking._mend_living_targets,
    "misplaced_chunks": Checking._mend_misplaced_chunks,
    "orphan_tokens": Checking._mend_orphan_tokens,
    "missing_tokens": Checking._mend_missing_tokens,
    "missing_states": Checking._mend_missing_states,
    "orphan_states": Checking._mend_orphan_states,
    "changed_outside": Checking._mend_changed_outside,
    "orphan_sources": Checking._mend_orphan_sources,
    "orphan_texts": Checking._mend_orphan_texts,
    "missing_texts": Checking._mend_missing_texts,
    "wrong_texts": Checking._mend_wrong_texts,
}
