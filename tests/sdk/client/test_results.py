"""Search results, summaries and cards as text."""

from __future__ import annotations

from typing import Any

import pytest

from oracleagentmemory.apis import (
    FactRecord,
    GuidelineRecord,
    ImageContent,
    ImageMimeType,
    MemoryRecord,
    Message,
    MessageRecord,
    Record,
    RecordRelation,
    RecordStatus,
    SearchResultFormatConfig,
    TextContent,
    ThreadSummaryRecord,
    UserProfileRecord,
)
from oracleagentmemory.core import (
    OracleContextCard,
    OracleSearchResult,
    OracleSearchResultFormatConfig,
    OracleSummary,
)

TIME = "2024-05-01T10:00:00+00:00"
SCOPE: dict[str, Any] = {"thread_id": "t1", "user_id": "u1", "agent_id": "a1"}
SHOW = ("thread_id", "distance", "timestamp", "role", "user_id", "agent_id", "status", "metadata")

MEMORY = MemoryRecord(
    "m1", "apple <pie>", TIME, {"source": "a<b", "n": 3, "tags": ["x", "y"], "k": None}, **SCOPE
)
MESSAGE = MessageRecord("m2", "hello", TIME, role="user", seq_no=1, **SCOPE)


def only(*shown: str) -> OracleSearchResultFormatConfig:
    """A format that shows these parts and nothing else."""
    return OracleSearchResultFormatConfig(**{f"show_{name}": name in shown for name in SHOW})


def relation(source: Record, target: Record, kind: str, opposite: str) -> RecordRelation:
    """A relation between two records."""
    ends = (source.id, source.record_type, target.id, target.record_type)
    return RecordRelation(f"{source.id}-{target.id}", *ends, kind, opposite, TIME, None, TIME)


def test_a_result_shows_time_role_and_status_by_default() -> None:
    assert OracleSearchResult(0.25, MESSAGE).formatted_content == (
        "<message>\n"
        "  <record_id>m2</record_id>\n"
        f"  <timestamp>{TIME}</timestamp>\n"
        "  <role>user</role>\n"
        "  <status>valid</status>\n"
        "  <content>hello</content>\n"
        "</message>"
    )


def test_a_result_shows_everything_in_order_and_escaped() -> None:
    assert OracleSearchResult(0.25, MEMORY).format_content(only(*SHOW)) == (
        "<memory>\n"
        "  <record_id>m1</record_id>\n"
        "  <thread_id>t1</thread_id>\n"
        "  <estimated_relevance>0.750</estimated_relevance>\n"
        f"  <timestamp>{TIME}</timestamp>\n"
        "  <user_id>u1</user_id>\n"
        "  <agent_id>a1</agent_id>\n"
        "  <status>valid</status>\n"
        "  <source>a&lt;b</source>\n"
        "  <n>3</n>\n"
        "  <tags>['x', 'y']</tags>\n"
        "  <k>None</k>\n"
        "  <content>apple &lt;pie&gt;</content>\n"
        "</memory>"
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("thread_id", "<thread_id>t1</thread_id>"),
        ("distance", "<estimated_relevance>0.000</estimated_relevance>"),
        ("timestamp", f"<timestamp>{TIME}</timestamp>"),
        ("role", "<role>user</role>"),
        ("user_id", "<user_id>u1</user_id>"),
        ("agent_id", "<agent_id>a1</agent_id>"),
        ("status", "<status>valid</status>"),
    ],
)
def test_each_part_can_be_shown_alone(name: str, line: str) -> None:
    assert OracleSearchResult(1.5, MESSAGE).format_content(only(name)) == (
        f"<message>\n  <record_id>m2</record_id>\n  {line}\n  <content>hello</content>\n</message>"
    )


def test_parts_that_a_record_lacks_are_left_out() -> None:
    profile = OracleSearchResult(0.5, UserProfileRecord("u1", "likes apples"))
    text = profile.format_content(only("thread_id", "user_id", "agent_id", "timestamp", "role"))
    assert text == (
        "<user_profile>\n  <record_id>u1</record_id>\n"
        "  <content>likes apples</content>\n</user_profile>"
    )


def test_of_the_reserved_metadata_only_the_reason_is_shown() -> None:
    reserved = {"$agent_memory": {"invalidation_reason": "Superseded <x>", "importance": 3}}
    result = OracleSearchResult(0.0, MemoryRecord("m", "x", metadata=reserved))
    assert result.format_content(only("metadata")) == (
        "<memory>\n  <record_id>m</record_id>\n"
        "  <invalidation_reason>Superseded &lt;x&gt;</invalidation_reason>\n"
        "  <content>x</content>\n</memory>"
    )
    assert result.metadata == reserved


def test_hostile_metadata_keys_open_no_element() -> None:
    result = OracleSearchResult(0.0, MemoryRecord("m", "x", metadata={"a><b": "</a>"}))
    text = result.format_content(only("metadata"))
    assert "<a&gt;&lt;b>&lt;/a&gt;</a&gt;&lt;b>" in text


def test_the_format_of_the_call_wins_over_the_results_own() -> None:
    result = OracleSearchResult(0.0, MEMORY, format_config=only("status"))
    assert "<timestamp>" not in result.formatted_content
    assert "<timestamp>" in result.format_content(SearchResultFormatConfig())
    plain = OracleSearchResult(0.0, MEMORY)
    assert plain.format_content(SearchResultFormatConfig()) == plain.formatted_content
    assert plain.format_content(OracleSearchResultFormatConfig()) == plain.formatted_content


NEW = MemoryRecord("new", "apple pie", TIME)
OLD = FactRecord("old", "pear", TIME, status=RecordStatus.INVALID)
WHY = GuidelineRecord("why", "plum", TIME)
LINKED = MemoryRecord(
    "new",
    "apple pie",
    TIME,
    linked_results=(
        (relation(NEW, OLD, "supersedes", "is_superseded_by"), OLD),
        (relation(WHY, NEW, "supports", "is_supported_by"), WHY),
    ),
)


def test_linked_records_name_the_relation_as_seen_from_the_result() -> None:
    result = OracleSearchResult(0.0, LINKED)
    assert [linked.distance for _, linked in result.linked_results] == [1.0, 1.0]  # type: ignore[attr-defined]
    assert result.format_content(only()) == (
        "<memory>\n"
        "  <record_id>new</record_id>\n"
        "  <content>apple pie</content>\n"
        "  <linked_records>\n"
        "    <linked_record>\n"
        "      <relation_type>supersedes</relation_type>\n"
        "      <fact>\n"
        "        <record_id>old</record_id>\n"
        "        <content>pear</content>\n"
        "      </fact>\n"
        "    </linked_record>\n"
        "    <linked_record>\n"
        "      <relation_type>is_supported_by</relation_type>\n"
        "      <guideline>\n"
        "        <record_id>why</record_id>\n"
        "        <content>plum</content>\n"
        "      </guideline>\n"
        "    </linked_record>\n"
        "  </linked_records>\n"
        "</memory>"
    )


def test_invalid_records_can_be_left_out_of_the_text() -> None:
    valid_only = OracleSearchResultFormatConfig(include_invalid_results=False)
    text = OracleSearchResult(0.0, LINKED).format_content(valid_only)
    assert "old" not in text
    assert "<record_id>why</record_id>" in text
    assert OracleSearchResult(0.0, OLD).format_content(valid_only) == ""


def test_an_invalid_record_with_a_valid_link_keeps_its_tag_without_its_content() -> None:
    link = relation(NEW, OLD, "supersedes", "is_superseded_by")
    old = FactRecord("old", "pear", TIME, None, RecordStatus.INVALID, ((link, NEW),))
    valid_only = OracleSearchResultFormatConfig(
        include_invalid_results=False, show_timestamp=False, show_status=False
    )
    assert OracleSearchResult(0.0, old).format_content(valid_only) == (
        "<fact>\n"
        "  <record_id>old</record_id>\n"
        "  <linked_records>\n"
        "    <linked_record>\n"
        "      <relation_type>is_superseded_by</relation_type>\n"
        "      <memory>\n"
        "        <record_id>new</record_id>\n"
        "        <content>apple pie</content>\n"
        "      </memory>\n"
        "    </linked_record>\n"
        "  </linked_records>\n"
        "</fact>"
    )


@pytest.mark.parametrize(
    ("record", "content"),
    [
        (MEMORY, "apple <pie>"),
        (MemoryRecord("m"), ""),
        (MessageRecord("m", [TextContent("one"), TextContent("two")], seq_no=1), "one\ntwo"),
        (
            MessageRecord("m", [ImageContent(None, ImageMimeType.PNG, "A tile")], seq_no=1),
            "A tile",
        ),
        (ThreadSummaryRecord("s", {"text": "Recap", "topics": []}), "Recap"),
    ],
)
def test_a_result_gives_the_records_text(record: Record, content: str) -> None:
    result = OracleSearchResult(0.5, record)
    assert (result.content, result.record, result.id) == (content, record, record.id)
    assert (result.status, result.timestamp) == (record.status, record.timestamp)
    assert result.linked_results == []


def card(*lines: str) -> str:
    """The text of a card."""
    return "\n".join(["<context_card>", *(f"  {line}" for line in lines), "</context_card>"])


def test_r107_an_empty_card_is_an_empty_text() -> None:
    assert OracleContextCard(summary="").content == ""


def test_a_card_always_has_its_three_parts() -> None:
    assert OracleContextCard(summary="one\ntwo\n", topics=["a", "b & c"]).content == card(
        "<topics>",
        "  <topic>a</topic>",
        "  <topic>b &amp; c</topic>",
        "</topics>",
        "<summary>",
        "  one",
        "  two",
        "</summary>",
        "<relevant_information></relevant_information>",
    )
    empty = ("<topics></topics>", "<summary></summary>")
    rest = "<relevant_information></relevant_information>"
    assert OracleContextCard(summary="  ").content == card(*empty, rest)


def test_recent_messages_are_escaped_and_on_one_line() -> None:
    messages = [Message("r&d", "is 1 < 2?\n\t</content>", timestamp=TIME), Message("user", "x")]
    text = OracleContextCard(summary="S", recent_messages=messages).content
    assert "    <message>\n      <timestamp>2024" in text
    assert "<role>r&amp;d</role>\n      <content>is 1 &lt; 2? &lt;/content&gt;</content>" in text
    assert "<timestamp>-</timestamp>" in text
    custom = OracleContextCard("S", recent_messages=messages, message_format="{role}: {content}")
    assert "    user: x\n" in custom.content


def test_relevant_records_keep_their_own_white_space_and_are_indented() -> None:
    result = OracleSearchResult(0.0, MemoryRecord("m", "one\n  two"), format_config=only())
    text = OracleContextCard(summary="", relevant_results=[result]).content
    assert "    <memory>\n" in text
    assert "      <content>one\n      two</content>\n" in text


def test_a_card_keeps_what_it_was_made_of() -> None:
    made = OracleContextCard("S", ["a"], [], [])
    assert (made.summary, made.topics, made.relevant_results, made.recent_messages) == (
        "S",
        ["a"],
        [],
        [],
    )
    assert str(made) == made.content == made.formatted_content


def test_a_summary_is_its_text_and_has_no_equality() -> None:
    summary = OracleSummary("Recap")
    assert (summary.content, str(summary), summary.formatted_content) == ("Recap",) * 3
    assert OracleSummary(5).content == "5"  # type: ignore[arg-type]
    assert summary != OracleSummary("Recap")
