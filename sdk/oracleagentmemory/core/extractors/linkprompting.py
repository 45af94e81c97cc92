"""The prompts that ask a model how new memories relate to existing ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oracleagentmemory.apis.llms.llm import Prompt
from oracleagentmemory.core.budgets import CHARACTERS_PER_TOKEN
from oracleagentmemory.core.extractors.payloads import link_schema
from oracleagentmemory.core.extractors.prompting import ShownMemory, system_prompt
from oracleagentmemory.core.markup import block, element

#: Name and version of the prompt: the file of that name. A changed text is a new file.
LINKS_PROMPT = "memory-links-1"
#: New memories that one request asks about.
SOURCES_PER_REQUEST = 10
#: Existing memories that are shown for one new memory.
CANDIDATES_PER_SOURCE = 7

_CLOSING = "Now give the links of each new memory as JSON."


@dataclass(frozen=True, slots=True)
class LinkPrompt:
    """One request.

    Attributes:
        messages: For ``ILlm.generate``.
        version: Name and version of the prompt.
        schema: Of the answer.
        source_ids: The new memories that it asks about.
        target_ids: The existing memories that it shows.
        size: Characters of the prompt.
    """

    messages: Prompt
    version: str
    schema: Mapping[str, Any]
    source_ids: tuple[str, ...]
    target_ids: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """The requests for the links of new memories.

    Attributes:
        left_out: New memories that have candidates but no room in the budget.
    """

    prompts: tuple[LinkPrompt, ...]
    left_out: tuple[str, ...] = ()


def link_prompts(
    sources: Sequence[ShownMemory],
    candidates: Mapping[str, Sequence[ShownMemory]],
    *,
    instructions: str | None = None,
    token_limit: int = 0,
) -> LinkPlan:
    """Plan the requests for the links of new memories; one without candidates is not asked about.

    Args:
        sources: The new memories.
        candidates: What each may be linked to, the nearest first, by the new memory's id. A new
            memory itself is never shown as its own candidate.
        instructions: The caller's, added to the system prompt.
        token_limit: Estimated tokens of all prompts together; below 1 no limit. Where it is
            tight, far candidates are left out first, then new memories.
    """
    system = system_prompt(LINKS_PROMPT, instructions)
    near = {
        one.memory_id: [
            other for other in candidates.get(one.memory_id, ()) if other.memory_id != one.memory_id
        ][:CANDIDATES_PER_SOURCE]
        for one in sources
    }
    waiting = [one for one in sources if near[one.memory_id]]
    room = int(token_limit * CHARACTERS_PER_TOKEN) if token_limit >= 1 else None
    prompts: list[LinkPrompt] = []
    while waiting:
        prompt = _largest(system, waiting[:SOURCES_PER_REQUEST], near, room)
        if prompt is None:
            break
        prompts.append(prompt)
        waiting = waiting[len(prompt.source_ids) :]
        room = None if room is None else room - prompt.size
    return LinkPlan(tuple(prompts), tuple(one.memory_id for one in waiting))


def _largest(
    system: str,
    batch: Sequence[ShownMemory],
    near: Mapping[str, Sequence[ShownMemory]],
    room: int | None,
) -> LinkPrompt | None:
    """Return the request that fits about most new memories, then with most candidates."""
    sizes = [(len(batch), each) for each in range(CANDIDATES_PER_SOURCE, 0, -1)]
    sizes += [(count, 1) for count in range(len(batch) - 1, 0, -1)]
    for count, each in sizes:
        prompt = _prompt(system, batch[:count], near, each)
        if room is None or prompt.size <= room:
            return prompt
    return None


def _prompt(
    system: str,
    batch: Sequence[ShownMemory],
    near: Mapping[str, Sequence[ShownMemory]],
    each: int,
) -> LinkPrompt:
    targets = {other.memory_id: other for one in batch for other in near[one.memory_id][:each]}
    text = "\n".join(
        [
            block("new_memories", map(_memory, batch)),
            block("existing_memories", map(_memory, targets.values())),
            "",
            _CLOSING,
        ]
    )
    source_ids = tuple(one.memory_id for one in batch)
    return LinkPrompt(
        messages=[{"role": "system", "content": system}, {"role": "user", "content": text}],
        version=LINKS_PROMPT,
        schema=link_schema(source_ids),
        source_ids=source_ids,
        target_ids=tuple(targets),
        size=len(system) + len(text),
    )


def _memory(memory: ShownMemory) -> str:
    children = [
        element("id", memory.memory_id),
        element("record_type", memory.record_type),
        element("timestamp", memory.timestamp or "-"),
        element("text", memory.text),
    ]
    return block("memory", children)
