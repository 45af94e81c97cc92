"""Bad and borderline arguments of a thread: messages, windows, cards, summaries."""

from oracleagentmemory.apis import ImageContent, ImageMimeType, Message, TextContent
from oracleagentmemory.core import MemorySearchConfig, OracleThread, TopKMemorySearchConfig
from tests.contract.scenarios.kit import png, scenario, user


@scenario("message arguments")
def messages(w):
    """add_messages: what it takes for a message."""
    thread = w.quiet().create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    add = thread.add_messages
    w.steps(
        {
            "no messages": lambda: add([]),
            "str": lambda: add("hello"),
            "None": lambda: add(None),
            "list of str": lambda: add(["hello"]),
            "list of None": lambda: add([None]),
            "no role": lambda: add([{"content": "x"}]),
            "no content": lambda: add([{"role": "user"}]),
            "content None": lambda: add([user(None)]),
            "content number": lambda: add([user(5)]),
            "content no parts": lambda: add([user([])]),
            "timestamp number": lambda: add([user("x", timestamp=5)]),
            "metadata str": lambda: add([user("x", metadata="m")]),
            "metadata argument str": lambda: add([user("x")], metadata="m"),
            "metadata list too long": lambda: add([user("x")], metadata=[{}, {}]),
            "metadata list with str": lambda: add([user("x")], metadata=["m"]),
            "one id missing": lambda: add([user("x", id="m1"), user("y")]),
            "base64 image": lambda: add(
                [user([{"type": "image", "mime_type": "image/png", "bytes": "aGVsbG8="}])]
            ),
            "image url": lambda: add(
                [user([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}])]
            ),
            "image of unknown kind": lambda: add(
                [user([{"type": "image", "mime_type": "image/gif", "bytes": b"GIF89a"}])]
            ),
            "text part number": lambda: add([user([{"type": "text", "text": 5}])]),
            "nothing stored yet": lambda: thread.get_messages(),
            "empty text": lambda: add([user("", id="empty")]),
            "empty role": lambda: add([{"role": "", "content": "no role", "id": "norole"}]),
            "custom role": lambda: add([{"role": "critic", "content": "hm", "id": "critic"}]),
            "tuple and unknown key": lambda: add((user("x", id="tuple", colour="red"),)),
            "message object": lambda: add(
                [Message(role="assistant", content="hi", id="object", metadata={"k": 1})]
            ),
            "text part": lambda: add([user([{"type": "text", "text": "part"}], id="part")]),
            "two text parts": lambda: add(
                [
                    user(
                        [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
                        id="parts",
                    )
                ]
            ),
            "image part": lambda: add(
                [
                    user(
                        [
                            {"type": "text", "text": "see"},
                            {
                                "type": "image",
                                "mime_type": "image/png",
                                "bytes": png(),
                                "description": "A tile",
                            },
                        ],
                        id="pic",
                    )
                ]
            ),
            "shared metadata": lambda: add(
                [user("a", id="s1", metadata={"own": 1}), user("b", id="s2")],
                metadata={"all": True},
            ),
            "metadata list": lambda: add(
                [user("c", id="l1"), user("d", id="l2", metadata={"own": 2})],
                metadata=[{"n": 1}, None],
            ),
            "empty id counts as none": lambda: len(add([user("e", id=""), user("f", id="")])),
            "generated ids": lambda: add([user("g"), user("h")]),
            "stored": lambda: [
                (m.role, m.content if isinstance(m.content, str) else list(m.content), m.metadata)
                for m in thread.get_messages()
            ],
        }
    )


@scenario("message edits")
def edits(w):
    """get_message, update_message, delete_message."""
    client = w.quiet()
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    other = client.create_thread(thread_id="t2", user_id="u1", agent_id="a1")
    thread.add_messages(
        [
            user("first", id="m1", timestamp="2024-05-01T10:00:00+00:00", metadata={"a": 1}),
            user("second", id="m2"),
        ]
    )
    w.steps(
        {
            "get": lambda: thread.get_message("m1"),
            "get without time": lambda: thread.get_message("m2"),
            "get unknown": lambda: thread.get_message("nobody"),
            "get of other": lambda: other.get_message("m1"),
            "get image ids str": lambda: thread.get_message("m1", included_image_ids="abc"),
            "get unknown image ids": lambda: (
                thread.get_message("m1", included_image_ids=["abc"]).content
            ),
            "update nothing": lambda: thread.update_message("m1"),
            "update None": lambda: thread.update_message("m1", content=None),
            "update no parts": lambda: thread.update_message("m1", content=[]),
            "update number": lambda: thread.update_message("m1", content=5),
            "update timestamp": lambda: thread.update_message(
                "m1", timestamp="2024-05-02T10:00:00+00:00"
            ),
            "update role": lambda: thread.update_message("m1", role="assistant"),
            "update unknown": lambda: thread.update_message("nobody", content="x"),
            "update of other": lambda: other.update_message("m1", content="x"),
            "update content": lambda: thread.update_message("m1", content="changed"),
            "role and time kept": lambda: thread.get_message("m1"),
            "update metadata": lambda: thread.update_message("m1", metadata={"b": 2}),
            "metadata replaced": lambda: thread.get_message("m1").metadata,
            "update metadata None": lambda: thread.update_message("m1", metadata=None),
            "metadata cleared": lambda: thread.get_message("m1").metadata,
            "update to empty": lambda: thread.update_message("m1", content=""),
            "now empty": lambda: thread.get_message("m1").content,
            "update to parts": lambda: thread.update_message(
                "m2", content=[{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
            ),
            "now parts": lambda: list(thread.get_message("m2").content),
            "delete of other": lambda: other.delete_message("m1"),
            "delete unknown": lambda: thread.delete_message("nobody"),
            "delete": lambda: thread.delete_message("m1"),
            "delete again": lambda: thread.delete_message("m1"),
            "one left": lambda: [message.id for message in thread.get_messages()],
            "memory id is no message": lambda: (
                thread.add_memory("x", memory_id="x"),
                thread.delete_message("x"),
            )[1],
        }
    )


@scenario("message windows")
def windows(w):
    """get_messages over 150 messages."""
    thread = w.quiet().create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    for start in range(0, 150, 30):
        thread.add_messages([user(f"n{number}") for number in range(start, start + 30)])

    def span(**options):
        texts = [message.content for message in thread.get_messages(**options)]
        return f"{texts[0]}..{texts[-1]} ({len(texts)})" if texts else "none"

    w.steps(
        {
            "default": lambda: span(),
            "start 0": lambda: span(start=0),
            "start 20": lambda: span(start=20),
            "start 120": lambda: span(start=120),
            "start 150": lambda: span(start=150),
            "start -5 to None": lambda: span(start=-5, end=None),
            "end None": lambda: span(end=None),
            "end -1": lambda: span(end=-1),
            "end 5": lambda: span(end=5),
            "start 0 to None": lambda: span(start=0, end=None),
            "start 140 to -1": lambda: span(start=140, end=-1),
            "start 10 to 12": lambda: span(start=10, end=12),
            "start 10 to 140": lambda: span(start=10, end=140),
            "start 12 to 10": lambda: span(start=12, end=10),
            "start 0 to -2": lambda: span(start=0, end=-2),
            "start -10 to -5": lambda: span(start=-10, end=-5),
            "start 148 to 999": lambda: span(start=148, end=999),
        }
    )


@scenario("messages with images")
def images(w):
    """Image parts come back without bytes unless asked for; normalised parts."""
    thread = w.quiet().create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    picture = ImageContent(bytes=png(), mime_type=ImageMimeType.PNG, description="A tile", id="pic")
    w.steps(
        {
            "add": lambda: thread.add_messages(
                [Message(role="user", content=[TextContent("look"), picture], id="m1")]
            ),
            "without bytes": lambda: list(thread.get_message("m1").content),
            "with bytes": lambda: list(
                thread.get_message("m1", included_image_ids=["pic"]).content
            ),
            "windows without bytes": lambda: list(thread.get_messages()[0].content),
            "windows with bytes": lambda: list(
                thread.get_messages(include_image_bytes=True)[0].content
            ),
        }
    )


@scenario("card arguments")
def cards(w):
    """get_context_card: refused and accepted arguments."""
    w.ignore_warnings = True
    thread = w.quiet().create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    thread.add_messages(
        [
            user("apple pie", timestamp="2024-05-01T10:00:00+00:00"),
            user("pear cake with pear", timestamp="2024-05-01T10:01:00+00:00"),
        ]
    )

    def card(**options):
        return len(thread.get_context_card(**options).relevant_results or [])

    w.steps(
        {
            "unknown option": lambda: card(colour="red"),
            "except without equal recent": lambda: card(
                except_last_messages=1, max_recent_messages=2
            ),
            "except negative": lambda: card(except_last_messages=-1),
            "max negative": lambda: card(max_relevant_results=-1),
            "max words": lambda: card(max_relevant_results="many"),
            "minimum list": lambda: card(min_relevant_results_by_type=["fact"]),
            "minimum unknown type": lambda: card(min_relevant_results_by_type={"idea": 1}),
            "minimum profile type": lambda: card(min_relevant_results_by_type={"user_profile": 1}),
            "minimum 0": lambda: card(min_relevant_results_by_type={"fact": 0}),
            "minimum None": lambda: card(min_relevant_results_by_type=None),
            "minimum empty": lambda: card(min_relevant_results_by_type={}),
            "filter list": lambda: card(metadata_filter=[1]),
            "filter": lambda: card(metadata_filter={"a": 1}),
            "budget words": lambda: card(token_budget="many"),
            "summary unknown option": lambda: thread.get_summary(colour="red"),
            "summary except words": lambda: thread.get_summary(except_last="many"),
            "summary budget words": lambda: thread.get_summary(token_budget="many"),
            "summary except negative": lambda: (
                thread.get_summary(except_last=-3).content == thread.get_summary().content
            ),
        }
    )


@scenario("standalone thread")
def standalone(w):
    """A thread built directly on a store."""

    def build(**options):
        return OracleThread(store=w.store, **options)

    alone = build(llm=w.llm, thread_id="t1", user_id="u1", agent_id="a1")
    w.steps(
        {
            "ids": lambda: alone,
            "generated ids": lambda: build(llm=w.llm),
            "config and inline": lambda: build(
                llm=w.llm, memory_extraction_config=None, memory_extraction_window=3
            ),
            "search config type": lambda: (
                build(llm=w.llm, search_config=TopKMemorySearchConfig()).thread_id is not None
            ),
            "abstract search config": lambda: issubclass(
                TopKMemorySearchConfig, MemorySearchConfig
            ),
            "wait": lambda: alone.wait_for_memory_extraction(timeout=1),
        }
    )
