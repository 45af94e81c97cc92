"""Automatic extraction: LLM calls, what is stored, counters, links, metadata, prompts."""

import oracleagentmemory.core as core
from oracleagentmemory.apis import ImageContent, ImageMimeType, Message, RecordStatus, TextContent
from tests.contract.scenarios.kit import (
    extraction,
    found,
    images_in,
    parts,
    png,
    prompt_text,
    resolve,
    scenario,
    stored,
    text_of,
    user,
)

LinkMode = core.MemoryLinkExtractionMode
ImageMode = core.MemoryExtractionImageContext
MARK = r"\[(\w+)\]"


@scenario("order of llm calls")
def order(w):
    """Kinds of calls for one add_messages, by what is switched on."""
    picture = Message(
        role="user",
        content=[TextContent("see"), ImageContent(bytes=png(), mime_type=ImageMimeType.PNG)],
    )

    def run(name, messages, memories=(), thread_options=None, **extract):
        _client, thread = w.opened(name, thread_options, **extract)
        w.llm.kinds()
        for kind in ("extraction", "extraction with links"):
            w.llm.script[kind] = [extraction(*memories)]
        thread.add_messages(messages)
        return w.llm.kinds()

    hello = [user("hello")]
    fact = found("likes apples", "preference")
    w.steps(
        {
            "nothing found": lambda: run("a", hello),
            "nothing found, with summary": lambda: run("b", hello, enable_context_summary=True),
            "first memory": lambda: run("c", hello, [fact]),
            "second memory, links": lambda: run(
                "d", hello, [found("likes apples and pears", "preference")]
            ),
            "links and summary": lambda: run(
                "e",
                hello,
                [found("likes apples and plums", "preference")],
                enable_context_summary=True,
            ),
            "links off": lambda: run(
                "f",
                hello,
                [found("likes apples and figs", "preference")],
                memory_link_extraction_mode=LinkMode.DISABLED,
            ),
            "links during": lambda: run(
                "g",
                hello,
                [{**found("likes apples and nuts", "preference"), "links": None}],
                memory_link_extraction_mode=LinkMode.DURING_EXTRACTION,
            ),
            "caption": lambda: run("h", [picture]),
            "long message": lambda: run(
                "i", [user("word " * 40)], thread_options={"max_message_token_length": 10}
            ),
            "long message, shortening off": lambda: run(
                "j", [user("word " * 40)], thread_options={"max_message_token_length": 0}
            ),
            "extraction off": lambda: run("k", hello, extract_memories=False),
            "extraction off, caption": lambda: run("l", [picture], extract_memories=False),
            "no messages": lambda: run("m", []),
            "system and tool": lambda: run(
                "n", [{"role": "system", "content": "be nice"}, {"role": "tool", "content": "42"}]
            ),
        }
    )


@scenario("extracted memories")
def memories(w):
    """Fields of stored memories."""
    client, thread = w.opened()
    w.llm.script["extraction"] = [
        extraction(
            found(
                "likes apples",
                "preference",
                scope="user",
                entities=["apple"],
                timestamp="2024-05-01T10:00:00+00:00",
                valid_to="2025-05-01",
                importance=4,
            ),
            found("answer briefly", "guideline", scope="agent"),
            found("lives in Lyon", "fact", importance=1),
            found("   "),
            found("met on Monday"),
        )
    ]
    w.steps(
        {
            "add": lambda: thread.add_messages([user("hello", id="m1")]),
            "stored": lambda: stored(client.list_memories()),
            "ids are generated": lambda: len(
                {memory.id for memory in client.list_memories()} - {"m1"}
            ),
            "messages stay": lambda: [message.id for message in thread.get_messages()],
            "nothing more": lambda: (
                thread.add_messages([user("bye")]),
                len(client.list_memories()),
            )[1],
            "deleting the message keeps them": lambda: (
                thread.delete_message("m1"),
                len(client.list_memories()),
            )[1],
        }
    )


@scenario("extraction failure")
def failure(w):
    """An LLM error in extraction reaches the caller; the raw messages stay."""
    client, thread = w.opened()
    w.llm.script["extraction"] = [
        RuntimeError("down"),
        TimeoutError("slow"),
        extraction(found("works again")),
    ]
    w.steps(
        {
            "error": lambda: thread.add_messages([user("one", id="m1")]),
            "timeout": lambda: thread.add_messages([user("two", id="m2")]),
            "messages": lambda: [message.id for message in thread.get_messages()],
            "works": lambda: thread.add_messages([user("three", id="m3")]),
            "memories": lambda: sorted(memory.content for memory in client.list_memories()),
        }
    )


@scenario("extraction counters")
def counters(w):
    """Which messages each extraction sees; a freshly loaded handle for every batch."""

    def run(name, batches, **extract):
        client, _ = w.opened(name, **extract)
        seen, number = [], 0
        for size in batches:
            thread = client.get_thread(name)
            w.llm.calls.clear()
            thread.add_messages([user(f"[m{number + step:02d}]") for step in range(size)])
            number += size
            seen.append(w.llm.seen(MARK))
        state = w.store.get("thread", name).runtime_state["memory_extraction_state"][
            "last_memory_extraction_counter"
        ]
        return {"seen": seen, "counter": state}

    Config = {"window": "memory_extraction_window", "frequency": "memory_extraction_frequency"}

    def config(**values):
        return {Config[name]: value for name, value in values.items()}

    w.steps(
        {
            "default": lambda: run("a", (1, 2, 1)),
            "frequency 1": lambda: run("b", (1, 2, 1), **config(frequency=1)),
            "frequency 0": lambda: run("c", (1, 2), **config(frequency=0)),
            "frequency 2": lambda: run("d", (1, 1, 1, 1), **config(frequency=2)),
            "frequency 3": lambda: run("e", (1, 1, 1, 1), **config(frequency=3)),
            "window 1": lambda: run("f", (1, 2, 3), **config(window=1)),
            "window 3": lambda: run("g", (1, 2, 1), **config(window=3)),
            "window 4, frequency 2": lambda: run("h", (1, 2, 3), **config(window=4, frequency=2)),
            "window 2, frequency 2": lambda: run(
                "i", (1, 2, 3, 1), **config(window=2, frequency=2)
            ),
            "window 2, frequency 3": lambda: run("j", (2, 2, 2), **config(window=2, frequency=3)),
            "window 5, frequency 1": lambda: run("k", (2, 3), **config(window=5, frequency=1)),
            "window 0": lambda: run("l", (1, 2), **config(window=0)),
            "big batch": lambda: run("m", (7,), **config(window=3, frequency=3)),
        }
    )


@scenario("extraction after an edit")
def edits(w):
    """Editing content extracts again from that message and earlier history; other edits do not."""
    client, thread = w.opened(memory_extraction_window=2, memory_extraction_frequency=2)
    thread.add_messages([user("[one]", id="m1"), user("[two]", id="m2"), user("[three]", id="m3")])
    w.llm.calls.clear()

    def counter():
        return w.store.get("thread", "t1").runtime_state["memory_extraction_state"][
            "last_memory_extraction_counter"
        ]

    w.llm.script["extraction"] = [extraction(found("from the edit"))]
    w.steps(
        {
            "counter": counter,
            "content": lambda: (thread.update_message("m2", content="[zwei]"), w.llm.seen(MARK))[1],
            "counter kept": counter,
            "memories": lambda: sorted(memory.content for memory in client.list_memories()),
            "metadata only": lambda: (
                thread.update_message("m2", metadata={"a": 1}),
                w.llm.kinds(),
            )[1],
            "time to live only": lambda: (thread.update_message("m2", ttl_days=3), w.llm.kinds())[
                1
            ],
            "nothing": lambda: (thread.update_message("m2"), w.llm.kinds())[1],
        }
    )


@scenario("inherited metadata")
def inherited(w):
    """Metadata that all source messages share goes to the memories."""

    def run(name, messages, **extract):
        client, thread = w.opened(name, **extract)
        w.llm.script["extraction"] = [extraction(found(f"memory of {name}", importance=2))]
        thread.add_messages(messages)
        return [row["metadata"] for row in stored(client.list_memories(thread_id=name))]

    same = [
        user("a", metadata={"project": "x", "n": 1}),
        user("b", metadata={"project": "x", "n": 1}),
    ]
    keys = [
        user("a", metadata={"project": "x", "n": 1}),
        user("b", metadata={"project": "x", "n": 2}),
    ]
    w.steps(
        {
            "default": lambda: run("a", same),
            "on": lambda: run("b", same, memory_extraction_inherit_message_metadata=True),
            "off": lambda: run("c", same, memory_extraction_inherit_message_metadata=False),
            "chosen key": lambda: run(
                "d", keys, memory_extraction_inherit_message_metadata=["project"]
            ),
            "chosen missing key": lambda: run(
                "e", same, memory_extraction_inherit_message_metadata=["nothing"]
            ),
            "no metadata": lambda: run(
                "f", [user("a"), user("b")], memory_extraction_inherit_message_metadata=True
            ),
            "one message": lambda: run(
                "g",
                [user("a", metadata={"deep": {"k": [1, None]}})],
                memory_extraction_inherit_message_metadata=True,
            ),
        }
    )


@scenario("extraction prompt")
def prompt(w):
    """What the prompt holds: messages, summary, past memories, instructions."""
    client, thread = w.opened(
        enable_context_summary=True,
        memory_extraction_window=3,
        memory_extraction_custom_instructions="[custom] words",
        memory_link_extraction_custom_instructions="[linkwords]",
    )
    thread.add_memory("[past] apple", memory_id="past", autonomous_linking=False)
    thread.add_memory("[stale] apple", memory_id="stale", autonomous_linking=False)
    client.update_memory("stale", status=RecordStatus.INVALID)
    w.llm.script["summary"] = [
        {"summary": f"[summary{number}] apple", "topics": []} for number in range(9)
    ]
    w.llm.script["extraction"] = [extraction(), extraction(found("apple [found]"))]
    thread.add_messages([user("apple [one]"), user("apple [two]")])
    w.step("first", lambda: w.llm.seen(MARK))
    thread.add_messages(
        [
            user("apple [three] <tag> & more", timestamp="2024-05-01T10:00:00+00:00"),
            user("apple [four]"),
        ]
    )
    calls = list(w.llm.calls)
    text = [prompt_text(call) for kind, call, _ in calls if kind == "extraction"][-1]
    w.steps(
        {
            "second": lambda: w.llm.seen(MARK, "extraction"),
            "markup escaped": lambda: "[three] &lt;tag&gt; &amp; more" in text,
            "time shown": lambda: "2024-05-01T10:00:00+00:00" in text,
            "instructions in the system message": lambda: [
                role for role, part in parts(calls[0][1]) if "[custom]" in text_of(part)
            ],
            "newest after older": lambda: text.rindex("[three]") > text.rindex("[two]"),
            "link instructions": lambda: [
                "[linkwords]" in prompt_text(call) for kind, call, _ in calls if kind == "links"
            ],
            "link prompt names": lambda: [
                "[past]" in prompt_text(call) and "[found]" in prompt_text(call)
                for kind, call, _ in calls
                if kind == "links"
            ],
        }
    )


@scenario("schemas asked for")
def schemas(w):
    """The properties an answer must have."""
    _client, thread = w.opened(enable_context_summary=True)
    thread.add_memory("apple", memory_id="old", autonomous_linking=False)
    w.llm.script["extraction"] = [extraction(found("apple pie"))]
    thread.add_messages([user("apple")])
    schema = {kind: schema for kind, _, schema in w.llm.calls}
    _, other = w.opened("t2", memory_link_extraction_mode=LinkMode.DURING_EXTRACTION)
    other.add_messages([user("apple")])
    schema.update({kind: schema for kind, _, schema in w.llm.calls})

    def item(kind):
        return resolve(schema[kind]["properties"]["memories"]["items"], schema[kind])

    w.steps(
        {
            "extraction": lambda: sorted(schema["extraction"]["properties"]),
            "memory": lambda: sorted(item("extraction")["properties"]),
            "memory with links": lambda: sorted(item("extraction with links")["properties"]),
            "required": lambda: sorted(item("extraction")["required"]),
            "no extras": lambda: item("extraction").get("additionalProperties"),
            "summary": lambda: (
                sorted(schema["summary"]["properties"]),
                sorted(schema["summary"]["required"]),
            ),
            "links": lambda: list(schema["links"]["properties"]),
        }
    )


@scenario("images in the prompt")
def images(w):
    """Image context of the extraction prompt; captions are made in every mode."""

    def run(name, mode, description):
        _client, thread = w.opened(
            name, **({} if mode is None else {"memory_extraction_image_context": mode})
        )
        w.llm.calls.clear()
        w.llm.script["caption"] = ["made caption"]
        thread.add_messages(
            [
                Message(
                    role="user",
                    id=f"m-{name}",
                    content=[
                        TextContent("look"),
                        ImageContent(
                            bytes=png(), mime_type=ImageMimeType.PNG, description=description
                        ),
                    ],
                )
            ]
        )
        prompt = next(prompt for kind, prompt, _ in w.llm.calls if kind == "extraction")
        return {
            "calls": w.llm.kinds(),
            "image parts": images_in(prompt),
            "given caption": "given caption" in prompt_text(prompt),
            "made caption": "made caption" in prompt_text(prompt),
            "stored": [
                part.description
                for part in thread.get_message(f"m-{name}").content
                if isinstance(part, ImageContent)
            ],
        }

    for mode in (None, ImageMode.DISABLED, ImageMode.CAPTION, ImageMode.IMAGE):
        for description in ("given caption", None):
            described = "with" if description else "without"
            label = f"{mode.name if mode else 'omitted'}, {described} description"
            w.step(
                label,
                lambda mode=mode, description=description: run(
                    f"{mode}-{description}".replace(" ", ""), mode, description
                ),
            )


@scenario("background extraction")
def background(w):
    """BACKGROUND: add_messages returns, wait_for_memory_extraction sees it done."""
    client, thread = w.opened(extraction_mode=core.MemoryExtractionMode.BACKGROUND)
    w.llm.script["extraction"] = [
        extraction(found("one")),
        RuntimeError("down"),
        extraction(found("three")),
    ]
    for number in range(3):
        w.step(
            f"add {number}",
            lambda number=number: thread.add_messages([user("hello", id=f"m{number}")]),
        )
    w.steps(
        {
            "wait": lambda: thread.wait_for_memory_extraction(timeout=30),
            "client waits too": lambda: client.wait_for_memory_extraction(timeout=30),
            "memories": lambda: sorted(memory.content for memory in client.list_memories()),
            "messages": lambda: [message.id for message in thread.get_messages()],
            "thread wait 0": lambda: thread.wait_for_memory_extraction(timeout=0),
            "thread wait negative": lambda: thread.wait_for_memory_extraction(timeout=-1),
            "close": lambda: client.close(),
            "close again": lambda: client.close(),
            "add after close": lambda: thread.add_messages([user("late")]),
            "create after close": lambda: client.create_thread(),
            "search after close": lambda: len(
                client.search("one", user_id="u1", record_types=["memory"])
            ),
        }
    )
