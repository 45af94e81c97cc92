"""Links of new memories to older ones of the same user and agent."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracleagentmemory.apis.records import MEMORY_TYPES, MemoryRecord
from oracleagentmemory.core.extractors.jobs import JobProblem
from oracleagentmemory.core.extractors.journal import FencedError, JobJournal
from oracleagentmemory.core.extractors.linkprompting import CANDIDATES_PER_SOURCE, link_prompts
from oracleagentmemory.core.extractors.normalise import normalised_text
from oracleagentmemory.core.extractors.parsinglinks import LinkResolution, parse_links
from oracleagentmemory.core.extractors.payloads import LIFECYCLE_LINK_TYPES
from oracleagentmemory.core.extractors.prompting import ShownMemory
from oracleagentmemory.core.extractors.storing import NewMemory
from oracleagentmemory.errors import AgentMemoryError, InvalidInputError, RetryableError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from oracleagentmemory.core.extractors.keptanswers import KeptAnswers
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

#: Characters of a text by which memories like it are looked for; each 4,000 are one search.
MOST_QUERY_CHARACTERS = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkScope:
    """Whose memories may be linked: those of exactly this user and agent.

    Attributes:
        thread_id: Only those of this thread, where ``exact_thread``.
    """

    user_id: str | None
    agent_id: str | None
    thread_id: str | None = None
    exact_thread: bool = False


@dataclass(frozen=True, slots=True)
class Linked:
    """What came of linking.

    Attributes:
        relation_ids: Relations that are stored.
        problems: Links that are not.
    """

    relation_ids: list[str] = field(default_factory=list)
    problems: list[JobProblem] = field(default_factory=list)


def find_candidates(
    store: OracleMemoryStore,
    text: str,
    scope: LinkScope,
    without: Collection[str] = (),
) -> list[MemoryRecord]:
    """Return the older memories most like a text, nearest first; blank texts are like none.

    A store that cannot search texts, since it has no embedder, finds none.

    Args:
        without: Ids that are no candidates: the new memories themselves.
    """
    query = text[-MOST_QUERY_CHARACTERS:]
    if not query.strip():
        return []
    try:
        hits = store.search(
            query,
            CANDIDATES_PER_SOURCE + len(without),
            user_id=scope.user_id,
            agent_id=scope.agent_id,
            thread_id=scope.thread_id,
            exact_user_match=True,
            exact_agent_match=True,
            exact_thread_match=scope.exact_thread,
            record_types=set(MEMORY_TYPES),
            include_invalid_results=False,
        )
    except InvalidInputError:
        if store.embedder is not None:
            raise
        return []
    found = [record for record, _ in hits if isinstance(record, MemoryRecord)]
    return [record for record in found if record.id not in without][:CANDIDATES_PER_SOURCE]


def shown_memory(record: MemoryRecord) -> ShownMemory:
    """Return a stored memory as a prompt shows it."""
    return ShownMemory(record.id, record.record_type, record.content or "", record.timestamp)


class Linking:
    """Asks a model how new memories relate to older ones, and stores what it says.

    Args:
        name: What the ids of relations are made from: a run again makes the same ones.
        token_limit: Estimated tokens of all requests of one pass; below 1 no limit.
        instructions: The caller's, for the prompt.
    """

    def __init__(
        self,
        store: OracleMemoryStore,
        llm: KeptAnswers,
        journal: JobJournal,
        *,
        name: str,
        token_limit: int,
        instructions: str | None,
    ) -> None:
        self._store = store
        self._llm = llm
        self._journal = journal
        self._name = name
        self._token_limit = token_limit
        self._instructions = instructions

    def resolve(
        self,
        sources: Sequence[NewMemory],
        candidates: Mapping[str, Sequence[ShownMemory]],
        linked: Linked,
        *,
        replace_texts: bool,
    ) -> None:
        """Ask about the new memories that have candidates, and store their links.

        Args:
            candidates: Older memories by the id of the new one.
            linked: Takes up what comes of it, also of what precedes a failure.
            replace_texts: Whether a new memory takes the text that the model merged from it and
                the one that it ends.

        Raises:
            RetryableError: If the model or the store is busy.
            FencedError: If this run may not write any more.
        """
        by_id = {one.memory_id: one for one in sources}
        among = {one.memory_id: one for found in candidates.values() for one in found}
        plan = link_prompts(
            [
                ShownMemory(one.memory_id, one.record_type, one.text, one.timestamp)
                for one in sources
            ],
            candidates,
            instructions=self._instructions,
            token_limit=self._token_limit,
        )
        for prompt in plan.prompts:
            with self._llm.at("links", prompt.version) as llm:
                asked = llm.generate(prompt.messages, response_json_schema=dict(prompt.schema))
            parsed = parse_links(asked.text, prompt.source_ids, prompt.target_ids)
            linked.problems.extend(JobProblem("links", one.reason, one.raw) for one in parsed.lost)
            for source_id, resolution in parsed.resolutions.items():
                self.store(by_id[source_id], resolution, among, linked, replace_text=replace_texts)
        if plan.left_out:
            names = ", ".join(plan.left_out)
            reason = f"memory_link_extraction_token_limit has no room for the links of {names}"
            linked.problems.append(JobProblem("links", reason))

    def store(
        self,
        source: NewMemory,
        resolution: LinkResolution,
        among: Mapping[str, ShownMemory],
        linked: Linked,
        *,
        replace_text: bool = False,
    ) -> None:
        """Store the links of one memory, each by itself; what is refused is noted.

        Args:
            among: The memories that it may be linked to, by id.
        """
        text = resolution.updated_text if replace_text else None
        for target_id, link_type in resolution.links:
            merged = text if link_type in LIFECYCLE_LINK_TYPES else None
            relation_id = self._relation_id(source.memory_id, target_id, link_type)
            key = f"link {relation_id}"
            if self._journal.recall(key) is None:
                change = self._link(key, relation_id, source, among[target_id], link_type, merged)
                try:
                    is_merged = self._store.write(change)
                except (RetryableError, FencedError):
                    raise
                except AgentMemoryError as refused:
                    linked.problems.append(JobProblem("links", str(refused)))
                    continue
                if merged is not None and not is_merged:
                    reason = f"memory {source.memory_id} keeps its text: it was changed meanwhile, "
                    reason += "or another memory says the same as the merged one"
                    linked.problems.append(JobProblem("links", reason, merged))
            linked.relation_ids.append(relation_id)
            text = None if merged is not None else text

    def _relation_id(self, *parts: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, "\n".join((self._name, *parts))))

    def _link(
        self,
        key: str,
        relation_id: str,
        source: NewMemory,
        target: ShownMemory,
        link_type: str,
        text: str | None,
    ) -> Prepared[bool]:
        """Return the change that links two memories, and gives the new one its merged text.

        It gives whether the memory says that now.
        """
        relation = self._store.prepare_add_relations(
            source.memory_id,
            source.record_type,
            target.memory_id,
            target.record_type,
            link_type,
            relation_ids=relation_id,
        )
        merging = text is not None and text != source.text
        update = (
            self._store.prepare_update(source.record_type, source.memory_id, content=text)
            if merging
            else None
        )

        def apply(transaction: WriteTransaction) -> bool:
            self._journal.fence(transaction)
            merges = update is not None and self._may_say(source, target, str(text))
            if update is not None and merges:
                update.apply(transaction)
            relation.apply(transaction)
            self._journal.remember(key, relation_id, transaction)
            return merges or not merging

        return Prepared(apply)

    def _may_say(self, source: NewMemory, target: ShownMemory, text: str) -> bool:
        """Whether a memory is as it was stored, and its thread has no other with the text."""
        stored = self._store.get_memory(source.memory_id)
        if stored is None or stored.content != source.text:
            return False
        if stored.thread_id is None:
            return True
        own = (source.memory_id, target.memory_id)
        return not any(
            (one.memory_type, normalised_text(one.content))
            == (source.record_type, normalised_text(text))
            for one in self._store.thread_texts(stored.thread_id)
            if one.memory_id not in own and (one.user_id, one.agent_id) == _owners(stored)
        )


def _owners(memory: MemoryRecord) -> tuple[str | None, str | None]:
    return memory.user_id, memory.agent_id
