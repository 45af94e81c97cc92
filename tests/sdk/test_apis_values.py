"""Messages, records, relations, batches and scopes as values."""

from __future__ import annotations

import copy
import dataclasses
import enum
import uuid
from typing import Any

import pytest

from oracleagentmemory import apis
from oracleagentmemory.apis.relations import OPPOSITE_TYPES
from oracleagentmemory.errors import InvalidInputError, WrongTypeError

PNG = apis.ImageMimeType.PNG
RELATION = apis.RecordRelation(
    "r", "a", "memory", "b", "fact", "supports", "is_supported_by", None, None, "2024-05-01"
)

FROZEN = [
    apis.Message("user", "hi"),
    apis.TextContent("hi"),
    apis.ImageContent(None, PNG),
    apis.MemoryRecord("m1"),
    apis.MessageRecord("m1", seq_no=1),
    RELATION,
]


@pytest.mark.parametrize("value", FROZEN, ids=lambda value: type(value).__name__)
def test_messages_records_and_relations_cannot_be_changed(value: Any) -> None:
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "other")


def test_messages_are_equal_by_everything_but_their_id() -> None:
    assert apis.Message("user", "hi", id="a") == apis.Message("user", "hi", id="b")
    assert apis.Message("user", "hi") != apis.Message("assistant", "hi")
    assert apis.Message("user", "hi") != apis.Message("user", "hi", metadata={"a": 1})
    assert hash(apis.Message("user", "hi")) == hash(apis.Message("user", "hi", id="x"))


def test_a_message_with_metadata_cannot_be_hashed() -> None:
    with pytest.raises(TypeError):
        hash(apis.Message("user", "hi", metadata={"a": 1}))


def test_r038_content_parts_become_an_immutable_tuple() -> None:
    part = apis.TextContent("hi")
    assert apis.Message("user", [part]).content == (part,)
    with pytest.raises(InvalidInputError, match="at least one part"):
        apis.Message("user", [])


def test_r037_a_role_may_have_any_name() -> None:
    assert apis.Message("critic", "hm").role == "critic"


@pytest.mark.parametrize(
    ("role", "content"),
    [(5, "hi"), (None, "hi"), ("user", None), ("user", 5), ("user", ["hi"]), ("user", {"a": 1})],
)
def test_a_message_refuses_wrong_types(role: Any, content: Any) -> None:
    with pytest.raises(WrongTypeError):
        apis.Message(role, content)


def test_a_message_takes_its_time_as_given() -> None:
    assert apis.Message("user", "hi", timestamp="notadate").timestamp == "notadate"


def test_text_parts_are_equal_only_with_the_same_id() -> None:
    assert apis.TextContent("a") != apis.TextContent("a")
    assert apis.TextContent("a", id="x") == apis.TextContent("a", id="x")
    assert uuid.UUID(apis.TextContent("a").id).version == 4
    assert (apis.TextContent.type, apis.ImageContent.type) == ("text", "image")


@pytest.mark.parametrize(
    ("data", "mime_type"), [("x", PNG), (b"x", "image/png"), (None, None), (bytearray(b"x"), PNG)]
)
def test_an_image_part_needs_bytes_and_a_mime_type_member(data: Any, mime_type: Any) -> None:
    with pytest.raises(WrongTypeError):
        apis.ImageContent(data, mime_type)


def test_the_base_of_content_parts_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        apis.MessageContent()  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("kind", "record_class"),
    [
        ("memory", apis.MemoryRecord),
        ("fact", apis.FactRecord),
        ("preference", apis.PreferenceRecord),
        ("guideline", apis.GuidelineRecord),
        ("message", apis.MessageRecord),
        ("thread", apis.ThreadRecord),
        ("thread_summary", apis.ThreadSummaryRecord),
        ("user_profile", apis.UserProfileRecord),
        ("agent_profile", apis.AgentProfileRecord),
        ("idea", apis.Record),
    ],
)
def test_build_record_picks_the_class_of_a_type(kind: str, record_class: type) -> None:
    record = apis.build_record(kind, "r1", user_id="u1", role="user", metadata={"a": 1})
    assert type(record) is record_class
    assert (record.id, record.record_type, record.metadata) == ("r1", kind, {"a": 1})
    assert getattr(record, "user_id", "u1") == "u1"


def test_build_record_gives_an_image_its_mime_type() -> None:
    record = apis.build_record("image", "i1", content="a tile", mime_type=PNG)
    assert isinstance(record, apis.ImageRecord)
    assert (record.mime_type, record.bytes, record.content) == (PNG, None, "a tile")


def test_records_start_valid_without_links_and_compare_by_class() -> None:
    record = apis.MemoryRecord("m1", "text")
    assert record.status is apis.RecordStatus.VALID
    assert record.linked_results == ()
    assert record == apis.MemoryRecord("m1", "text")
    assert record != apis.FactRecord("m1", "text")


def test_required_fields_of_records_have_no_default() -> None:
    for build in (
        lambda: apis.MessageRecord("m1"),  # type: ignore[call-arg]
        lambda: apis.ImageRecord("i1"),  # type: ignore[call-arg]
        lambda: apis.RecordRelation("r", "a", "memory", "b", "fact", "x", "y"),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError):
            build()


def test_r052_each_built_in_relation_has_its_opposite_label() -> None:
    assert OPPOSITE_TYPES == {
        "supersedes": "is_superseded_by",
        "contradicts": "contradicts",
        "refines": "is_refined_by",
        "supports": "is_supported_by",
        "duplicates": "duplicates",
    }


def test_a_memory_link_names_its_ends() -> None:
    link = apis.MemoryLink(**dataclasses.asdict(RELATION))
    assert (link.source_memory_id, link.target_memory_id, link.link_type) == ("a", "b", "supports")


def test_r161_a_batch_takes_the_old_name_of_contents_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="contents="):
        batch = apis.PendingRecordBatch(texts=["a"], record_type="memory")
    assert batch.contents == ["a"]
    assert batch == apis.PendingRecordBatch(contents=["a"], record_type="memory")
    with pytest.warns(DeprecationWarning, match="contents="):
        batch.texts = ["b"]
    assert batch.contents == ["b"]


def test_a_batch_needs_a_type_and_one_kind_of_contents() -> None:
    with pytest.raises(TypeError, match="record_type"):
        apis.PendingRecordBatch(contents=["a"])
    with pytest.raises(TypeError, match="contents"):
        apis.PendingRecordBatch(record_type="memory")
    with (
        pytest.warns(DeprecationWarning, match="contents="),
        pytest.raises(ValueError, match="not both"),
    ):
        apis.PendingRecordBatch(contents=["a"], texts=["a"], record_type="memory")


def test_batches_and_scopes_can_be_changed_and_compared() -> None:
    batch = apis.PendingRecordBatch(contents=["a"], record_type="memory")
    batch.record_type = "fact"
    assert batch != apis.PendingRecordBatch(contents=["a"], record_type="memory")
    scope = apis.SearchScope(user_id="u")
    assert scope == copy.copy(scope)
    scope.exact_agent_match = True
    assert scope != apis.SearchScope(user_id="u")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (apis.ImageMimeType, {"image/png", "image/jpeg", "image/webp"}),
        (apis.RecordStatus, {"valid", "invalid"}),
        (apis.TimeToLiveAnchor, {"created_at", "timestamp"}),
    ],
)
def test_enum_values_are_the_stored_words(kind: type[enum.Enum], values: set[str]) -> None:
    assert {member.value for member in kind} == values


def test_everything_listed_in_apis_can_be_imported_and_nothing_is_listed_twice() -> None:
    assert len(set(apis.__all__)) == len(apis.__all__)
    assert all(hasattr(apis, name) for name in apis.__all__)
