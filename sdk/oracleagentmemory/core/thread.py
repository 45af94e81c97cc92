"""The thread handle."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker, given
from oracleagentmemory._observed import observed
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.apis.records import MetadataValue, ThreadRecord
from oracleagentmemory.apis.thread import IThread
from oracleagentmemory.apis.validation import check_id, check_metadata
from oracleagentmemory.core.backgroundwork import BackgroundWork
from oracleagentmemory.core.extractors.memoryextractionconfig import MemoryExtractionConfig
from oracleagentmemory.core.extractors.settings import merge_inline
from oracleagentmemory.core.imageinputlimitconfig import ImageInputLimitConfig
from oracleagentmemory.core.searchconfig import MemorySearchConfig
from oracleagentmemory.core.threadparts.context import ThreadContext
from oracleagentmemory.core.threadparts.images import ThreadImages
from oracleagentmemory.core.threadparts.memories import ThreadMemories
from oracleagentmemory.core.threadparts.messages import ThreadMessages
from oracleagentmemory.core.threadparts.relations import ThreadRelations
from oracleagentmemory.core.threadparts.search import ThreadSearch
from oracleagentmemory.core.threadparts.waiting import ThreadWaiting
from oracleagentmemory.core.threadsettings import (
    EMPTY_LAYER,
    NEW_RUNTIME_STATE,
    ThreadSettings,
    given_layer,
    resolve_settings,
)
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from oracleagentmemory.core.client.part import ClientPart
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

T = TypeVar("T")

#: Deprecated parameters that are fields of ``MemoryExtractionConfig``.
_INLINE = (
    "memory_extraction_window",
    "context_summary_update_frequency",
    "memory_extraction_frequency",
    "memory_extraction_token_limit",
    "enable_context_summary",
    "memory_extraction_custom_instructions",
    "memory_extraction_inherit_message_metadata",
)


@observed("thread", IThread)
class OracleThread(
    ThreadMessages,
    ThreadMemories,
    ThreadSearch,
    ThreadImages,
    ThreadRelations,
    ThreadContext,
    ThreadWaiting,
):
    """A thread of messages with its memories, on a store.

    Usually made by ``OracleAgentMemory.create_thread`` or ``get_thread``. Made by itself it is a
    *standalone* thread: its settings come from the arguments and SDK defaults, its summary stays
    on, and its row is stored with its first message or memory.

    Args:
        store: Where the records are.
        client: The client whose settings and background work the thread uses.
        thread_id: Generated when omitted, as are ``user_id`` and ``agent_id``.
        metadata: A JSON object.
        persist_messages_in_config: Has no effect on database stores.
        llm: The model that extracts memories.
        memory_extraction_config: How memories are extracted. The parameters of the same names are
            deprecated since 26.6.0.
        max_message_token_length: Estimated tokens above which a message's copy in a prompt is
            shortened; 0 or less: never.
        context_card_token_limit: Estimated tokens of the prompt behind a context card; 0 or less:
            no bound.

    Raises:
        ValueError, TypeError: If a value cannot be accepted.
    """

    def __init__(
        self,
        store: OracleMemoryStore,
        client: ClientPart | None = None,
        thread_id: Maybe[str] = NOT_SET_MARKER,
        user_id: Maybe[str] = NOT_SET_MARKER,
        agent_id: Maybe[str] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        persist_messages_in_config: bool = False,
        llm: Maybe[ILlm | None] = NOT_SET_MARKER,
        memory_extraction_config: Maybe[MemoryExtractionConfig] = NOT_SET_MARKER,
        image_input_limit_config: Maybe[ImageInputLimitConfig] = NOT_SET_MARKER,
        max_message_token_length: int = 15_000,
        message_shortening_input_token_limit: int = 30_000,
        memory_extraction_window: Maybe[int] = NOT_SET_MARKER,
        context_summary_update_frequency: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_frequency: Maybe[int] = NOT_SET_MARKER,
        memory_extraction_token_limit: Maybe[int] = NOT_SET_MARKER,
        context_card_token_limit: int = 100_000,
        context_card_type_search_concurrency: int = 5,
        enable_context_summary: Maybe[bool] = NOT_SET_MARKER,
        memory_extraction_custom_instructions: Maybe[str | None] = NOT_SET_MARKER,
        memory_extraction_inherit_message_metadata: Maybe[bool | Sequence[str]] = NOT_SET_MARKER,
        search_config: Maybe[MemorySearchConfig] = NOT_SET_MARKER,
    ) -> None:
        inline = {name: value for name, value in locals().items() if name in _INLINE}
        call = given_layer(
            extraction=merge_inline(memory_extraction_config, inline),
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
        of_client = EMPTY_LAYER if client is None else client._settings_layer
        record = ThreadRecord(
            id=owner_id(thread_id, "thread_id"),
            user_id=owner_id(user_id, "user_id"),
            agent_id=owner_id(agent_id, "agent_id"),
            metadata=check_metadata(given(metadata, None)),
        )
        settings = resolve_settings(call, EMPTY_LAYER, of_client, standalone=client is None)
        model = given(llm, None if client is None else client._llm)
        self._open(store, client, record, settings, model)
        self._is_stored = False

    @classmethod
    def _opened(
        cls,
        store: OracleMemoryStore,
        client: ClientPart,
        record: ThreadRecord,
        settings: ThreadSettings,
        llm: ILlm | None,
    ) -> OracleThread:
        """Return the handle of a stored thread."""
        thread = cls.__new__(cls)
        thread._open(store, client, record, settings, llm)
        thread._is_stored = True
        return thread

    def _open(
        self,
        store: OracleMemoryStore,
        client: ClientPart | None,
        record: ThreadRecord,
        settings: ThreadSettings,
        llm: ILlm | None,
    ) -> None:
        self._store = store
        self._work = BackgroundWork(store) if client is None else client._work
        self._twin_pool = store._twin_pool if client is None else client._twin_pool
        self._thread_id = record.id
        self._user_id = record.user_id or ""
        self._agent_id = record.agent_id or ""
        self._metadata = record.metadata
        self._settings = settings
        self._llm = llm

    def __repr__(self) -> str:
        return (
            f"OracleThread(thread_id={self._thread_id!r}, user_id={self._user_id!r}, "
            f"agent_id={self._agent_id!r})"
        )

    @property
    def thread_id(self) -> str:
        """Id of the thread."""
        return self._thread_id

    @property
    def user_id(self) -> str:
        """Id of the user whose thread it is."""
        return self._user_id

    @property
    def agent_id(self) -> str:
        """Id of the agent whose thread it is."""
        return self._agent_id

    @property
    def metadata(self) -> dict[str, Any] | None:
        """Metadata of the thread when this handle was made."""
        return self._metadata

    @property
    def max_message_token_length(self) -> int:
        """Estimated tokens above which a message's copy in a prompt is shortened."""
        return self._settings.max_message_token_length

    @property
    def message_shortening_input_token_limit(self) -> int:
        """Estimated tokens of a message that are sent for shortening."""
        return self._settings.message_shortening_input_token_limit

    def _with_thread(self, prepared: Prepared[T]) -> Prepared[T]:
        if self._is_stored:
            return prepared
        creation = self._store.prepare_create_thread(
            self._thread_id,
            user_id=self._user_id,
            agent_id=self._agent_id,
            metadata=self._metadata,
            runtime_config=self._settings.to_json(),
            runtime_state=NEW_RUNTIME_STATE,
        )

        def apply(transaction: WriteTransaction) -> T:
            # Asked under the write lock: another handle may have stored the thread meanwhile.
            if self._store.get("thread", self._thread_id) is None:
                creation.apply(transaction)
            return prepared.apply(transaction)

        return Prepared(apply)


def owner_id(value: Maybe[Any], what: str) -> str:
    """Return an id of a new thread: generated when omitted, numbers as text.

    Raises:
        InvalidInputError: If it is ``None``, empty or too long.
    """
    if isinstance(value, _NotSetMarker):
        return str(uuid.uuid4())
    if value is None:
        raise InvalidInputError(f"{what} must not be None; omit it to have one generated")
    if isinstance(value, int | uuid.UUID) and not isinstance(value, bool):
        value = str(value)
    return check_id(value, what)
