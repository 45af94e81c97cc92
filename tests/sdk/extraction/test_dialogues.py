"""Imported dialogues teach the same, whether extraction runs INLINE or in the background."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core import (
    BackgroundExtractionQueueFullBehavior,
    MemoryExtractionConfig,
    MemoryExtractionMode,
    MemoryLinkExtractionMode,
)
from oracleagentmemory.core.extractors.payloads import LINK_TYPES
from oracleagentmemory.testing import ScriptedModelServer
from tests.sdk.extraction.dialogues import (
    Dialogue,
    Learnt,
    ThreadEmbedder,
    expected_memories,
    import_in_turns,
    import_one_by_one,
    read_dialogues,
    script,
    taught_by,
)
from tests.sdk.extraction.models import open_client, scripted_llm

INLINE = MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.INLINE)
BACKGROUND = MemoryExtractionConfig(
    extraction_mode=MemoryExtractionMode.BACKGROUND,
    background_extraction_queue_full_behavior=BackgroundExtractionQueueFullBehavior.WAIT_THEN_RAISE,
)


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(script()) as started:
        yield started


def learn(
    path: Path,
    server: ScriptedModelServer,
    mode: MemoryExtractionConfig,
    links: MemoryLinkExtractionMode,
    dialogues: Sequence[Dialogue],
) -> set[Learnt]:
    """Import dialogues into a file of their own and return what they have taught."""
    mode.memory_extraction_window, mode.memory_extraction_frequency = 6, 4
    mode.memory_link_extraction_mode = links
    with open_client(path, scripted_llm(server), mode, ThreadEmbedder()) as (client, store):
        if mode.extraction_mode is MemoryExtractionMode.INLINE:
            import_one_by_one(client, dialogues)
        else:
            import_in_turns(client, dialogues)
            client.wait_for_memory_extraction(timeout=None)
        results = client.extraction_results()
        assert {one.state for one in results} == {"succeeded"}, results
        assert len(store.list("message", limit=None)) == sum(len(d.messages) for d in dialogues)
        return expected_memories(store)


def check_all_that_was_said_is_there(learnt: set[Learnt], dialogues: Sequence[Dialogue]) -> None:
    """Every message that extraction saw has its memories, each with the message as a source."""
    found: dict[tuple[str, str], list[Learnt]] = {}
    for one in learnt:
        for message_id in one[6]:
            found.setdefault((message_id, one[3]), []).append(one)
    for dialogue in dialogues:
        # The last ones wait until four have come.
        seen = dialogue.messages[: len(dialogue.messages) // 4 * 4]
        for message in seen:
            for kind, text in taught_by(" ".join(message["content"].split())):
                memories = found.get((message["id"], kind), [])
                assert any(one[4].startswith(text.rstrip(".")) for one in memories), (message, text)
    scopes = {(one.thread_id, one.user_id, one.agent_id) for one in dialogues}
    assert {one[:3] for one in learnt} <= scopes


def check_both_modes_agree(
    folder: Path,
    server: ScriptedModelServer,
    dialogues: Sequence[Dialogue],
    links: MemoryLinkExtractionMode,
) -> None:
    inline = learn(folder / "inline.sqlite3", server, INLINE, links, dialogues)
    background = learn(folder / "background.sqlite3", server, BACKGROUND, links, dialogues)
    assert inline == background
    check_all_that_was_said_is_there(inline, dialogues)
    linked = [one for one in inline if one[7]]
    assert len(linked) > len(dialogues)
    assert {one[5] for one in inline} == {RecordStatus.VALID, RecordStatus.INVALID}
    assert {link[0] for one in linked for link in one[7]} == set(LINK_TYPES)


@pytest.mark.parametrize(
    "links",
    [MemoryLinkExtractionMode.POST_EXTRACTION, MemoryLinkExtractionMode.DURING_EXTRACTION],
)
def test_twenty_five_dialogues_teach_the_same_inline_and_in_the_background(
    links: MemoryLinkExtractionMode, tmp_path: Path, server: ScriptedModelServer
) -> None:
    dialogues = read_dialogues(25, threads_per_scope=5)
    check_both_modes_agree(tmp_path, server, dialogues, links)
    assert server.most_at_once > 1


@pytest.mark.long
def test_five_hundred_dialogues_teach_the_same_inline_and_in_the_background(
    tmp_path: Path, server: ScriptedModelServer
) -> None:
    dialogues = read_dialogues(500, threads_per_scope=10)
    assert len(dialogues) == 500
    links = MemoryLinkExtractionMode.POST_EXTRACTION
    check_both_modes_agree(tmp_path, server, dialogues, links)
