"""Threads: creating, opening, changing, deleting and listing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker, given
from oracleagentmemory._threaded import threaded
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.apis.records import MetadataValue, ThreadRecord
from oracleagentmemory.apis.validation import check_id, check_metadata
from oracleagentmemory.core.background import WorkScope
from oracleagentmemory.core.backgroundwork import deleted, deleted_async
from oracleagentmemory.core.client.part import ClientPart
from oracleagentmemory.core.extractors.memoryextractionconfig import MemoryExtractionConfig
from oracleagentmemory.core.extractors.settings import merge_inline
from oracleagentmemory.core.imageinputlimitconfig import ImageInputLimitConfig
from oracleagentmemory.core.memoryinput import only_given, refuse_unexpected
from oracleagentmemory.core.prepared import written
from oracleagentmemory.core.searchconfig import MemorySearchConfig
from oracleagentmemory.core.thread import OracleThread, owner_id
from oracleagentmemory.core.threadsettings import (
    EMPTY_LAYER,
    NEW_RUNTIME_STATE,
    SettingsLayer,
    ThreadSettings,
    given_layer,
    resolve_settings,
    saved_layer,
)
from oracleagentmemory.errors import InvalidInputError, NotFoundError
from oracleagentmemory.storage.writes import Prepared, prepared_value


class ClientThreads(ClientPart):
    """Threads and their saved configuration.

    Each setting is resolved by itself: the call's value, else the one saved with the thread, else
    the client's, else the SDK's default.
    """

    def prepare_create_thread(
        self,
        /,
        *,
        thread_id: Maybe[str] = NOT_SET_MARKER,
        user_id: Maybe[str] = NOT_SET_MARKER,
        agent_id: Maybe[str] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        llm: Maybe[ILlm] = NOT_SET_MARKER,
        max_message_token_length: Maybe[int] = NOT_SET_MARKER,
        message_shortening_input_token_limit: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_config: Maybe[MemoryExtractionConfig] = NOT_SET_MARKER,
        image_input_limit_config: Maybe[ImageInputLimitConfig] = NOT_SET_MARKER,
        search_config: Maybe[MemorySearchConfig] = NOT_SET_MARKER,
        context_card_token_limit: Maybe[int] = NOT_SET_MARKER,
        context_card_type_search_concurrency: Maybe[int] = NOT_SET_MARKER,
        extract_memories: Maybe[bool] = NOT_SET_MARKER,
        memory_extraction_window: Maybe[int] = NOT_SET_MARKER,
        context_summary_update_frequency: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_frequency: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_token_limit: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_custom_instructions: Maybe[str] = NOT_SET_MARKER,
        memory_extraction_inherit_message_metadata: Maybe[bool | Sequence[str]] = NOT_SET_MARKER,
        enable_context_summary: Maybe[bool] = NOT_SET_MARKER,
        **kwargs: Any,
    ) -> Prepared[OracleThread]:
        """Create a thread and save its resolved configuration; omitted ids are generated.

        Args:
            llm: The model of this thread instead of the client's; it is not saved.
            max_message_token_length: Estimated tokens above which a message's copy in a prompt is
                shortened; 0 or less: never.
            message_shortening_input_token_limit: Estimated tokens of a message that are sent for
                shortening; 0 or less: no bound.
            search_config: How searches of this thread rank and bound their results.
            context_card_token_limit: Estimated tokens of the prompt behind a context card.
            context_card_type_search_concurrency: Searches that one card runs at once; belongs to
                the handle and is not saved.
            extract_memories: Deprecated since 26.6.0, as are the parameters after it: use
                ``memory_extraction_config``.
            kwargs: Ignored.

        Raises:
            ValueError: If an id is ``None``, empty or taken, a value cannot be accepted, or
                extraction is on and neither thread nor client has an LLM.
            TypeError: If a configuration has the wrong type.
        """
        self._work.require_open()
        call = given_layer(
            extraction=merge_inline(memory_extraction_config, _inline(locals())),
            image_limits=image_input_limit_config,
            search_config=search_config,
            numbers={
                "max_message_token_length": max_message_token_length,
                "message_shortening_input_token_limit": message_shortening_input_token_limit,
                "context_card_token_limit": context_card_token_limit,
                "context_card_type_search_concurrency": context_card_type_search_concurrency,
            },
        )
        record = ThreadRecord(
            id=owner_id(thread_id, "thread_id"),
            user_id=owner_id(user_id, "user_id"),
            agent_id=owner_id(agent_id, "agent_id"),
            metadata=check_metadata(given(metadata, None)),
        )
        model = given(llm, self._llm)
        settings = self._resolved(call, EMPTY_LAYER, model)
        prepared = self._store.prepare_create_thread(
            record.id,
            user_id=record.user_id,
            agent_id=record.agent_id,
            metadata=record.metadata,
            runtime_config=settings.to_json(),
            runtime_state=NEW_RUNTIME_STATE,
        )
        return prepared.map(lambda _: self._handle(record, settings, model))

    # In two steps, so that mypy keeps these signatures instead of the interface's shorter ones.
    _create = written(prepare_create_thread)
    _create_async = threaded(_create)
    create_thread = _create
    create_thread_async = _create_async

    def get_thread(
        self,
        thread_id: str,
        *,
        llm: Maybe[ILlm] = NOT_SET_MARKER,
        max_message_token_length: Maybe[int] = NOT_SET_MARKER,
        message_shortening_input_token_limit: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_config: Maybe[MemoryExtractionConfig] = NOT_SET_MARKER,
        image_input_limit_config: Maybe[ImageInputLimitConfig] = NOT_SET_MARKER,
        search_config: Maybe[MemorySearchConfig] = NOT_SET_MARKER,
        context_card_token_limit: Maybe[int] = NOT_SET_MARKER,
        context_card_type_search_concurrency: Maybe[int] = NOT_SET_MARKER,
        extract_memories: Maybe[bool] = NOT_SET_MARKER,
        memory_extraction_window: Maybe[int] = NOT_SET_MARKER,
        context_summary_update_frequency: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_frequency: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_token_limit: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_custom_instructions: Maybe[str | None] = NOT_SET_MARKER,
        memory_extraction_inherit_message_metadata: Maybe[bool | Sequence[str]] = NOT_SET_MARKER,
        enable_context_summary: Maybe[bool] = NOT_SET_MARKER,
    ) -> OracleThread:
        """Open a stored thread. The settings given here govern the returned handle only.

        The arguments are those of :meth:`create_thread`; instructions of ``None`` leave out the
        thread's own, so that the client's apply.

        Raises:
            KeyError: If there is no such thread.
            ValueError: If extraction is on and there is no LLM, or a value cannot be accepted.
        """
        call = given_layer(
            extraction=merge_inline(memory_extraction_config, _inline(locals())),
            image_limits=image_input_limit_config,
            search_config=search_config,
            numbers={
                "max_message_token_length": max_message_token_length,
                "message_shortening_input_token_limit": message_shortening_input_token_limit,
                "context_card_token_limit": context_card_token_limit,
                "context_card_type_search_concurrency": context_card_type_search_concurrency,
            },
            clearing=True,
        )
        record = self._thread_record(thread_id)
        model = given(llm, self._llm)
        return self._handle(record, self._resolved(call, self._saved(record), model), model)

    _get_async = threaded(get_thread)
    get_thread_async = _get_async

    def prepare_update_thread(
        self,
        /,
        thread_id: str,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        llm: Maybe[ILlm] = NOT_SET_MARKER,
        extract_memories: Maybe[bool] = NOT_SET_MARKER,
        max_message_token_length: Maybe[int] = NOT_SET_MARKER,
        message_shortening_input_token_limit: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_window: Maybe[int] = NOT_SET_MARKER,
        context_summary_update_frequency: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_frequency: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_token_limit: Maybe[int] = NOT_SET_MARKER,
        context_card_token_limit: Maybe[int] = NOT_SET_MARKER,
        enable_context_summary: Maybe[bool] = NOT_SET_MARKER,
        memory_extraction_custom_instructions: Maybe[str | None] = NOT_SET_MARKER,
        memory_extraction_inherit_message_metadata: Maybe[bool | Sequence[str]] = NOT_SET_MARKER,
        memory_extraction_config: Maybe[MemoryExtractionConfig] = NOT_SET_MARKER,
        image_input_limit_config: Maybe[ImageInputLimitConfig] = NOT_SET_MARKER,
        search_config: Maybe[MemorySearchConfig] = NOT_SET_MARKER,
        *,
        if_fingerprint: str | None = None,
        **kwargs: Any,
    ) -> Prepared[OracleThread]:
        """Save metadata and settings of a thread; only what is given is written.

        Settings are resolved from what is stored, not from a handle opened before. User, agent
        and the state of extraction stay.

        Args:
            metadata: Replaces the stored object; ``None`` clears it.
            llm: The model of the returned handle; it is not saved.
            if_fingerprint: Change it only while the stored thread has this fingerprint.

        Raises:
            KeyError: If there is no such thread.
            TypeError: On an unexpected keyword, such as ``user_id``.
            ValueError: If extraction is on and there is no LLM, or a value cannot be accepted.
            ConflictError: If the stored thread has another fingerprint.
        """
        refuse_unexpected("update_thread", kwargs)
        call = given_layer(
            extraction=merge_inline(memory_extraction_config, _inline(locals())),
            image_limits=image_input_limit_config,
            search_config=search_config,
            numbers={
                "max_message_token_length": max_message_token_length,
                "message_shortening_input_token_limit": message_shortening_input_token_limit,
                "context_card_token_limit": context_card_token_limit,
            },
            clearing=True,
        )
        if not isinstance(metadata, _NotSetMarker):
            check_metadata(metadata)
        record = self._thread_record(thread_id)
        model = given(llm, self._llm)
        settings = self._resolved(call, self._saved(record), model)
        updated = self._handle(
            replace(record, metadata=given(metadata, record.metadata)), settings, model
        )
        changes = only_given(
            metadata=metadata,
            runtime_config=NOT_SET_MARKER if call.is_empty else call.written_over,
        )
        if not changes:
            return prepared_value(updated)
        prepared = self._store.prepare_update_thread(
            record.id, **changes, if_fingerprint=if_fingerprint
        )
        return prepared.map(lambda count: _still_there(count, updated))

    _update = written(prepare_update_thread)
    _update_async = threaded(_update)
    update_thread = _update
    update_thread_async = _update_async

    def prepare_delete_thread(
        self, thread_id: str, *, if_fingerprint: str | None = None
    ) -> Prepared[int]:
        """Delete a thread with its messages, memories and retrieval data; return 0 or 1.

        Args:
            if_fingerprint: Delete it only while the stored thread has this fingerprint.

        Raises:
            ConflictError: If the stored thread has another fingerprint.
            TimeoutError: If background work on the thread did not end within 300 seconds; nothing
                is deleted.
        """
        prepared = self._store.prepare_delete_thread(
            check_id(thread_id, "thread_id"), if_fingerprint=if_fingerprint
        )
        return self._work.deletion(prepared, WorkScope(thread_id=thread_id))

    delete_thread = deleted(prepare_delete_thread)
    delete_thread_async = deleted_async(prepare_delete_thread)

    def list_threads(
        self,
        user_id: str | None,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[ThreadRecord]:
        """List the newest ``limit`` threads of a user, oldest first.

        Args:
            user_id: ``None`` means threads without a user.
            agent_id: Any agent when omitted, ``None`` for threads without one.
            metadata_filter: ``None`` means threads without metadata.
            limit: A safe maximum when omitted, ``None`` for no limit.
        """
        found = self._store.list(
            "thread",
            user_id=user_id,
            agent_id=agent_id,
            metadata_filter=metadata_filter,
            limit=limit,
        )
        return cast(list[ThreadRecord], found)

    def _thread_record(self, thread_id: str) -> ThreadRecord:
        record = self._store.get("thread", check_id(thread_id, "thread_id"))
        if record is None:
            raise NotFoundError(f"there is no thread with the id {thread_id!r}")
        return cast(ThreadRecord, record)

    def _saved(self, record: ThreadRecord) -> SettingsLayer:
        return saved_layer(record.runtime_config, self._settings_layer.search_config)

    def _resolved(
        self, call: SettingsLayer, saved: SettingsLayer, model: ILlm | None
    ) -> ThreadSettings:
        self._work.scheduler.check_llm(model)
        settings = resolve_settings(call, saved, self._settings_layer)
        if settings.extracts and model is None:
            raise InvalidInputError(
                "extraction is on and there is no LLM: pass llm=, or "
                "memory_extraction_config=MemoryExtractionConfig(extract_memories=False)"
            )
        return settings

    def _handle(
        self, record: ThreadRecord, settings: ThreadSettings, model: ILlm | None
    ) -> OracleThread:
        return OracleThread._opened(self._store, self, record, settings, model)


_INLINE = (
    "extract_memories",
    "memory_extraction_window",
    "context_summary_update_frequency",
    "memory_extraction_frequency",
    "memory_extraction_token_limit",
    "memory_extraction_custom_instructions",
    "memory_extraction_inherit_message_metadata",
    "enable_context_summary",
)


def _inline(arguments: dict[str, Any]) -> dict[str, Any]:
    """Pick the deprecated inline extraction parameters out of a method's arguments."""
    return {name: arguments[name] for name in _INLINE}


def _still_there(count: int, thread: OracleThread) -> OracleThread:
    if not count:
        raise NotFoundError(f"there is no thread with the id {thread.thread_id!r}")
    return thread
