"""Links of extracted and added memories: requests, answers, status of the targets."""

from oracleagentmemory import core
from tests.contract.scenarios.kit import asked, extraction, found, scenario, user

LinkMode = core.MemoryLinkExtractionMode


def linked(w, client):
    """All links as (source text, relation, target id)."""
    text = {memory.id: memory.content for memory in client.list_memories()}
    return sorted(
        (text[row.source_record_id], row.relation_type, row.target_record_id)
        for row in w.store.list_relations()
    )


def resolution(*links, text=None):
    """A link answer that gives every new memory these links."""

    def answer(prompt, schema):
        return {
            "source_resolutions": {
                key: {
                    "updated_source_memory_text": text,
                    "links": [
                        {"target_memory_id": target, "link_type": kind} for target, kind in links
                    ],
                }
                for key in asked(schema)
            }
        }

    return answer


@scenario("links after extraction")
def after(w):
    """POST_EXTRACTION link answers."""
    client, thread = w.opened()
    client.create_thread(thread_id="t0", user_id="u1", agent_id="a1").add_memory(
        "likes apple pie", memory_id="old1", memory_type="preference", autonomous_linking=False
    )
    thread.add_memory(
        "apple pie is cake", memory_id="old2", memory_type="fact", autonomous_linking=False
    )
    number = iter(range(100))

    def run(answer):
        text = f"likes apple pie {next(number)}th"
        w.llm.calls.clear()
        w.llm.script["extraction"], w.llm.script["links"] = (
            [extraction(found(text, "preference"))],
            [answer],
        )
        thread.add_messages([user("hello")])
        made = [memory for memory in client.list_memories() if memory.id not in ("old1", "old2")]
        result = {
            "calls": w.llm.kinds(),
            "links": linked(w, client),
            "texts": sorted(memory.content for memory in made),
            "status": [
                w.store.get("preference", "old1").status,
                w.store.get("fact", "old2").status,
            ],
        }
        for memory in made:
            client.delete_memory(memory.id)
        return result

    w.steps(
        {
            "no links": lambda: run(
                lambda prompt, schema: {"source_resolutions": dict.fromkeys(asked(schema))}
            ),
            "supports": lambda: run(resolution(("old1", "supports"))),
            "supersedes": lambda: run(resolution(("old1", "supersedes"))),
            "valid again": lambda: w.store.get("preference", "old1").status,
            "refines with text": lambda: run(
                resolution(("old1", "refines"), text="likes apple pie, refined")
            ),
            "duplicates with text": lambda: run(
                resolution(("old2", "duplicates"), text="likes apple pie, merged")
            ),
            "supports with text": lambda: run(resolution(("old1", "supports"), text="not used")),
            "two targets": lambda: run(resolution(("old1", "contradicts"), ("old2", "supports"))),
        }
    )


@scenario("links in batches")
def batches(w):
    """One request for ten new memories at most; none without candidates."""
    _client, thread = w.opened()

    def run(count, word):
        w.llm.calls.clear()
        w.llm.script["extraction"] = [
            extraction(*[found(f"{word} run{count} number x{index}") for index in range(count)])
        ]
        thread.add_messages([user("hello")])
        return [len(asked(schema)) for kind, _, schema in w.llm.calls if kind == "links"]

    w.steps(
        {
            "no candidates": lambda: run(3, "apple"),
            "candidates": lambda: run(12, "apple"),
            "many": lambda: run(23, "apple"),
        }
    )


@scenario("links during extraction")
def during(w):
    """DURING_EXTRACTION: candidates are numbered in the prompt."""
    client, thread = w.opened(memory_link_extraction_mode=LinkMode.DURING_EXTRACTION)
    thread.add_memory(
        "likes apple pie", memory_id="old", memory_type="preference", autonomous_linking=False
    )

    def run(text, *links):
        w.llm.script["extraction with links"] = [
            extraction(
                {
                    **found(text),
                    "links": [
                        {"target_candidate_index": index, "link_type": kind}
                        for index, kind in links
                    ]
                    or None,
                }
            )
        ]
        thread.add_messages([user("apple pie")])
        return {
            "calls": w.llm.kinds(),
            "links": linked(w, client),
            "old": w.store.get("preference", "old").status,
        }

    w.steps(
        {
            "no link": lambda: run("one"),
            "link": lambda: run("two", (1, "supports")),
            "lifecycle link": lambda: run("three", (1, "supersedes")),
            "texts": lambda: sorted(memory.content for memory in client.list_memories()),
        }
    )


@scenario("links of an added memory")
def added(w):
    """add_memory: autonomous and explicit links."""
    client, thread = w.opened()
    w.step(
        "first",
        lambda: (
            thread.add_memory(
                "likes apple pie",
                memory_id="old",
                memory_type="preference",
                autonomous_linking=False,
            ),
            w.llm.kinds(),
        ),
    )

    def run(owner, name, answer=None, **options):
        w.llm.calls.clear()
        w.llm.script["links"] = [answer] if answer else []
        owner.add_memory(f"apple pie {name}", memory_id=name, **options)
        return {
            "calls": w.llm.kinds(),
            "links": [
                (row.source_record_id, row.relation_type, row.target_record_id)
                for row in w.store.list_relations()
                if row.source_record_id == name
            ],
        }

    w.steps(
        {
            "autonomous": lambda: run(thread, "auto", resolution(("old", "supports"))),
            "off": lambda: run(thread, "off", autonomous_linking=False),
            "error keeps it": lambda: run(thread, "error", RuntimeError("down")),
            "stored after error": lambda: w.store.get("memory", "error").content,
            "text is not used": lambda: (
                run(thread, "text", resolution(("old", "refines"), text="other words")),
                w.store.get("memory", "text").content,
            )[1],
            "explicit": lambda: run(
                thread,
                "explicit",
                memory_id_to_link="old",
                link_type="contradicts",
                autonomous_linking=False,
            ),
            "inherits scope": lambda: (
                client.add_memory(
                    "plain words",
                    memory_id="heir",
                    memory_id_to_link="old",
                    link_type="supports",
                    autonomous_linking=False,
                ),
                w.store.get("memory", "heir"),
            )[1],
            "own scope": lambda: (
                client.add_memory(
                    "plain words",
                    memory_id="own",
                    user_id="u2",
                    memory_id_to_link="old",
                    link_type="supports",
                    autonomous_linking=False,
                ),
                w.store.get("memory", "own").user_id,
            )[1],
            "link details": lambda: (
                client.add_memory(
                    "plain words",
                    memory_id="details",
                    memory_id_to_link="old",
                    link_type="supports",
                    link_id="l1",
                    link_timestamp="2024-05-01T10:00:00+00:00",
                    link_metadata={"by": "hand"},
                    autonomous_linking=False,
                ),
                w.store.get_relation(relation_id="l1"),
            )[1],
        }
    )
