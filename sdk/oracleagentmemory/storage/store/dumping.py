"""`dump` and `restore`: a store's rows as lines of JSON, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Literal

from oracleagentmemory._threaded import threaded
from oracleagentmemory.apis.upkeep import DumpScope, RestoreReport
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.dump import DumpFormat, DumpHeader
from oracleagentmemory.storage.dump_lines import CheckedDump, spool
from oracleagentmemory.storage.dump_reads import DumpReads
from oracleagentmemory.storage.store.restoring import Restoring
from oracleagentmemory.storage.writes import Prepared


class Dumping(Restoring):
    """What undo, trash, export, import, copies between databases and backups stand on."""

    def dump(self, scope: DumpScope | None = None) -> IO[bytes]:
        """Write records with all that belongs to them as lines of JSON.

        Every field of every record (expired ones too), chunk, vector, token list, relation and
        SDK-only row; `storage/dump.py` describes the form. A dump of the whole store also has the
        log of its changes. All is read as of one moment. A dump restored into an empty store and
        dumped again gives the same bytes. On Oracle, and so everywhere, order is kept and order
        numbers are not.

        Args:
            scope: Which records; None for the whole store.

        Returns:
            An open file at its start, on disk only when it is large; close it after use.
        """
        if scope is not None and not isinstance(scope, DumpScope):
            raise InvalidInputError(f"scope must be a DumpScope or None, not {scope!r:.80}")
        reads = DumpReads(self.tables, self.extras, scope, has_extras=self.has_extras)
        file = spool()
        with self.engine.snapshot() as connection:
            config = self.registry.read(connection) or self.config
            header = DumpHeader(config.dimension, config.embedder_id)
            file.writelines(reads.lines(connection, header))
        file.seek(0)
        return file

    def restore(
        self, stream: Iterable[bytes | str], ids: Literal["keep", "new"] = "keep"
    ) -> RestoreReport:
        """Write the records of a dump back: all of them, in one transaction, or nothing.

        A relation that ends its target does so again when the target is there already; a target
        whose relation cannot come back is settled by those that it has.

        Args:
            stream: The dump: an open file, or its lines.
            ids: `keep` restores every record under its id; `new` gives threads, messages,
                memories, images, summaries and relations new ids and follows every reference
                among them (users and agents keep theirs, and a profile that exists stays).

        Raises:
            InvalidInputError: If a line is wrong (its number is named), the dump was cut, a
                message comes without its whole thread, or an image has other bytes than those
                dumped or none that can be decoded; before anything is written.
            DuplicateIdError: If a record with an id of the dump exists.
            NotFoundError: If a record belongs to a thread that does not exist.
            DimensionMismatchError: If the store's vectors have another dimension.
            EmbedderMismatchError: If they were made by another embedder.
        """
        return self.write(self.prepare_restore(stream, ids))

    def prepare_restore(
        self, stream: Iterable[bytes | str], ids: Literal["keep", "new"] = "keep"
    ) -> Prepared[RestoreReport]:
        """Read and check a dump, and prepare what `restore` writes."""
        if ids not in ("keep", "new"):
            raise InvalidInputError(f"ids must be 'keep' or 'new', not {ids!r:.80}")
        form = DumpFormat(self.tables, self.extras)
        dump = CheckedDump(stream, form, self._check_picture)
        return Prepared(lambda transaction: self._restore(transaction, dump, renew=ids == "new"))

    dump_async = threaded(dump)
    restore_async = threaded(restore)
