"""Contracts: records, messages, relations, scopes, results and the I* interfaces."""

from __future__ import annotations

from oracleagentmemory.apis.agentmemory import IAgentMemory
from oracleagentmemory.apis.contextcard import ContextCard
from oracleagentmemory.apis.embedders import IEmbedder
from oracleagentmemory.apis.llms import ILlm, LlmResponse
from oracleagentmemory.apis.memorystore import IMemoryStore, PendingRecordBatch
from oracleagentmemory.apis.message import (
    ImageContent,
    ImageMimeType,
    Message,
    MessageContent,
    TextContent,
)
from oracleagentmemory.apis.records import (
    AgentProfileRecord,
    FactRecord,
    GuidelineRecord,
    ImageRecord,
    MemoryRecord,
    MemoryRecordType,
    MessageRecord,
    PreferenceRecord,
    Record,
    RecordStatus,
    ScopedRecord,
    ThreadRecord,
    ThreadRecordType,
    ThreadSummaryRecord,
    UserProfileRecord,
    build_record,
)
from oracleagentmemory.apis.relations import (
    MemoryLink,
    MemoryLinkOppositeType,
    MemoryLinkType,
    RecordRelation,
    RelationType,
)
from oracleagentmemory.apis.reranker import IReranker, RerankResponse, RerankResponseResult
from oracleagentmemory.apis.searchconfig import ISearchConfig
from oracleagentmemory.apis.searchresult import SearchResult, SearchResultFormatConfig
from oracleagentmemory.apis.searchscope import SearchScope
from oracleagentmemory.apis.summary import Summary
from oracleagentmemory.apis.thread import IThread
from oracleagentmemory.apis.ttl import TimeToLiveAnchor

__all__ = [
    "AgentProfileRecord",
    "ContextCard",
    "FactRecord",
    "GuidelineRecord",
    "IAgentMemory",
    "IEmbedder",
    "ILlm",
    "IMemoryStore",
    "IReranker",
    "ISearchConfig",
    "IThread",
    "ImageContent",
    "ImageMimeType",
    "ImageRecord",
    "LlmResponse",
    "MemoryLink",
    "MemoryLinkOppositeType",
    "MemoryLinkType",
    "MemoryRecord",
    "MemoryRecordType",
    "Message",
    "MessageContent",
    "MessageRecord",
    "PendingRecordBatch",
    "PreferenceRecord",
    "Record",
    "RecordRelation",
    "RecordStatus",
    "RelationType",
    "RerankResponse",
    "RerankResponseResult",
    "ScopedRecord",
    "SearchResult",
    "SearchResultFormatConfig",
    "SearchScope",
    "Summary",
    "TextContent",
    "ThreadRecord",
    "ThreadRecordType",
    "ThreadSummaryRecord",
    "TimeToLiveAnchor",
    "UserProfileRecord",
    "build_record",
]
