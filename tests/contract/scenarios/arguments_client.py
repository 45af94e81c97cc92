"""Bad and borderline arguments of the client: configs, threads, memories, links, search."""

import oracleagentmemory.core as core
from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.apis.searchscope import SearchScope
from tests.contract.scenarios.kit import scenario

Config = core.MemoryExtractionConfig


@scenario("client construction")
def construction(w):
    """Which combinations of constructor arguments are refused."""

    def build(**options):
        client = core.OracleAgentMemory(**options)
        w.clients.append(client)
        return type(client).__name__

    w.steps(
        {
            "nothing": lambda: build(),
            "store and connection": lambda: build(store=w.store, connection=object()),
            "schema policy with store": lambda: build(
                store=w.store, schema_policy="require_existing"
            ),
            "store id with store": lambda: build(store=w.store, memory_store_id="DOCS"),
            "table prefix with store": lambda: build(store=w.store, table_name_prefix="DOCS_"),
            "schema owner with store": lambda: build(store=w.store, schema_owner="OWNER"),
            "search strategy with store": lambda: build(
                store=w.store, search_strategy=core.SearchStrategy.VECTOR
            ),
            "index sync with store": lambda: build(
                store=w.store, search_index_sync=core.SearchIndexSyncMode.AUTO
            ),
            "retention with store": lambda: build(
                store=w.store, memory_retention_config=core.MemoryRetentionConfig()
            ),
            "embedder with store": lambda: build(store=w.store, embedder=w.embedder),
            "pruner and search config": lambda: build(
                store=w.store, pruner_llm=w.llm, search_config=core.TopKMemorySearchConfig()
            ),
            "extraction config as dict": lambda: build(
                store=w.store, memory_extraction_config={"extract_memories": False}
            ),
            "extraction config None": lambda: build(store=w.store, memory_extraction_config=None),
            "config and inline option": lambda: build(
                store=w.store, memory_extraction_config=Config(), extract_memories=False
            ),
            "config and inline instructions": lambda: build(
                store=w.store,
                memory_extraction_config=Config(),
                memory_extraction_custom_instructions="Be brief.",
            ),
            "no llm": lambda: build(store=w.store),
            "unknown option": lambda: build(store=w.store, colour="red"),
            "search config as str": lambda: build(store=w.store, search_config="top_k"),
            "image limits as dict": lambda: build(store=w.store, image_input_limit_config={}),
        }
    )


@scenario("extraction config values")
def config_values(w):
    """A config is checked when a client or thread resolves it."""

    def resolve(**fields):
        client = core.OracleAgentMemory(
            store=w.store, llm=w.llm, memory_extraction_config=Config(**fields)
        )
        w.clients.append(client)
        client.create_thread()
        return "accepted"

    w.steps(
        {
            "mode as str": lambda: resolve(extraction_mode="INLINE"),
            "mode None": lambda: resolve(extraction_mode=None),
            "link mode as str": lambda: resolve(memory_link_extraction_mode="DISABLED"),
            "queue behaviour as str": lambda: resolve(
                background_extraction_queue_full_behavior="DROP"
            ),
            "image context as str": lambda: resolve(memory_extraction_image_context="caption"),
            "image context unknown": lambda: resolve(memory_extraction_image_context="video"),
            "image context memory": lambda: resolve(
                memory_extraction_image_context=core.MemoryExtractionImageContext.MEMORY
            ),
            "window as words": lambda: resolve(memory_extraction_window="many"),
            "window as digits": lambda: resolve(memory_extraction_window="3"),
            "frequency None": lambda: resolve(memory_extraction_frequency=None),
            "instructions empty": lambda: resolve(memory_extraction_custom_instructions=""),
            "instructions None": lambda: resolve(memory_extraction_custom_instructions=None),
            "instructions number": lambda: resolve(memory_extraction_custom_instructions=5),
            "link instructions empty": lambda: resolve(
                memory_link_extraction_custom_instructions=""
            ),
            "queue timeout 0": lambda: resolve(background_extraction_queue_put_timeout_seconds=0),
            "queue timeout negative": lambda: resolve(
                background_extraction_queue_put_timeout_seconds=-1
            ),
            "metadata keys with blank": lambda: resolve(
                memory_extraction_inherit_message_metadata=["a", ""]
            ),
            "metadata keys with number": lambda: resolve(
                memory_extraction_inherit_message_metadata=["a", 5]
            ),
            "metadata keys": lambda: resolve(memory_extraction_inherit_message_metadata=["a", "b"]),
            "token limit off": lambda: resolve(memory_extraction_token_limit=0),
            "token limit too small": lambda: resolve(memory_extraction_token_limit=10),
            "config without check": lambda: type(Config(extraction_mode="INLINE")).__name__,
        }
    )


@scenario("thread arguments")
def threads(w):
    """create_thread, get_thread, update_thread, delete_thread, list_threads."""
    client = w.client()
    client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    bare = core.OracleAgentMemory(store=w.store)
    w.clients.append(bare)
    w.steps(
        {
            "create id None": lambda: client.create_thread(thread_id=None),
            "create id empty": lambda: client.create_thread(thread_id=""),
            "create user None": lambda: client.create_thread(user_id=None),
            "create user empty": lambda: client.create_thread(user_id=""),
            "create agent None": lambda: client.create_thread(agent_id=None),
            "create agent empty": lambda: client.create_thread(agent_id=""),
            "create metadata list": lambda: client.create_thread(metadata=[1]),
            "create metadata str": lambda: client.create_thread(metadata="x"),
            "create metadata": lambda: client.create_thread(
                thread_id="t2", user_id="u1", agent_id="a1", metadata={"a": [1, None]}
            ),
            "create without ids": lambda: client.create_thread(),
            "create config dict": lambda: client.create_thread(memory_extraction_config={}),
            "create config and inline": lambda: client.create_thread(
                memory_extraction_config=Config(), memory_extraction_window=3
            ),
            "create without llm": lambda: bare.create_thread(thread_id="t3"),
            "create without llm, extraction off": lambda: bare.create_thread(
                thread_id="t4",
                user_id="u1",
                agent_id="a1",
                memory_extraction_config=Config(extract_memories=False),
            ),
            "get unknown": lambda: client.get_thread("nobody"),
            "get": lambda: client.get_thread("t1"),
            "get without llm": lambda: bare.get_thread("t1"),
            "get without llm, extraction saved off": lambda: bare.get_thread("t4"),
            "get with llm given": lambda: bare.get_thread("t1", llm=w.llm),
            "get unknown option": lambda: client.get_thread("t1", colour="red"),
            "update unknown": lambda: client.update_thread("nobody", metadata={}),
            "update nothing": lambda: client.update_thread("t1"),
            "update user": lambda: client.update_thread("t1", user_id="u2"),
            "update agent": lambda: client.update_thread("t1", agent_id="a2"),
            "update unknown option": lambda: client.update_thread("t1", colour="red"),
            "update concurrency": lambda: client.update_thread(
                "t1", context_card_type_search_concurrency=3
            ),
            "update metadata str": lambda: client.update_thread("t1", metadata="x"),
            "update metadata": lambda: client.update_thread("t1", metadata={"b": 1}),
            "update metadata None": lambda: client.update_thread("t1", metadata=None),
            "update without llm": lambda: bare.update_thread("t1", metadata={"c": 1}),
            "update config dict": lambda: client.update_thread("t1", memory_extraction_config={}),
            "delete unknown": lambda: client.delete_thread("nobody"),
            "delete": lambda: client.delete_thread("t2"),
            "delete again": lambda: client.delete_thread("t2"),
            "list without user": lambda: client.list_threads(),
            "list": lambda: sorted(
                thread.thread_id for thread in client.list_threads(user_id="u1")
            ),
        }
    )


@scenario("memory arguments")
def memories(w):
    """add_memory, update_memory, delete_memory of client and thread."""
    client = w.quiet()
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    other = client.create_thread(thread_id="t2", user_id="u1", agent_id="a1")
    client.add_memory("lone", memory_id="lone")
    thread.add_memory(
        "kept",
        memory_id="kept",
        memory_type="fact",
        metadata={"a": 1},
        timestamp="2024-05-01T10:00:00+00:00",
    )
    w.steps(
        {
            "type unknown": lambda: client.add_memory("x", memory_type="idea"),
            "type message": lambda: client.add_memory("x", memory_type="message"),
            "type None": lambda: client.add_memory("x", memory_type=None),
            "link without type": lambda: client.add_memory("x", memory_id_to_link="lone"),
            "link type without target": lambda: client.add_memory("x", link_type="supports"),
            "link id alone": lambda: client.add_memory("x", link_id="l1"),
            "link time alone": lambda: client.add_memory(
                "x", link_timestamp="2024-05-01T10:00:00+00:00"
            ),
            "link metadata alone": lambda: client.add_memory("x", link_metadata={}),
            "link type unknown": lambda: client.add_memory(
                "x", memory_id_to_link="lone", link_type="likes"
            ),
            "link target unknown": lambda: client.add_memory(
                "x", memory_id_to_link="nobody", link_type="supports"
            ),
            "thread link to other": lambda: other.add_memory(
                "x", memory_id_to_link="kept", link_type="supports"
            ),
            "thread link to unscoped": lambda: thread.add_memory(
                "x", memory_id_to_link="lone", link_type="supports"
            ),
            "thread type unknown": lambda: thread.add_memory("x", memory_type="idea"),
            "add": lambda: client.add_memory(
                "x", memory_id="m1", user_id="u1", memory_type="guideline"
            ),
            "update nothing": lambda: client.update_memory("kept"),
            "update None content": lambda: client.update_memory("kept", content=None),
            "thread update None content": lambda: thread.update_memory("kept", content=None),
            "update unknown": lambda: client.update_memory("nobody", content="x"),
            "thread update unknown": lambda: thread.update_memory("nobody", content="x"),
            "thread update of other": lambda: other.update_memory("kept", content="x"),
            "update unknown option": lambda: client.update_memory("kept", colour="red"),
            "update text option": lambda: client.update_memory("kept", text="x"),
            "thread update unknown option": lambda: thread.update_memory(
                "kept", memory_type="fact"
            ),
            "update content": lambda: client.update_memory("kept", content="changed"),
            "update empty content": lambda: thread.update_memory("kept", content=""),
            "after update": lambda: w.store.get("fact", "kept"),
            "update metadata": lambda: thread.update_memory("kept", metadata={"b": 2}),
            "metadata replaced": lambda: w.store.get("fact", "kept").metadata,
            "update metadata None": lambda: thread.update_memory("kept", metadata=None),
            "metadata gone": lambda: w.store.get("fact", "kept").metadata,
            "update timestamp None": lambda: thread.update_memory("kept", timestamp=None),
            "creation time shows": lambda: w.store.get("fact", "kept").timestamp,
            "update status": lambda: thread.update_memory("kept", status=RecordStatus.INVALID),
            "status changed": lambda: w.store.get("fact", "kept").status,
            "thread delete of other": lambda: other.delete_memory("kept"),
            "thread delete unknown": lambda: thread.delete_memory("nobody"),
            "client delete unknown": lambda: client.delete_memory("nobody"),
            "delete": lambda: thread.delete_memory("kept"),
            "delete again": lambda: thread.delete_memory("kept"),
            "client delete unscoped": lambda: client.delete_memory("lone"),
            "client delete guideline": lambda: client.delete_memory("m1"),
            "list left": lambda: client.list_memories(),
        }
    )


@scenario("link arguments")
def links(w):
    """link_records, update_record_link, delete_record_link of client and thread."""
    client = w.quiet()
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    other = client.create_thread(thread_id="t2", user_id="u1", agent_id="a1")
    thread.add_memory("alpha", memory_id="A")
    thread.add_memory("beta", memory_id="B", memory_type="fact")
    other.add_memory("gamma", memory_id="C")
    thread.add_messages([{"role": "user", "content": "hello", "id": "msg"}])
    w.steps(
        {
            "wrong source type": lambda: client.link_records("A", "fact", "B", "fact", "supports"),
            "wrong target type": lambda: client.link_records(
                "A", "memory", "B", "memory", "supports"
            ),
            "message endpoint": lambda: client.link_records(
                "A", "memory", "msg", "message", "supports"
            ),
            "message source": lambda: thread.link_records(
                "msg", "message", "A", "memory", "supports"
            ),
            "unknown endpoint": lambda: client.link_records(
                "A", "memory", "nobody", "memory", "supports"
            ),
            "thread to other thread": lambda: thread.link_records(
                "A", "memory", "C", "memory", "supports"
            ),
            "thread unknown endpoint": lambda: thread.link_records(
                "A", "memory", "nobody", "memory", "supports"
            ),
            "client across threads": lambda: client.link_records(
                "A", "memory", "C", "memory", "supports", relation_id="r1"
            ),
            "thread link": lambda: thread.link_records(
                "A",
                "memory",
                "B",
                "fact",
                "contradicts",
                relation_id="r2",
                timestamp="2024-05-01T10:00:00+00:00",
                metadata={"by": "hand"},
            ),
            "stored link": lambda: w.store.get_relation(relation_id="r2"),
            "foreign update": lambda: other.update_record_link("r2", relation_type="supports"),
            "foreign delete": lambda: other.delete_record_link(relation_id="r2"),
            "thread update unknown": lambda: thread.update_record_link(
                "nobody", relation_type="supports"
            ),
            "client update unknown": lambda: client.update_record_link(
                "nobody", relation_type="supports"
            ),
            "client update": lambda: client.update_record_link(
                "r2", relation_type="supersedes", metadata={"by": "rule"}
            ),
            "updated link": lambda: w.store.get_relation(relation_id="r2"),
            "target invalid": lambda: w.store.get("fact", "B").status,
            "clear link time": lambda: thread.update_record_link(
                "r2", timestamp=None, metadata=None
            ),
            "cleared link": lambda: w.store.get_relation(relation_id="r2"),
            "delete none": lambda: client.delete_record_link(),
            "delete partial": lambda: client.delete_record_link("A", "memory"),
            "delete four of five": lambda: client.delete_record_link("A", "memory", "B", "fact"),
            "delete id and part": lambda: client.delete_record_link(
                "A", "memory", relation_id="r2"
            ),
            "delete reversed": lambda: client.delete_record_link(
                "B", "fact", "A", "memory", "supersedes"
            ),
            "delete unknown": lambda: client.delete_record_link(relation_id="nobody"),
            "delete by tuple": lambda: client.delete_record_link(
                "A", "memory", "B", "fact", "supersedes"
            ),
            "target valid again": lambda: w.store.get("fact", "B").status,
            "custom type": lambda: client.link_records(
                "A", "memory", "B", "fact", "explains", relation_id="r3"
            ),
            "custom opposite": lambda: client.link_records(
                "B", "fact", "C", "memory", "cites", "is_cited_by", relation_id="r4"
            ),
            "custom label both ways": lambda: (
                w.store.get_relation(relation_id="r3").opposite_relation_type
            ),
            "custom opposite label": lambda: (
                w.store.get_relation(relation_id="r4").opposite_relation_type
            ),
            "built-in overwrites opposite": lambda: client.update_record_link(
                "r4", relation_type="refines", opposite_relation_type="odd"
            ),
            "overwritten": lambda: w.store.get_relation(relation_id="r4").opposite_relation_type,
        }
    )


@scenario("search arguments")
def search(w):
    """Client and thread search."""
    client = w.quiet()
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    thread.add_memory("apple pie", memory_id="pie")
    client.add_memory("apple", memory_id="free")
    client.add_memory("apple juice today", memory_id="juice", user_id="u1")

    def ids(owner, *args, **kwargs):
        return [result.id for result in owner.search(*args, **kwargs)]

    scope = SearchScope(user_id="u1")
    w.steps(
        {
            "no user": lambda: ids(client, "apple"),
            "user None": lambda: ids(client, "apple", user_id=None),
            "user": lambda: ids(client, "apple", user_id="u1"),
            "inexact user": lambda: ids(client, "apple", user_id="u1", exact_user_match=False),
            "inexact user in scope": lambda: ids(
                client, "apple", scope=SearchScope(user_id="u1", exact_user_match=False)
            ),
            "scope without user": lambda: ids(client, "apple", scope=SearchScope()),
            "scope": lambda: ids(client, "apple", scope=scope),
            "scope and user": lambda: ids(client, "apple", scope=scope, user_id="u1"),
            "scope and flag": lambda: ids(client, "apple", scope=scope, exact_agent_match=True),
            "blank": lambda: ids(client, "  ", user_id="u1"),
            "empty": lambda: ids(client, "", user_id="u1"),
            "None query": lambda: ids(client, None, user_id="u1"),
            "max 0": lambda: ids(client, "apple", user_id="u1", max_results=0),
            "max negative": lambda: ids(client, "apple", user_id="u1", max_results=-2),
            "max 1001": lambda: ids(client, "apple", user_id="u1", max_results=1001),
            "max 1000": lambda: ids(client, "apple", user_id="u1", max_results=1000),
            "max 1": lambda: ids(client, "apple", user_id="u1", max_results=1),
            "filter list": lambda: ids(client, "apple", user_id="u1", metadata_filter=[1]),
            "filter str": lambda: ids(client, "apple", user_id="u1", metadata_filter="x"),
            "filter None": lambda: ids(client, "apple", user_id="u1", metadata_filter=None),
            "budget words": lambda: ids(client, "apple", user_id="u1", token_budget="many"),
            "soft budget words": lambda: ids(
                client, "apple", user_id="u1", soft_token_budget="many"
            ),
            "budget 0": lambda: ids(client, "apple", user_id="u1", token_budget=0),
            "agent given": lambda: ids(client, "apple", user_id="u1", agent_id="a1"),
            "agent None": lambda: ids(client, "apple", user_id="u1", agent_id=None),
            "agent given inexact": lambda: ids(
                client, "apple", user_id="u1", agent_id="a1", exact_agent_match=False
            ),
            "thread given": lambda: ids(client, "apple", user_id="u1", thread_id="t1"),
            "thread exact": lambda: ids(
                client, "apple", user_id="u1", thread_id="t1", exact_thread_match=True
            ),
            "record types": lambda: ids(client, "apple", user_id="u1", record_types=["fact"]),
            "unknown keyword": lambda: ids(client, "apple", user_id="u1", colour="red"),
            "thread blank": lambda: ids(thread, " "),
            "thread default": lambda: ids(thread, "apple"),
            "thread max 0": lambda: ids(thread, "apple", max_results=0),
            "thread scope and user": lambda: ids(thread, "apple", scope=scope, user_id="u1"),
            "thread filter list": lambda: ids(thread, "apple", metadata_filter=[1]),
            "thread inexact agent": lambda: ids(thread, "apple", exact_agent_match=False),
            "thread other user": lambda: ids(thread, "apple", user_id="u2"),
        }
    )
