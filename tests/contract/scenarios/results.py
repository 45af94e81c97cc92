"""Search results: fields, text in every format, linked records, budgets, post-processing."""

import oracleagentmemory.core as core
from oracleagentmemory.apis import ImageMimeType, IReranker, RerankResponse, RerankResponseResult
from tests.contract.scenarios.kit import png, prompt_text, scenario, user

TIME = "2024-05-01T10:00:00+00:00"
Format = core.OracleSearchResultFormatConfig
SHOW = (
    "show_thread_id",
    "show_distance",
    "show_timestamp",
    "show_role",
    "show_user_id",
    "show_agent_id",
    "show_status",
    "show_metadata",
)


def shelf(w):
    """One record of every type whose text is 'apple' and its type."""
    client = w.quiet()
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    for kind in ("memory", "fact", "preference", "guideline"):
        thread.add_memory(
            f"apple {kind}",
            memory_id=f"{kind}-1",
            memory_type=kind,
            timestamp=TIME,
            metadata={"source": "a<b", "n": 3, "tags": ["x", "y"]},
        )
    thread.add_messages(
        [
            {
                "role": "assistant",
                "content": "apple message",
                "id": "message-1",
                "timestamp": TIME,
                "metadata": {"k": None},
            }
        ]
    )
    thread.add_image(
        png(),
        description="apple image",
        mime_type=ImageMimeType.PNG,
        image_id="image-1",
        timestamp=TIME,
    )
    client.add_user("u1", "apple user", metadata={"age": 30})
    client.add_agent("a1", "apple agent")
    return client, thread


def one(client, kind, **options):
    """The only result of that type."""
    results = client.search(
        f"apple {kind.removesuffix('_profile')}", user_id="u1", record_types=[kind], **options
    )
    return results[0]


@scenario("result text by type")
def by_type(w):
    """formatted_content of every record type, bare and with everything shown."""
    client, _ = shelf(w)
    everything = Format(**dict.fromkeys(SHOW, True))
    for kind in ("memory", "fact", "preference", "guideline", "message", "image"):
        result = one(client, kind)
        w.step(kind, lambda result=result: result.formatted_content)
        w.step(f"{kind} with everything", lambda result=result: result.format_content(everything))
    w.step(
        "profile",
        lambda: [
            result.record.metadata
            for result in client.search("apple user", user_id="u1", record_types=["user_profile"])
        ],
    )


@scenario("result text by option")
def by_option(w):
    """Each switch alone, on and off; messages and memories."""
    client, _ = shelf(w)
    memory, message = one(client, "memory"), one(client, "message")
    w.step("nothing shown", lambda: memory.format_content(Format(**dict.fromkeys(SHOW, False))))
    w.step(
        "nothing shown of a message",
        lambda: message.format_content(Format(**dict.fromkeys(SHOW, False))),
    )
    for name in SHOW:
        w.step(
            f"only {name}",
            lambda name=name: message.format_content(
                Format(**{**dict.fromkeys(SHOW, False), name: True})
            ),
        )
    w.step("metadata values", lambda: memory.format_content(Format(show_metadata=True)))
    w.step("default config", lambda: memory.format_content(Format()) == memory.formatted_content)
    w.step(
        "plain config",
        lambda: memory.format_content(core.SearchResultFormatConfig()) == memory.formatted_content,
    )


@scenario("result fields")
def fields(w):
    """Properties of a result."""
    client, _ = shelf(w)
    result = one(client, "fact")
    w.steps(
        {
            "record": lambda: result.record,
            "id": lambda: result.id,
            "content": lambda: result.content,
            "status": lambda: result.status,
            "metadata": lambda: result.metadata,
            "timestamp": lambda: result.timestamp,
            "distance": lambda: float(result.distance),
            "linked": lambda: list(result.linked_results),
            "message content": lambda: one(client, "message").content,
            "image content": lambda: one(client, "image").content,
            "types of all": lambda: sorted(
                found.id for found in client.search("apple", user_id="u1")
            ),
        }
    )


@scenario("result text with links")
def linked(w):
    """Linked records inside a result, in both directions, valid and invalid."""
    client = w.quiet()
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    for ident, kind, text in [
        ("new", "memory", "apple pie"),
        ("old", "fact", "pear <cake>"),
        ("why", "guideline", "plum jam & toast"),
    ]:
        thread.add_memory(text, memory_id=ident, memory_type=kind, timestamp=TIME)
    client.link_records(
        "new", "memory", "old", "fact", "supersedes", relation_id="l1", timestamp=TIME
    )
    client.link_records(
        "why", "guideline", "new", "memory", "supports", relation_id="l2", metadata={"by": "hand"}
    )

    def find(query, **options):
        return client.search(query, user_id="u1", max_results=1, **options)[0]

    valid = Format(include_invalid_results=False)
    w.steps(
        {
            "no hops": lambda: find("apple pie").formatted_content,
            "one hop": lambda: (
                find("apple pie", num_hops=1, record_types=["memory", "fact"]).formatted_content
            ),
            "one hop, valid only": lambda: find("apple pie", num_hops=1).format_content(valid),
            "from the other end": lambda: find("plum jam toast", num_hops=1).formatted_content,
            "invalid record": lambda: find("pear cake").formatted_content,
            "invalid record, valid only": lambda: find("pear cake").format_content(valid),
            "invalid record with valid link": lambda: find("pear cake", num_hops=1).format_content(
                valid
            ),
            "links": lambda: sorted(
                (
                    relation.id,
                    relation.relation_type,
                    relation.opposite_relation_type,
                    linked.id,
                    float(linked.distance),
                )
                for relation, linked in find("apple pie", num_hops=1).linked_results
            ),
            "no linked results": lambda: list(
                find("apple pie", num_hops=1, max_linked_results=0).linked_results
            ),
            "one linked result": lambda: len(
                find("apple pie", num_hops=1, max_linked_results=1).linked_results
            ),
            "search excludes invalid": lambda: sorted(
                result.id
                for result in client.search("cake", user_id="u1", include_invalid_results=False)
            ),
            "search includes invalid": lambda: sorted(
                result.id for result in client.search("cake", user_id="u1")
            ),
            "excluded from links": lambda: [
                linked.id
                for _, linked in find(
                    "apple pie", num_hops=1, include_invalid_results=False
                ).linked_results
            ],
            "type filter on links": lambda: [
                linked.id
                for _, linked in find(
                    "apple pie", num_hops=1, record_types=["memory", "fact"]
                ).linked_results
            ],
            "after unlinking": lambda: (
                client.delete_record_link(relation_id="l1"),
                find("pear cake", num_hops=1).formatted_content,
            )[1],
        }
    )


@scenario("result budgets")
def budgets(w):
    """Whole results in rank order while they fit; a token is 3.5 characters."""
    client = w.quiet()
    for number in range(4):
        client.add_memory(
            "apple" + " pad" * number + " " + "x" * (10 + 40 * number),
            memory_id=f"r{number}",
            user_id="u1",
            timestamp=TIME,
        )

    def ids(**options):
        return "".join(result.id[1] for result in client.search("apple", user_id="u1", **options))

    w.step(
        "sizes",
        lambda: [len(result.formatted_content) for result in client.search("apple", user_id="u1")],
    )
    for budget in (1, 44, 45, 46, 47, 50, 90, 100, 110, 150, 180, 190, 200, 260, 1000, 0, -5):
        w.step(f"hard {budget}", lambda budget=budget: ids(token_budget=budget))
        w.step(f"soft {budget}", lambda budget=budget: ids(soft_token_budget=budget))
    w.steps(
        {
            "soft 46, hard 100": lambda: ids(soft_token_budget=46, token_budget=100),
            "soft 180, hard 100": lambda: ids(soft_token_budget=180, token_budget=100),
            "max 2, soft 180": lambda: ids(max_results=2, soft_token_budget=180),
        }
    )


class Order(IReranker):
    """Ranks by a given function of the number of documents."""

    def __init__(self, rank):
        self.rank = rank
        self.asked = []

    def rerank(self, query, documents, **options):
        """Give the scripted order."""
        self.asked.append((query, list(documents)))
        return RerankResponse(
            results=[
                RerankResponseResult(index=index, relevance_score=score)
                for index, score in self.rank(len(documents))
            ]
        )

    async def rerank_async(self, query, documents, **options):
        """Give the scripted order."""
        return self.rerank(query, documents, **options)


@scenario("search configs")
def configs(w):
    """Default number of results, reranking, pruning, budgets of a config."""
    for number in range(20):
        w.store.add(
            ["apple" + " pad" * number],
            record_type="memory",
            record_ids=[f"r{number:02d}"],
            user_ids="u1",
        )
    off = core.MemoryExtractionConfig(extract_memories=False)

    def ids(config, **options):
        client = core.OracleAgentMemory(
            store=w.store, search_config=config, memory_extraction_config=off
        )
        w.clients.append(client)
        return " ".join(result.id[1:] for result in client.search("apple", user_id="u1", **options))

    TopK, Pruning, Mode = (
        core.TopKMemorySearchConfig,
        core.PruningMemorySearchConfig,
        core.PruningEvaluationMode,
    )

    def down(size):
        raise RuntimeError("down")

    backwards = Order(lambda size: [(index, index / size) for index in reversed(range(size))])
    w.steps(
        {
            "top 3": lambda: ids(TopK(max_results=3)),
            "top 3, 5 asked": lambda: ids(TopK(max_results=3), max_results=5),
            "config budget": lambda: ids(TopK(max_results=4, token_budget=1200)),
            "config budget 0": lambda: ids(TopK(max_results=4, token_budget=0)),
            "reranked": lambda: ids(TopK(reranker=backwards), max_results=5),
            "reranker got": lambda: (
                backwards.asked[0][0],
                len(backwards.asked[0][1]) >= 5,
                backwards.asked[0][1][0],
            ),
            "6 candidates": lambda: ids(
                TopK(reranker=backwards, reranker_max_candidates=6), max_results=4
            ),
            "rank missing": lambda: ids(
                TopK(reranker=Order(lambda size: [(0, 1.0)])), max_results=3
            ),
            "rank twice": lambda: ids(
                TopK(reranker=Order(lambda size: [(0, 1.0)] * size)), max_results=3
            ),
            "rank out of range": lambda: ids(
                TopK(reranker=Order(lambda size: [(index + 1, 1.0) for index in range(size)])),
                max_results=3,
            ),
            "reranker fails": lambda: ids(TopK(reranker=Order(down)), max_results=3),
        }
    )

    def judge(limit):
        """Discard documents with more than `limit` words."""
        return lambda prompt, schema: {
            "decision": "discard" if prompt_text(prompt[-1:]).count("pad") > limit else "keep"
        }

    for mode in Mode:
        for name, answer in (
            ("keep", {"decision": "keep"}),
            ("irrelevant", {"decision": "irrelevant"}),
            ("discard", {"decision": "discard"}),
            ("error", RuntimeError("down")),
        ):
            w.llm.script["prune"] = [answer] * 40
            w.step(
                f"{mode.name} {name}",
                lambda mode=mode: ids(Pruning(pruner=w.llm, evaluation_mode=mode), max_results=20),
            )
        w.llm.script["prune"] = [judge(9)] * 40
        w.step(
            f"{mode.name} long ones",
            lambda mode=mode: ids(Pruning(pruner=w.llm, evaluation_mode=mode), max_results=20),
        )
    w.llm.kinds()
    w.llm.script["prune"] = []
    w.steps(
        {
            "pruner llm": lambda: len(
                w.client(llm=False, pruner_llm=w.llm).search("apple", user_id="u1", max_results=8)
            ),
            "pruner asked": lambda: set(w.llm.kinds()),
            "probe points 0": lambda: ids(Pruning(pruner=w.llm, num_probe_points=0)),
            "probe points 17": lambda: ids(Pruning(pruner=w.llm, num_probe_points=17)),
            "protected fraction 2": lambda: ids(Pruning(pruner=w.llm, protected_fraction=2.0)),
            "protected fraction negative": lambda: ids(
                Pruning(pruner=w.llm, protected_fraction=-0.5)
            ),
            "max results 0": lambda: ids(TopK(max_results=0)),
            "candidates 0": lambda: ids(TopK(reranker=backwards, reranker_max_candidates=0)),
            "budget words": lambda: ids(TopK(token_budget="many")),
            "small budget": lambda: ids(TopK(token_budget=500, max_results=2)),
            "no pruner": lambda: Pruning(),
        }
    )


@scenario("results across scopes")
def scopes(w):
    """Which records a client and a thread search see."""
    client = w.quiet()
    for user_id, agent_id in (("u1", "a1"), ("u1", "a2"), ("u2", "a1")):
        for number in (1, 2):
            name = f"{user_id}{agent_id}{number}"
            made = client.create_thread(thread_id=name, user_id=user_id, agent_id=agent_id)
            made.add_memory("apple", memory_id=f"m-{name}")
            made.add_messages([user("apple", id=f"n-{name}")])
    client.add_memory("apple", memory_id="m-none")
    client.add_memory("apple", memory_id="m-u1", user_id="u1")
    thread = client.get_thread("u1a11")

    def ids(owner, **options):
        return sorted(result.id for result in owner.search("apple", max_results=50, **options))

    w.steps(
        {
            "user": lambda: ids(client, user_id="u1"),
            "user and agent": lambda: ids(client, user_id="u1", agent_id="a1"),
            "user and no agent": lambda: ids(client, user_id="u1", agent_id=None),
            "user and thread": lambda: ids(client, user_id="u1", thread_id="u1a11"),
            "user and exact thread": lambda: ids(
                client, user_id="u1", thread_id="u1a11", exact_thread_match=True
            ),
            "nobody": lambda: ids(client, user_id=None),
            "stranger": lambda: ids(client, user_id="u9"),
            "thread": lambda: ids(thread),
            "thread, exact thread": lambda: ids(thread, exact_thread_match=True),
            "thread, any agent": lambda: ids(thread, exact_agent_match=False),
            "thread, messages": lambda: ids(thread, record_types=["message"]),
            "thread, other agent": lambda: ids(thread, agent_id="a2"),
            "thread, thread None": lambda: ids(thread, thread_id=None),
        }
    )
