"""What a thread saves of its configuration, and which value wins when it is opened again."""

import oracleagentmemory.core as core
from tests.contract.scenarios.kit import scenario

Config = core.MemoryExtractionConfig
Mode = core.MemoryExtractionMode
EXTRACTION = (
    "memory_extraction_window",
    "context_summary_update_frequency",
    "memory_extraction_frequency",
    "memory_extraction_token_limit",
    "memory_link_extraction_token_limit",
    "extract_memories",
    "enable_context_summary",
    "memory_extraction_custom_instructions",
    "memory_link_extraction_custom_instructions",
    "memory_extraction_image_context",
    "memory_extraction_inherit_message_metadata",
    "extraction_mode",
    "memory_link_extraction_mode",
    "background_extraction_queue_full_behavior",
    "background_extraction_queue_put_timeout_seconds",
)
OTHERS = (
    "max_message_token_length",
    "message_shortening_input_token_limit",
    "context_card_token_limit",
    "context_card_type_search_concurrency",
    "search_config",
    "image_input_limit_config",
)


def saved(w, name, *keys):
    """The saved settings of a thread; absent ones are left out."""
    config = w.store.get("thread", name).runtime_config
    extraction = config["memory_extraction_config"]
    both = {
        **{key: extraction[key] for key in EXTRACTION if key in extraction},
        **{key: config[key] for key in OTHERS if key in config},
    }
    return both if not keys else {key: both[key] for key in keys if key in both}


@scenario("saved configuration")
def defaults(w):
    """The configuration a new thread saves."""
    plain = core.OracleAgentMemory(store=w.store, llm=w.llm)
    w.clients.append(plain)
    plain.create_thread(thread_id="t1")
    w.step("defaults", lambda: saved(w, "t1"))
    w.step("state of a new thread", lambda: w.store.get("thread", "t1").runtime_state)
    quiet = w.quiet()
    quiet.create_thread(thread_id="t2")
    w.step("extraction off", lambda: saved(w, "t2", "extract_memories", "enable_context_summary"))
    plain.create_thread(
        thread_id="t3",
        max_message_token_length=50,
        message_shortening_input_token_limit=60,
        context_card_token_limit=70,
        context_card_type_search_concurrency=3,
        search_config=core.TopKMemorySearchConfig(max_results=7, token_budget=2000),
        image_input_limit_config=core.ImageInputLimitConfig(max_images_per_llm_request=5),
        memory_extraction_config=Config(
            memory_extraction_window=4,
            context_summary_update_frequency=2,
            memory_extraction_frequency=3,
            memory_extraction_token_limit=5000,
            memory_link_extraction_token_limit=6000,
            enable_context_summary=False,
            memory_extraction_custom_instructions="Keep dates.",
            memory_link_extraction_custom_instructions="Link dates.",
            memory_extraction_image_context=core.MemoryExtractionImageContext.CAPTION,
            memory_extraction_inherit_message_metadata=["project"],
            extraction_mode=Mode.INLINE,
            memory_link_extraction_mode=core.MemoryLinkExtractionMode.DISABLED,
            background_extraction_queue_full_behavior=core.BackgroundExtractionQueueFullBehavior.WAIT_THEN_DROP,
            background_extraction_queue_put_timeout_seconds=2.5,
        ),
    )
    w.step("everything given", lambda: saved(w, "t3"))
    w.step(
        "properties",
        lambda: (
            plain.get_thread("t3").max_message_token_length,
            plain.get_thread("t3").message_shortening_input_token_limit,
        ),
    )
    plain.create_thread(
        thread_id="t4",
        memory_extraction_config=Config(
            memory_extraction_window="3", memory_extraction_frequency="2"
        ),
    )
    w.step(
        "numbers coerced",
        lambda: saved(w, "t4", "memory_extraction_window", "memory_extraction_frequency"),
    )
    plain.create_thread(
        thread_id="t5",
        memory_extraction_config=Config(extract_memories=False, enable_context_summary=True),
    )
    w.step(
        "summary on, extraction off",
        lambda: saved(w, "t5", "extract_memories", "enable_context_summary"),
    )


@scenario("configuration order")
def order(w):
    """Call, saved thread, client, default; field by field."""
    first = w.client(
        extract={
            "memory_extraction_window": 5,
            "memory_extraction_token_limit": 5000,
            "memory_extraction_custom_instructions": "From the client.",
        }
    )
    second = w.client(
        extract={
            "memory_extraction_window": 9,
            "memory_extraction_token_limit": 6000,
            "extract_memories": False,
        }
    )
    first.create_thread(thread_id="t1")
    first.create_thread(thread_id="t2", memory_extraction_config=Config(memory_extraction_window=6))
    second.create_thread(thread_id="t3")
    keys = (
        "memory_extraction_window",
        "memory_extraction_token_limit",
        "extract_memories",
        "memory_extraction_custom_instructions",
        "memory_extraction_frequency",
        "extraction_mode",
    )
    w.steps(
        {
            "from the client": lambda: saved(w, "t1", *keys),
            "call first": lambda: saved(w, "t2", *keys),
            "other client": lambda: saved(w, "t3", *keys),
            "opening writes nothing": lambda: (
                second.get_thread(
                    "t2", memory_extraction_config=Config(memory_extraction_frequency=8)
                ),
                saved(w, "t2", *keys),
            )[1],
            "update by the other client": lambda: (
                second.update_thread(
                    "t2", memory_extraction_config=Config(memory_extraction_window=7)
                ),
                saved(w, "t2", *keys),
            )[1],
            "instructions cleared": lambda: (
                first.update_thread(
                    "t2",
                    memory_extraction_config=Config(memory_extraction_custom_instructions=None),
                ),
                saved(w, "t2", *keys),
            )[1],
            "instructions changed": lambda: (
                first.update_thread(
                    "t2",
                    memory_extraction_config=Config(memory_extraction_custom_instructions="Anew."),
                ),
                saved(w, "t2", *keys),
            )[1],
            "update of numbers": lambda: (
                first.update_thread(
                    "t2",
                    max_message_token_length=11,
                    context_card_token_limit=12,
                    message_shortening_input_token_limit=13,
                ),
                saved(
                    w,
                    "t2",
                    "max_message_token_length",
                    "context_card_token_limit",
                    "message_shortening_input_token_limit",
                ),
            )[1],
            "update of search": lambda: (
                first.update_thread("t2", search_config=core.TopKMemorySearchConfig(max_results=3)),
                saved(w, "t2", "search_config"),
            )[1],
            "update of nothing": lambda: (first.update_thread("t2"), saved(w, "t2", *keys))[1],
            "metadata untouched": lambda: w.store.get("thread", "t2").metadata,
            "update without instructions on empty": lambda: first.update_thread(
                "t2", memory_extraction_config=Config(memory_extraction_custom_instructions="")
            ),
        }
    )


@scenario("deprecations")
def deprecations(w):
    """Old arguments that still work, with a warning."""

    def build(**options):
        client = core.OracleAgentMemory(store=w.store, llm=w.llm, **options)
        w.clients.append(client)
        return client

    client = w.client()
    client.create_thread(thread_id="t0", user_id="u1", agent_id="a1")
    w.steps(
        {
            "client extract_memories": lambda: type(build(extract_memories=False)).__name__,
            "client instructions": lambda: (
                type(build(memory_extraction_custom_instructions="Keep dates.")).__name__
            ),
            "thread window": lambda: client.create_thread(
                thread_id="t1", user_id="u1", agent_id="a1", memory_extraction_window=4
            ),
            "window saved": lambda: saved(w, "t1", "memory_extraction_window"),
            "thread frequency": lambda: client.create_thread(
                thread_id="t2", user_id="u1", agent_id="a1", memory_extraction_frequency=3
            ),
            "thread summary frequency": lambda: client.create_thread(
                thread_id="t3", user_id="u1", agent_id="a1", context_summary_update_frequency=3
            ),
            "thread token limit": lambda: client.create_thread(
                thread_id="t4", user_id="u1", agent_id="a1", memory_extraction_token_limit=9000
            ),
            "thread inherit": lambda: client.create_thread(
                thread_id="t5",
                user_id="u1",
                agent_id="a1",
                memory_extraction_inherit_message_metadata=False,
            ),
            "thread summary": lambda: client.create_thread(
                thread_id="t6", user_id="u1", agent_id="a1", enable_context_summary=False
            ),
            "thread extract": lambda: client.create_thread(
                thread_id="t7", user_id="u1", agent_id="a1", extract_memories=False
            ),
            "get with window": lambda: client.get_thread("t0", memory_extraction_window=2),
            "update with window": lambda: client.update_thread("t0", memory_extraction_window=2),
            "updated": lambda: saved(w, "t0", "memory_extraction_window"),
            "config and inline on get": lambda: client.get_thread(
                "t0", memory_extraction_config=Config(), memory_extraction_window=2
            ),
            "config and inline on update": lambda: client.update_thread(
                "t0", memory_extraction_config=Config(), memory_extraction_window=2
            ),
            "no warning without": lambda: client.create_thread(
                thread_id="t8", user_id="u1", agent_id="a1", memory_extraction_config=Config()
            ),
            "standalone window": lambda: core.OracleThread(
                store=w.store,
                llm=w.llm,
                thread_id="t9",
                user_id="u1",
                agent_id="a1",
                memory_extraction_window=2,
            ),
        }
    )
