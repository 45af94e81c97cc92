"""Data classes, enums and config objects."""

import dataclasses

import oracleagentmemory.apis as apis
import oracleagentmemory.core as core
from oracleagentmemory.apis.searchscope import SearchScope
from tests.contract.scenarios.kit import scenario

PNG = apis.ImageMimeType.PNG


def assign(value, name):
    """Try to change a field."""
    setattr(value, name, getattr(value, name))
    return "changed"


@scenario("messages as values")
def messages(w):
    """Message and its parts."""
    Message, Text, Image = apis.Message, apis.TextContent, apis.ImageContent
    w.steps(
        {
            "message": lambda: Message("user", "hi"),
            "parts become a tuple": lambda: type(Message("user", [Text("hi")]).content).__name__,
            "frozen message": lambda: assign(Message("user", "hi"), "role"),
            "frozen text": lambda: assign(Text("hi"), "text"),
            "frozen image": lambda: assign(Image(None, PNG), "description"),
            "equal without id": lambda: (
                Message("user", "hi", id="a") == Message("user", "hi", id="b")
            ),
            "other role": lambda: Message("user", "hi") == Message("assistant", "hi"),
            "other metadata": lambda: (
                Message("user", "hi", metadata={"a": 1}) == Message("user", "hi")
            ),
            "texts compare ids": lambda: Text("a") == Text("a"),
            "texts with one id": lambda: Text("a", id="x") == Text("a", id="x"),
            "hash": lambda: hash(Message("user", "hi")) == hash(Message("user", "hi")),
            "hash with metadata": lambda: hash(Message("user", "hi", metadata={"a": 1})),
            "no parts": lambda: Message("user", []),
            "str part": lambda: Message("user", ["hi"]),
            "role number": lambda: Message(5, "hi"),
            "content None": lambda: Message("user", None),
            "content number": lambda: Message("user", 5),
            "text number": lambda: Text(5),
            "image mime str": lambda: Image(b"x", "image/png"),
            "image bytes str": lambda: Image("x", PNG),
            "image without bytes": lambda: Image(None, PNG, id="i").bytes,
            "abstract part": lambda: apis.MessageContent(),
            "part types": lambda: (Text.type, Image.type),
            "generated ids differ": lambda: Text("a").id != Text("a").id,
        }
    )


@scenario("records as values")
def records(w):
    """Record classes."""

    def build(kind, ident="r1", **fields):
        return type(apis.build_record(kind, ident, **fields)).__name__

    Memory = apis.MemoryRecord
    w.steps(
        {
            "memory": lambda: Memory("m1", "text"),
            "type of memory": lambda: Memory("m1").record_type,
            "frozen": lambda: assign(Memory("m1"), "content"),
            "equal": lambda: Memory("m1", "text") == Memory("m1", "text"),
            "other class": lambda: Memory("m1", "text") == apis.FactRecord("m1", "text"),
            "message without number": lambda: apis.MessageRecord("m1"),
            "image without mime": lambda: apis.ImageRecord("i1"),
            "relation without time": lambda: apis.RecordRelation(
                "r", "a", "memory", "b", "memory", "supports", "is_supported_by"
            ),
            "default status": lambda: Memory("m1").status,
            "built": lambda: [
                build(kind)
                for kind in (
                    "memory",
                    "fact",
                    "preference",
                    "guideline",
                    "user_profile",
                    "agent_profile",
                )
            ],
            "built message": lambda: build("message", content="x", role="user", seq_no=1),
            "built image": lambda: build("image", mime_type=PNG),
            "built unknown": lambda: build("idea"),
            "built thread": lambda: build("thread"),
            "relation frozen": lambda: assign(
                apis.RecordRelation(
                    "r",
                    "a",
                    "memory",
                    "b",
                    "memory",
                    "supports",
                    "is_supported_by",
                    None,
                    None,
                    "2024-05-01T10:00:00+00:00",
                ),
                "id",
            ),
            "response": lambda: apis.LlmResponse("x").text,
        }
    )


@scenario("batches and scopes as values")
def batches(w):
    """PendingRecordBatch, SearchScope and configs: mutability, equality."""
    Batch = apis.PendingRecordBatch
    w.steps(
        {
            "batch": lambda: Batch(contents=["a"], record_type="memory").contents,
            "batch changes": lambda: assign(
                Batch(contents=["a"], record_type="memory"), "record_type"
            ),
            "batch texts": lambda: Batch(texts=["a"], record_type="memory").contents,
            "batch both": lambda: Batch(contents=["a"], texts=["a"], record_type="memory"),
            "batch no type": lambda: Batch(contents=["a"]),
            "scope changes": lambda: assign(SearchScope(user_id="u"), "user_id"),
            "scope equal": lambda: SearchScope(user_id="u") == SearchScope(user_id="u"),
            "scope unequal": lambda: (
                SearchScope(user_id="u") == SearchScope(user_id="u", exact_agent_match=True)
            ),
            "extraction config changes": lambda: assign(
                core.MemoryExtractionConfig(), "extraction_mode"
            ),
            "extraction config equal": lambda: (
                core.MemoryExtractionConfig() == core.MemoryExtractionConfig()
            ),
            "top k changes": lambda: assign(core.TopKMemorySearchConfig(), "max_results"),
            "top k equal": lambda: (
                core.TopKMemorySearchConfig(max_results=3)
                == core.TopKMemorySearchConfig(max_results=3)
            ),
            "image limits frozen": lambda: assign(
                core.ImageInputLimitConfig(), "max_raw_image_bytes"
            ),
            "retention frozen": lambda: assign(core.MemoryRetentionConfig(), "max_ttl_days"),
            "retention hash": lambda: (
                hash(core.MemoryRetentionConfig(max_ttl_days=3))
                == hash(core.MemoryRetentionConfig(max_ttl_days=3))
            ),
            "config fields": lambda: sorted(
                field.name for field in dataclasses.fields(core.MemoryExtractionConfig)
            ),
        }
    )


@scenario("enums")
def enums(w):
    """Members and values."""
    for kind in (
        apis.ImageMimeType,
        apis.RecordStatus,
        apis.TimeToLiveAnchor,
        core.MemoryExtractionMode,
        core.MemoryLinkExtractionMode,
        core.BackgroundExtractionQueueFullBehavior,
        core.MemoryExtractionImageContext,
        core.SearchStrategy,
        core.SearchIndexSyncMode,
        core.SchemaPolicy,
        core.PruningEvaluationMode,
    ):
        w.step(kind.__name__, lambda kind=kind: {member.name: member.value for member in kind})


@scenario("image limits")
def limits(w):
    """ImageInputLimitConfig as a client resolves it."""

    def build(**fields):
        client = core.OracleAgentMemory(
            store=w.store, llm=w.llm, image_input_limit_config=core.ImageInputLimitConfig(**fields)
        )
        w.clients.append(client)
        client.create_thread(thread_id=str(len(w.clients)))
        return w.store.get("thread", str(len(w.clients))).runtime_config["image_input_limit_config"]

    mega = 2**20
    w.steps(
        {
            "defaults": lambda: build(),
            "largest": lambda: build(
                max_raw_image_bytes=32 * mega,
                max_images_per_llm_request=512,
                max_total_raw_image_bytes_per_llm_request=256 * mega,
            ),
            "bytes 0": lambda: build(max_raw_image_bytes=0),
            "bytes too many": lambda: build(max_raw_image_bytes=32 * mega + 1),
            "images 0": lambda: build(max_images_per_llm_request=0),
            "images too many": lambda: build(max_images_per_llm_request=513),
            "total 0": lambda: build(max_total_raw_image_bytes_per_llm_request=0),
            "total too many": lambda: build(
                max_total_raw_image_bytes_per_llm_request=256 * mega + 1
            ),
            "total negative": lambda: build(max_total_raw_image_bytes_per_llm_request=-1),
            "words": lambda: build(max_images_per_llm_request="many"),
            "None": lambda: build(max_raw_image_bytes=None),
            "bool": lambda: build(max_images_per_llm_request=True),
        }
    )
