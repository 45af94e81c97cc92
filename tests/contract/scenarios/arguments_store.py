"""Bad and borderline arguments of the store itself, refused before anything is read or written."""

from oracleagentmemory.apis import ImageMimeType, PendingRecordBatch
from tests.contract.scenarios.kit import png, scenario


@scenario("store add arguments")
def add(w):
    """store.add and store.add_batches."""

    def put(*args, **kwargs):
        return w.store.add(*args, **kwargs)

    def memories(texts=("a",), **kwargs):
        return w.store.add(list(texts), record_type="memory", **kwargs)

    w.quiet().create_thread(thread_id="t0", user_id="u1", agent_id="a1")
    batch = PendingRecordBatch(contents=["b1"], record_type="memory", record_ids=["b1"])
    w.steps(
        {
            "nothing": lambda: put(),
            "no type": lambda: put(["a"]),
            "no contents": lambda: put(record_type="memory"),
            "str contents": lambda: put("abc", record_type="memory"),
            "no rows": lambda: put([], record_type="memory"),
            "empty type": lambda: put(["a"], record_type=""),
            "ids too short": lambda: memories("ab", record_ids=["x"]),
            "id scalar for two": lambda: memories("ab", record_ids="x"),
            "one id missing": lambda: memories("ab", record_ids=["x", None]),
            "ids repeated": lambda: memories("ab", record_ids=["x", "x"]),
            "users too long": lambda: memories(user_ids=["u", "v"]),
            "threads too long": lambda: memories(thread_ids=["u", "v"]),
            "times too long": lambda: memories(timestamps=["2024-05-01", "2024-05-01"]),
            "metadata too long": lambda: memories(metadata=[{}, {}]),
            "metadata str": lambda: memories(metadata="x"),
            "metadata list with str": lambda: memories(metadata=["x"]),
            "roles on memory": lambda: memories(roles="user"),
            "index texts too long": lambda: memories(index_texts=["x", "y"]),
            "index text blank chunk": lambda: memories(index_texts=[["x", ""]]),
            "unknown option": lambda: memories(colour="red"),
            "batches as dict": lambda: w.store.add_batches(
                [{"contents": ["a"], "record_type": "memory"}]
            ),
            "batches empty": lambda: w.store.add_batches([]),
            "batches": lambda: w.store.add_batches([batch]),
            "batch size 0": lambda: w.store.add_batches([batch], batch_size=0),
            "scalar scope": lambda: memories(
                "ab", record_ids=["x1", "x2"], user_ids="u1", metadata={"k": 1}
            ),
            "stored": lambda: w.store.list("memory", user_id="u1"),
            "content from metadata": lambda: memories(
                [None], record_ids="c1", metadata={"content": "from metadata"}
            ),
            "content taken": lambda: w.store.get("memory", "c1").content,
            "explicit empty kept": lambda: memories(
                [""], record_ids="c2", metadata={"content": "from metadata"}
            ),
            "empty stays": lambda: w.store.get("memory", "c2").content,
            "batch without type": lambda: PendingRecordBatch(contents=["a"]),
            "batch contents and texts": lambda: PendingRecordBatch(
                contents=["a"], texts=["a"], record_type="memory"
            ),
            "message role": lambda: put(
                ["hi"], record_type="message", record_ids="msg", thread_ids="t0", roles="critic"
            ),
            "message stored": lambda: w.store.get("message", "msg").role,
        }
    )


@scenario("store search arguments")
def search(w):
    """store.search."""
    w.store.add(
        ["apple pie", "apple"], record_type="memory", record_ids=["m1", "m2"], user_ids="u1"
    )
    w.store.add(["apple tart today"], record_type="fact", record_ids=["f1"], user_ids="u1")
    find = w.store.search

    def ids(*args, **kwargs):
        return [record.id for record, _ in find(*args, **kwargs)]

    vector = w.embedder.embed(["apple"])[0].tolist()
    w.steps(
        {
            "k 0": lambda: ids("apple", 0),
            "k negative": lambda: ids("apple", -1),
            "k 1": lambda: ids("apple", 1),
            "blank": lambda: ids("  ", 3),
            "neither": lambda: ids(None, 3),
            "both": lambda: ids("apple", 3, query_vector=vector),
            "empty vector": lambda: ids(None, 3, query_vector=[]),
            "nested vector": lambda: ids(None, 3, query_vector=[[1.0]]),
            "not finite": lambda: ids(None, 3, query_vector=[float("nan")] * len(vector)),
            "vector": lambda: ids(None, 3, query_vector=vector),
            "hops 6": lambda: ids("apple", 3, num_hops=6),
            "hops negative": lambda: ids("apple", 3, num_hops=-1),
            "hops 5": lambda: ids("apple", 3, num_hops=5),
            "links negative": lambda: ids("apple", 3, max_linked_results=-1),
            "links 0": lambda: ids("apple", 3, max_linked_results=0),
            "filter str": lambda: ids("apple", 3, metadata_filter="x"),
            "types": lambda: ids("apple", 3, record_types={"fact"}),
        }
    )


@scenario("store update arguments")
def update(w):
    """store.update, get and delete."""
    w.store.add(["apple"], record_type="memory", record_ids=["m1"], metadata={"a": 1})
    w.store.add_user("u1", "likes apples")
    w.quiet().create_thread(thread_id="t0", user_id="u1", agent_id="a1")
    w.store.add(["hi"], record_type="message", record_ids="msg", thread_ids="t0", roles="user")
    change = w.store.update
    w.steps(
        {
            "nothing": lambda: change("memory", "m1"),
            "unknown type": lambda: change("idea", "m1", content="x"),
            "unknown record": lambda: change("memory", "nobody", content="x"),
            "content and text": lambda: change("memory", "m1", content="x", text="y"),
            "text": lambda: change("memory", "m1", text="pear"),
            "text stored": lambda: w.store.get("memory", "m1").content,
            "message None": lambda: change("message", "msg", content=None),
            "profile None": lambda: change("user_profile", "u1", content=None),
            "profile ttl": lambda: change("user_profile", "u1", ttl_days=3),
            "None with index text": lambda: change("memory", "m1", content=None, index_text="x"),
            "None with embedding": lambda: change("memory", "m1", content=None, embedding=[1.0]),
            "no index text with embedding": lambda: change(
                "memory", "m1", index_text=None, embedding=[1.0]
            ),
            "metadata str": lambda: change("memory", "m1", metadata="x"),
            "content": lambda: change(
                "memory",
                "m1",
                content="plum",
                metadata={"b": 2},
                timestamp="2024-05-01T10:00:00+00:00",
            ),
            "stored": lambda: w.store.get("memory", "m1"),
            "profile": lambda: change("user_profile", "u1", content="likes plums"),
            "profile stored": lambda: w.store.get("user_profile", "u1"),
            "get unknown": lambda: w.store.get("memory", "nobody"),
            "get wrong type": lambda: w.store.get("fact", "m1"),
            "delete wrong type": lambda: w.store.delete("fact", "m1"),
            "delete": lambda: w.store.delete("memory", "m1"),
            "delete again": lambda: w.store.delete("memory", "m1"),
        }
    )


@scenario("store list arguments")
def listing(w):
    """store.list, list_thread_messages and the relation calls."""
    client = w.quiet()
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    thread.add_messages(
        [{"role": "user", "content": f"n{number}", "id": f"n{number}"} for number in range(5)]
    )
    thread.add_memory("apple", memory_id="A")
    thread.add_memory("pear", memory_id="B", memory_type="fact")
    client.add_memory("free", memory_id="F")
    client.add_image(
        png(), description="A tile", mime_type=ImageMimeType.PNG, image_id="I", user_id="u1"
    )

    def ids(*args, **kwargs):
        return [record.id for record in w.store.list(*args, **kwargs)]

    def last(**options):
        return [record.id for record in w.store.list_thread_messages("t1", **options)]

    relate = w.store.add_relations
    w.steps(
        {
            "limit 0": lambda: ids("message", limit=0),
            "limit negative": lambda: ids("message", limit=-1),
            "limit 2": lambda: ids("message", limit=2),
            "limit None": lambda: ids("message", limit=None),
            "thread with thread id": lambda: ids("thread", thread_id="t1"),
            "threads": lambda: ids("thread", user_id="u1"),
            "user None": lambda: ids("memory", user_id=None),
            "any user": lambda: ids("memory"),
            "image bytes without id": lambda: ids("image", include_bytes=True),
            "image": lambda: ids("image", record_id="I", user_id="u1"),
            "filter str": lambda: ids("memory", metadata_filter="x"),
            "last 2": lambda: last(last_n=2),
            "last 0": lambda: last(last_n=0),
            "last negative": lambda: last(last_n=-1),
            "relations misaligned": lambda: relate(["A"], "memory", ["B", "B"], "fact", "supports"),
            "relation ids misaligned": lambda: relate(
                ["A"], "memory", ["B"], "fact", "supports", relation_ids=["r", "s"]
            ),
            "relation ids repeated": lambda: relate(
                ["A", "B"],
                ["memory", "fact"],
                ["B", "A"],
                ["fact", "memory"],
                "supports",
                relation_ids=["r", "r"],
            ),
            "relate": lambda: relate(
                ["A"], "memory", ["B"], "fact", "refines", relation_ids=["r1"]
            ),
            "related": lambda: w.store.list_relations(source_record_id="A"),
            "target invalid": lambda: w.store.get("fact", "B").status,
            "tuple in part": lambda: w.store.get_relation("A", "memory", "B"),
            "tuple and id": lambda: w.store.get_relation(
                "A", "memory", "B", "fact", "refines", relation_id="r1"
            ),
            "by tuple": lambda: w.store.get_relation("A", "memory", "B", "fact", "refines").id,
            "by reversed tuple": lambda: w.store.get_relation(
                "B", "fact", "A", "memory", "refines"
            ),
            "list by type": lambda: [
                relation.id for relation in w.store.list_relations(relation_type="refines")
            ],
            "list other type": lambda: w.store.list_relations(relation_type="supports"),
            "list without metadata": lambda: [
                relation.id for relation in w.store.list_relations(metadata_filter=None)
            ],
            "update nothing": lambda: w.store.update_relations("r1"),
            "update unknown": lambda: w.store.update_relations(
                ["nobody"], relation_types="supports"
            ),
            "update": lambda: w.store.update_relations(
                ["r1", "nobody"], relation_types="supports", metadata={"k": 1}
            ),
            "target valid": lambda: w.store.get("fact", "B").status,
            "delete none": lambda: w.store.delete_relations([]),
            "delete unknown": lambda: w.store.delete_relations("nobody"),
            "delete": lambda: w.store.delete_relations(["r1"]),
            "endpoint gone takes the link": lambda: (
                relate("A", "memory", "B", "fact", "duplicates", relation_ids="r2"),
                client.delete_memory("A"),
                w.store.get_relation(relation_id="r2"),
                w.store.get("fact", "B").status,
            )[2:],
        }
    )
