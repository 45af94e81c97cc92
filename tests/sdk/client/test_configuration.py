"""Configuration of a thread: what is saved, and which value wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oracleagentmemory.core import (
    BackgroundExtractionQueueFullBehavior,
    ImageInputLimitConfig,
    MemoryExtractionConfig,
    MemoryExtractionImageContext,
    MemoryExtractionMode,
    MemoryLinkExtractionMode,
    OracleAgentMemory,
    OracleThread,
    PruningEvaluationMode,
    PruningMemorySearchConfig,
    SQLiteMemoryStore,
    TopKMemorySearchConfig,
)
from tests.sdk.client.conftest import SilentLlm

Config = MemoryExtractionConfig

DEFAULTS: dict[str, Any] = {
    "memory_extraction_config": {
        "memory_extraction_window": -1,
        "context_summary_update_frequency": -1,
        "memory_extraction_frequency": -1,
        "memory_extraction_token_limit": 100_000,
        "memory_link_extraction_token_limit": 100_000,
        "extract_memories": True,
        "enable_context_summary": True,
        "memory_extraction_image_context": "disabled",
        "memory_extraction_inherit_message_metadata": True,
        "extraction_mode": "BACKGROUND",
        "memory_link_extraction_mode": "POST_EXTRACTION",
        "background_extraction_queue_full_behavior": "DROP",
        "background_extraction_queue_put_timeout_seconds": 300.0,
    },
    "max_message_token_length": 15_000,
    "message_shortening_input_token_limit": 30_000,
    "context_card_token_limit": 100_000,
    "search_config": {"type": "top_k"},
    "image_input_limit_config": {
        "max_raw_image_bytes": 10 * 2**20,
        "max_images_per_llm_request": 100,
        "max_total_raw_image_bytes_per_llm_request": 100 * 2**20,
    },
}

Open = Callable[..., OracleAgentMemory]


@pytest.fixture
def open_client(store: SQLiteMemoryStore, llm: SilentLlm) -> Open:
    """Open a client with a model on the store."""

    def build(**options: Any) -> OracleAgentMemory:
        return OracleAgentMemory(store=store, llm=llm, **options)

    return build


@pytest.fixture
def saved(store: SQLiteMemoryStore) -> Callable[[str], dict[str, Any]]:
    """Read the saved configuration of a thread."""

    def read(thread_id: str) -> dict[str, Any]:
        record = store.get("thread", thread_id)
        return record.runtime_config  # type: ignore[union-attr]

    return read


Saved = Callable[[str], dict[str, Any]]


def extraction(saved: Saved, thread_id: str, *names: str) -> list[Any]:
    """Some saved extraction settings; absent ones as None."""
    settings = saved(thread_id)["memory_extraction_config"]
    return [settings.get(name) for name in names]


def test_r004_r012_r018_r122_a_new_thread_saves_every_default(
    open_client: Open, saved: Saved
) -> None:
    open_client().create_thread(thread_id="t")
    assert saved("t") == DEFAULTS


def test_a_new_thread_starts_with_nothing_extracted(
    open_client: Open, store: SQLiteMemoryStore
) -> None:
    open_client().create_thread(thread_id="t")
    record = store.get("thread", "t")
    assert record.runtime_state == {  # type: ignore[union-attr]
        "memory_extraction_state": {"last_memory_extraction_counter": 0}
    }


def test_the_summary_follows_extraction_unless_it_is_asked_for(
    open_client: Open, saved: Saved
) -> None:
    client = open_client()
    off = Config(extract_memories=False)
    client.create_thread(thread_id="off", memory_extraction_config=off)
    both = Config(extract_memories=False, enable_context_summary=True)
    client.create_thread(thread_id="on", memory_extraction_config=both)
    assert extraction(saved, "off", "enable_context_summary") == [False]
    assert extraction(saved, "on", "enable_context_summary") == [True]


def test_everything_that_is_given_is_saved(open_client: Open, saved: Saved) -> None:
    open_client().create_thread(
        thread_id="t",
        max_message_token_length=50,
        message_shortening_input_token_limit=60,
        context_card_token_limit=70,
        context_card_type_search_concurrency=3,
        search_config=TopKMemorySearchConfig(max_results=7, token_budget=2000),
        image_input_limit_config=ImageInputLimitConfig(max_images_per_llm_request=5),
        memory_extraction_config=Config(
            memory_extraction_window="4",  # type: ignore[arg-type]
            context_summary_update_frequency=2,
            memory_extraction_frequency=3,
            memory_extraction_token_limit=5000,
            memory_link_extraction_token_limit=6000,
            enable_context_summary=False,
            memory_extraction_custom_instructions="Keep dates.",
            memory_link_extraction_custom_instructions="Link dates.",
            memory_extraction_image_context=MemoryExtractionImageContext.CAPTION,
            memory_extraction_inherit_message_metadata=("project",),
            extraction_mode=MemoryExtractionMode.INLINE,
            memory_link_extraction_mode=MemoryLinkExtractionMode.DISABLED,
            background_extraction_queue_full_behavior=(
                BackgroundExtractionQueueFullBehavior.WAIT_THEN_DROP
            ),
            background_extraction_queue_put_timeout_seconds=2.5,
        ),
    )
    assert saved("t") == {
        "memory_extraction_config": {
            "memory_extraction_window": 4,
            "context_summary_update_frequency": 2,
            "memory_extraction_frequency": 3,
            "memory_extraction_token_limit": 5000,
            "memory_link_extraction_token_limit": 6000,
            "extract_memories": True,
            "enable_context_summary": False,
            "memory_extraction_custom_instructions": "Keep dates.",
            "memory_link_extraction_custom_instructions": "Link dates.",
            "memory_extraction_image_context": "caption",
            "memory_extraction_inherit_message_metadata": ["project"],
            "extraction_mode": "INLINE",
            "memory_link_extraction_mode": "DISABLED",
            "background_extraction_queue_full_behavior": "WAIT_THEN_DROP",
            "background_extraction_queue_put_timeout_seconds": 2.5,
        },
        "max_message_token_length": 50,
        "message_shortening_input_token_limit": 60,
        "context_card_token_limit": 70,
        "search_config": {"type": "top_k", "max_results": 7, "token_budget": 2000},
        "image_input_limit_config": {
            **DEFAULTS["image_input_limit_config"],
            "max_images_per_llm_request": 5,
        },
    }


def test_r003_call_saved_client_and_default_decide_each_field_by_itself(
    open_client: Open, saved: Saved
) -> None:
    names = ("memory_extraction_window", "memory_extraction_token_limit", "extraction_mode")
    first = open_client(
        memory_extraction_config=Config(
            memory_extraction_window=5, memory_extraction_token_limit=5000
        )
    )
    second = open_client(
        memory_extraction_config=Config(
            memory_extraction_window=9, memory_extraction_token_limit=6000
        )
    )
    first.create_thread(thread_id="t", memory_extraction_config=Config(memory_extraction_window=6))
    assert extraction(saved, "t", *names) == [6, 5000, "BACKGROUND"]
    opened = second.get_thread(
        "t",
        memory_extraction_config=Config(extraction_mode=MemoryExtractionMode.INLINE),
    )
    settings = opened._settings.extraction
    assert [settings[name] for name in names] == [6, 5000, MemoryExtractionMode.INLINE]


def test_r005_opening_a_thread_with_other_settings_writes_nothing(
    open_client: Open, rows: Callable[[], list[str]]
) -> None:
    client = open_client()
    client.create_thread(thread_id="t")
    before = rows()
    opened = client.get_thread(
        "t",
        max_message_token_length=7,
        search_config=TopKMemorySearchConfig(max_results=2),
        memory_extraction_config=Config(memory_extraction_window=8),
    )
    assert opened.max_message_token_length == 7
    assert rows() == before


def test_r006_an_update_writes_only_what_it_was_given(open_client: Open, saved: Saved) -> None:
    first = open_client(memory_extraction_config=Config(memory_extraction_window=5))
    second = open_client(
        memory_extraction_config=Config(memory_extraction_window=9, extract_memories=False)
    )
    first.create_thread(thread_id="t")
    handle = first.get_thread("t", memory_extraction_config=Config(memory_extraction_frequency=8))
    updated = second.update_thread(
        "t", memory_extraction_config=Config(memory_extraction_token_limit=7000)
    )
    config = {
        **DEFAULTS["memory_extraction_config"],
        "memory_extraction_window": 5,
        "memory_extraction_token_limit": 7000,
    }
    assert saved("t") == {**DEFAULTS, "memory_extraction_config": config}
    assert updated._settings.extraction["memory_extraction_window"] == 5
    assert handle._settings.extraction["memory_extraction_token_limit"] == 100_000


def test_r010_the_model_of_a_call_is_not_saved(open_client: Open, store: SQLiteMemoryStore) -> None:
    other = SilentLlm()
    open_client().create_thread(thread_id="t")
    bare = OracleAgentMemory(store=store)
    assert bare.update_thread("t", metadata={"a": 1}, llm=other)._llm is other
    with pytest.raises(ValueError, match="no LLM"):
        bare.get_thread("t")


def test_r011_cleared_instructions_let_the_clients_apply(open_client: Open, saved: Saved) -> None:
    name = "memory_extraction_custom_instructions"
    client = open_client(
        memory_extraction_config=Config(memory_extraction_custom_instructions="The client's.")
    )
    own = Config(memory_extraction_custom_instructions="The thread's.")
    none = Config(memory_extraction_custom_instructions=None)
    client.create_thread(thread_id="t", memory_extraction_config=own)
    handle = client.get_thread("t", memory_extraction_config=none)
    assert handle._settings.extraction[name] == "The client's."
    assert extraction(saved, "t", name) == ["The thread's."]
    updated = client.update_thread("t", memory_extraction_config=none)
    assert name not in saved("t")["memory_extraction_config"]
    assert updated._settings.extraction[name] == "The client's."


def test_r012_r013_an_image_context_comes_from_thread_client_and_never_from_omission(
    open_client: Open, store: SQLiteMemoryStore, saved: Saved
) -> None:
    name = "memory_extraction_image_context"
    captions = open_client(
        memory_extraction_config=Config(
            memory_extraction_image_context="caption",  # type: ignore[arg-type]
        )
    )
    open_client().create_thread(thread_id="new")
    captions.create_thread(thread_id="captioned")
    assert extraction(saved, "new", name) == ["disabled"]
    assert extraction(saved, "captioned", name) == ["caption"]
    old = saved("new")
    del old["memory_extraction_config"][name]
    store.write(store.prepare_update_thread("new", runtime_config=old))
    handle = captions.update_thread(
        "new", memory_extraction_config=Config(memory_extraction_window=2)
    )
    assert handle._settings.extraction[name] is MemoryExtractionImageContext.CAPTION
    assert name not in saved("new")["memory_extraction_config"]


def test_r014_a_saved_search_config_wins_over_the_clients_pruner(
    open_client: Open, llm: SilentLlm
) -> None:
    open_client(search_config=TopKMemorySearchConfig(max_results=3)).create_thread(thread_id="t")
    pruning = open_client(pruner_llm=llm)
    assert pruning.get_thread("t")._settings.search_config == TopKMemorySearchConfig(max_results=3)
    created = pruning.create_thread(thread_id="p")
    assert isinstance(created._settings.search_config, PruningMemorySearchConfig)


def test_a_saved_pruning_config_takes_its_model_from_the_client(
    open_client: Open, saved: Saved, llm: SilentLlm
) -> None:
    config = PruningMemorySearchConfig(
        pruner=llm, evaluation_mode=PruningEvaluationMode.EXHAUSTIVE, token_budget=5000
    )
    open_client(search_config=config).create_thread(thread_id="t")
    assert saved("t")["search_config"] == {
        "type": "pruning",
        "evaluation_mode": "exhaustive",
        "token_budget": 5000,
    }
    assert open_client(pruner_llm=llm).get_thread("t")._settings.search_config == config
    plain = open_client().get_thread("t")._settings.search_config
    assert plain == TopKMemorySearchConfig(token_budget=5000)


def test_r018_the_concurrency_of_cards_is_the_handles_and_cannot_be_saved(
    open_client: Open, saved: Saved
) -> None:
    client = open_client()
    thread = client.create_thread(thread_id="t", context_card_type_search_concurrency=3)
    assert thread._settings.context_card_type_search_concurrency == 3
    assert client.get_thread("t")._settings.context_card_type_search_concurrency == 5
    assert "context_card_type_search_concurrency" not in saved("t")
    with pytest.raises(TypeError, match="concurrency"):
        client.update_thread("t", context_card_type_search_concurrency=2)


def test_an_unreadable_saved_configuration_falls_back_to_client_and_defaults(
    open_client: Open, store: SQLiteMemoryStore
) -> None:
    client = open_client(memory_extraction_config=Config(memory_extraction_window=5))
    client.create_thread(thread_id="t")
    broken = {
        "memory_extraction_config": {
            "extraction_mode": "SIDEWAYS",
            "memory_extraction_window": "many",
            "of_another_release": 1,
        },
        "max_message_token_length": "long",
        "search_config": 5,
        "image_input_limit_config": {"unknown": 1},
    }
    store.write(store.prepare_update_thread("t", runtime_config=broken))
    settings = client.get_thread("t")._settings
    assert settings.extraction["memory_extraction_window"] == 5
    assert settings.extraction["extraction_mode"] is MemoryExtractionMode.BACKGROUND
    assert settings.max_message_token_length == 15_000
    store.write(store.prepare_update_thread("t", runtime_config=None))
    assert client.update_thread("t", max_message_token_length=5).max_message_token_length == 5


@pytest.mark.parametrize(
    "search",
    [
        {"type": "pruning", "evaluation_mode": "of_another_release"},
        {"type": "pruning", "num_probe_points": 99},
        {"type": "pruning", "protected_fraction": "most"},
        {"type": "top_k", "max_results": "many"},
        {"type": "top_k", "token_budget": [5]},
    ],
)
def test_an_unreadable_saved_search_config_lets_the_clients_apply(
    open_client: Open, store: SQLiteMemoryStore, llm: SilentLlm, search: dict[str, Any]
) -> None:
    client = open_client(pruner_llm=llm)
    client.create_thread(thread_id="t")
    store.write(store.prepare_update_thread("t", runtime_config={"search_config": search}))
    assert client.get_thread("t")._settings.search_config == PruningMemorySearchConfig(pruner=llm)


BAD_EXTRACTION: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"extraction_mode": "INLINE"}, TypeError),
    ({"extraction_mode": None}, TypeError),
    ({"memory_link_extraction_mode": "DISABLED"}, TypeError),
    ({"background_extraction_queue_full_behavior": "DROP"}, TypeError),
    ({"memory_extraction_image_context": "video"}, ValueError),
    ({"memory_extraction_image_context": MemoryExtractionImageContext.MEMORY}, ValueError),
    ({"memory_extraction_window": "many"}, ValueError),
    ({"memory_extraction_frequency": None}, ValueError),
    ({"memory_extraction_frequency": float("inf")}, ValueError),
    ({"memory_extraction_custom_instructions": ""}, ValueError),
    ({"memory_extraction_custom_instructions": None}, ValueError),
    ({"memory_extraction_custom_instructions": 5}, ValueError),
    ({"memory_extraction_custom_instructions": "a\0"}, ValueError),
    ({"memory_link_extraction_custom_instructions": ""}, ValueError),
    ({"background_extraction_queue_put_timeout_seconds": 0}, ValueError),
    ({"background_extraction_queue_put_timeout_seconds": -1}, ValueError),
    ({"background_extraction_queue_put_timeout_seconds": float("nan")}, ValueError),
    ({"memory_extraction_inherit_message_metadata": ["a", ""]}, ValueError),
    ({"memory_extraction_inherit_message_metadata": ["a", 5]}, ValueError),
    ({"memory_extraction_inherit_message_metadata": "a"}, ValueError),
    ({"memory_extraction_token_limit": 10}, ValueError),
    ({"extract_memories": "no"}, TypeError),
]


@pytest.mark.parametrize(("fields", "error"), BAD_EXTRACTION)
def test_a_bad_extraction_setting_is_refused_where_it_is_resolved(
    open_client: Open, rows: Callable[[], list[str]], fields: Any, error: type[Exception]
) -> None:
    client = open_client()
    before = rows()
    with pytest.raises(error, match=next(iter(fields))):
        open_client(memory_extraction_config=Config(**fields))
    with pytest.raises(error, match=next(iter(fields))):
        client.create_thread(memory_extraction_config=Config(**fields))
    assert rows() == before


@pytest.mark.parametrize("value", [0, -1, 32 * 2**20 + 1, "many", None, True, 1.5])
def test_r075_a_bad_image_limit_is_refused(open_client: Open, value: Any) -> None:
    with pytest.raises(ValueError, match="max_raw_image_bytes"):
        open_client(image_input_limit_config=ImageInputLimitConfig(max_raw_image_bytes=value))


@pytest.mark.parametrize(
    "config",
    [
        TopKMemorySearchConfig(max_results=0),
        TopKMemorySearchConfig(max_results=1001),
        TopKMemorySearchConfig(reranker_max_candidates=0),
        TopKMemorySearchConfig(token_budget="many"),  # type: ignore[arg-type]
        PruningMemorySearchConfig(pruner=SilentLlm(), num_probe_points=0),
        PruningMemorySearchConfig(pruner=SilentLlm(), num_probe_points=17),
        PruningMemorySearchConfig(pruner=SilentLlm(), protected_fraction=2.0),
        PruningMemorySearchConfig(pruner=SilentLlm(), protected_fraction="all"),  # type: ignore[arg-type]
    ],
)
def test_a_bad_search_config_is_refused(open_client: Open, config: Any) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        open_client(search_config=config)


def test_a_small_token_budget_is_warned_about(open_client: Open) -> None:
    with pytest.warns(UserWarning, match="token_budget=500"):
        open_client(search_config=TopKMemorySearchConfig(token_budget=500))
    open_client(search_config=TopKMemorySearchConfig(token_budget=0))


@pytest.mark.parametrize(
    "options",
    [
        {"memory_extraction_config": {"extract_memories": False}},
        {"memory_extraction_config": None},
        {"search_config": "top_k"},
        {"image_input_limit_config": {}},
    ],
)
def test_a_configuration_of_the_wrong_type_is_refused(open_client: Open, options: Any) -> None:
    with pytest.raises(TypeError, match=next(iter(options))):
        open_client(**options)
    with pytest.raises(TypeError, match=next(iter(options))):
        open_client().create_thread(**options)


INLINE: list[dict[str, Any]] = [
    {"extract_memories": False},
    {"memory_extraction_window": 4},
    {"context_summary_update_frequency": 3},
    {"memory_extraction_frequency": 3},
    {"memory_extraction_token_limit": 9000},
    {"memory_extraction_custom_instructions": "Keep dates."},
    {"memory_extraction_inherit_message_metadata": False},
    {"enable_context_summary": False},
]


@pytest.mark.parametrize("inline", INLINE, ids=lambda one: next(iter(one)))
def test_r161_inline_parameters_still_work_and_show_their_replacement(
    open_client: Open, saved: Saved, inline: dict[str, Any]
) -> None:
    name, value = next(iter(inline.items()))
    shown = rf"MemoryExtractionConfig\({name}={value!r}\)"
    client = open_client()
    with pytest.warns(DeprecationWarning, match=shown):
        client.create_thread(thread_id="t", **inline)
    assert extraction(saved, "t", name) == [value]
    client.create_thread(thread_id="updated")
    with pytest.warns(DeprecationWarning, match=shown):
        client.update_thread("updated", **inline)
    assert extraction(saved, "updated", name) == [value]
    with pytest.warns(DeprecationWarning, match=shown):
        assert client.get_thread("updated", **inline)._settings.extraction[name] == value
    for call in (
        lambda: client.create_thread(memory_extraction_config=Config(), **inline),
        lambda: client.get_thread("t", memory_extraction_config=Config(), **inline),
        lambda: client.update_thread("t", memory_extraction_config=Config(), **inline),
    ):
        with pytest.raises(ValueError, match="not both"):
            call()


def test_r161_the_clients_inline_parameters_warn_too(open_client: Open, saved: Saved) -> None:
    with pytest.warns(DeprecationWarning, match="extract_memories=False"):
        client = open_client(extract_memories=False)
    client.create_thread(thread_id="t")
    assert extraction(saved, "t", "extract_memories") == [False]
    with pytest.raises(ValueError, match="not both"):
        open_client(memory_extraction_config=Config(), extract_memories=False)


def test_r161_a_standalone_thread_warns_of_inline_parameters(
    store: SQLiteMemoryStore, llm: SilentLlm
) -> None:
    with pytest.warns(DeprecationWarning, match="memory_extraction_window=2"):
        thread = OracleThread(store, llm=llm, memory_extraction_window=2)
    assert thread._settings.extraction["memory_extraction_window"] == 2
    with pytest.raises(TypeError):
        OracleThread(store, memory_extraction_config=None, memory_extraction_window=3)  # type: ignore[arg-type]


def test_a_warning_points_at_the_callers_line(open_client: Open) -> None:
    client = open_client()
    with pytest.warns(DeprecationWarning, match="26.6.0") as caught:
        client.create_thread(memory_extraction_window=4)
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="26.6.0") as caught:
        OracleAgentMemory(store=client._store, extract_memories=False)
    assert caught[0].filename == __file__
