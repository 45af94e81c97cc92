"""Relations between memories and the statuses that follow from them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus, TimeToLiveAnchor
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import DuplicateIdError, NotFoundError
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.search.stores import Clock

VALID, INVALID = RecordStatus.VALID, RecordStatus.INVALID
LIFECYCLE = ("supersedes", "refines", "duplicates")
MARK = {"$agent_memory": {"invalidated_by": "caller"}}


@pytest.fixture
def filled(store: SQLMemoryStore) -> SQLMemoryStore:
    """Memories a to f, the facts f1 and f2, and a message."""
    texts = ["red car", "blue car", "red sea", "blue sea"]
    store.add(texts, "memory", record_ids=["a", "b", "c", "d"], user_ids=["u1", "u1", "u2", None])
    store.add(["green tree", "green sea"], "fact", record_ids=["f1", "f2"], user_ids="u1")
    store.add(["red sky"], "message", record_ids="n1", roles="user", user_ids="u1")
    return store


def link(store: SQLMemoryStore, source: str, target: str, label: str, **fields: Any) -> str:
    kinds = ["fact" if one.startswith("f") else "memory" for one in (source, target)]
    single = {f"{name}s" if name != "metadata" else name: one for name, one in fields.items()}
    return store.add_relations(source, kinds[0], target, kinds[1], label, **single)[0]


def status(store: SQLMemoryStore, record_id: str) -> RecordStatus:
    record = store.get_memory(record_id)
    assert record is not None
    chunks = rows_of(store, store.tables.record_chunks)
    searched = {one.status for one in chunks if one.source_id == record_id}
    assert searched == {record.status.value}, "what is searched has another status"
    return record.status


def metadata(store: SQLMemoryStore, record_id: str) -> Any:
    record = store.get_memory(record_id)
    assert record is not None
    return record.metadata


def ids(store: SQLMemoryStore, **options: Any) -> list[str]:
    return [one.id for one in store.list_relations(**{"limit": None, **options})]


@pytest.mark.parametrize("wrong", ["message", "user_profile", "thread", "image", "", None])
def test_r050_only_memories_have_relations(filled: SQLMemoryStore, wrong: Any) -> None:
    before = everything(filled)
    for types in ((wrong, "memory"), ("memory", wrong)):
        with pytest.raises(ValueError, match="must be one of memory"):
            filled.add_relations("a", types[0], "n1", types[1], "supports")
    assert everything(filled) == before


def test_r051_a_pair_has_one_direction_whatever_the_types(filled: SQLMemoryStore) -> None:
    link(filled, "a", "b", "supports")
    before = everything(filled)
    for label in ("supports", "supersedes", "mine"):
        with pytest.raises(ValueError, match="one direction"):
            link(filled, "b", "a", label)
    with pytest.raises(ValueError, match="already"):
        link(filled, "a", "b", "supports")
    with pytest.raises(ValueError, match="one direction"):
        filled.add_relations(["c", "d"], "memory", ["d", "c"], "memory", "supports")
    with pytest.raises(ValueError, match="itself"):
        link(filled, "a", "a", "supports")
    assert everything(filled) == before
    link(filled, "a", "b", "contradicts")
    assert len(ids(filled)) == 2


def test_r052_the_reverse_view_is_a_label_and_no_second_row(filled: SQLMemoryStore) -> None:
    relation_id = link(filled, "a", "f1", "refines")
    relation: Any = filled.get_relation(relation_id=relation_id)
    assert (relation.source_record_id, relation.target_record_id) == ("a", "f1")
    assert (relation.source_record_type, relation.target_record_type) == ("memory", "fact")
    assert relation.opposite_relation_type == "is_refined_by"
    assert filled.get_relation("f1", "fact", "a", "memory", "is_refined_by") is None
    assert len(rows_of(filled, filled.tables.memory_link)) == 1


def test_r053_built_in_types_have_fixed_labels_and_own_types_read_alike(
    filled: SQLMemoryStore,
) -> None:
    link(filled, "a", "b", "supersedes", relation_id="r1", opposite_relation_type="odd")
    link(filled, "a", "c", "mine", relation_id="r2")
    link(filled, "a", "d", "cites", relation_id="r3", opposite_relation_type="is_cited_by")
    labels = {one.id: one.opposite_relation_type for one in filled.list_relations()}
    assert labels == {"r1": "is_superseded_by", "r2": "mine", "r3": "is_cited_by"}


def test_r054_a_built_in_type_brings_its_label(filled: SQLMemoryStore) -> None:
    link(filled, "a", "b", "cites", relation_id="r", opposite_relation_type="is_cited_by")
    filled.update_relations("r", "quotes")
    assert label(filled) == ("quotes", "is_cited_by")
    filled.update_relations("r", "supports", "odd")
    assert label(filled) == ("supports", "is_supported_by")
    filled.update_relations("r", opposite_relation_types="odd")
    assert label(filled) == ("supports", "is_supported_by")


def label(store: SQLMemoryStore) -> tuple[str, str]:
    relation: Any = store.get_relation(relation_id="r")
    return relation.relation_type, relation.opposite_relation_type


@pytest.mark.parametrize("kind", LIFECYCLE)
def test_r055_the_target_is_invalid_as_long_as_the_relation_exists(
    filled: SQLMemoryStore, kind: str
) -> None:
    relation_id = link(filled, "a", "b", kind)
    assert (status(filled, "a"), status(filled, "b")) == (VALID, INVALID)
    assert metadata(filled, "b")["$agent_memory"]["invalidation_reason"].endswith("memory.")
    found = filled.search("blue car", 9, include_invalid_results=False)
    assert "b" not in {one.id for one, _ in found}
    assert filled.delete_relations(relation_id) == 1
    assert (status(filled, "b"), metadata(filled, "b")) == (VALID, None)
    assert "b" in {one.id for one, _ in filled.search("blue car", 9, include_invalid_results=False)}
    check_agreement(filled)


def test_r056_only_the_last_such_relation_makes_it_valid_again(filled: SQLMemoryStore) -> None:
    for source, kind in (("a", "supersedes"), ("c", "refines"), ("d", "duplicates")):
        link(filled, source, "b", kind, relation_id=f"r-{source}")
    filled.delete_relations("r-a")
    assert status(filled, "b") is INVALID
    assert "Refined" in metadata(filled, "b")["$agent_memory"]["invalidation_reason"]
    filled.update_relations("r-c", "supports")
    assert status(filled, "b") is INVALID
    filled.update_relations("r-d", "mine")
    assert status(filled, "b") is VALID
    filled.update_relations("r-d", "duplicates")
    assert status(filled, "b") is INVALID
    check_agreement(filled)


@pytest.mark.parametrize("kind", ["contradicts", "supports", "mine", "is_superseded_by"])
def test_r057_other_types_change_no_status(filled: SQLMemoryStore, kind: str) -> None:
    relation_id = link(filled, "a", "b", kind)
    assert (status(filled, "a"), status(filled, "b")) == (VALID, VALID)
    filled.delete_relations(relation_id)
    assert (status(filled, "a"), status(filled, "b")) == (VALID, VALID)


def test_r058_a_relation_is_named_by_its_id_alone_or_in_full(filled: SQLMemoryStore) -> None:
    link(filled, "a", "f1", "supports", relation_id="r")
    full = ("a", "memory", "f1", "fact", "supports")
    assert filled.get_relation(*full) == filled.get_relation(relation_id="r")
    for count in range(5):
        with pytest.raises(ValueError, match="missing"):
            filled.get_relation(*full[:count])
    for count in range(1, 6):
        with pytest.raises(ValueError, match="alone"):
            filled.get_relation(*full[:count], relation_id="r")
    assert filled.get_relation(relation_id="nobody") is None
    assert filled.get_relation(relation_id="x\0") is None


def test_r059_the_five_parts_follow_the_stored_direction(filled: SQLMemoryStore) -> None:
    link(filled, "a", "f1", "supports")
    assert filled.get_relation("f1", "fact", "a", "memory", "supports") is None
    assert filled.get_relation("a", "fact", "f1", "fact", "supports") is None


def test_r060_lists_are_by_time_and_id_and_keep_the_newest(
    filled: SQLMemoryStore, clock: Clock
) -> None:
    for target, relation_id in (("b", "z"), ("c", "y")):
        link(filled, "a", target, "supports", relation_id=relation_id)
        clock.pass_days(1)
    filled.add_relations(["f1", "f2"], "fact", "d", "memory", "supports", relation_ids=["k", "j"])
    assert ids(filled) == ["z", "y", "j", "k"]
    assert ids(filled, limit=3) == ["y", "j", "k"]
    assert ids(filled, limit=0) == ids(filled, limit=-1) == []
    assert ids(filled, source_record_id="f1") == ["k"]
    assert ids(filled, source_record_type="fact", target_record_id="d") == ["j", "k"]
    assert ids(filled, relation_id="z", relation_type="refines") == []
    assert ids(filled, target_record_type="message") == []


def test_r061_a_filter_of_none_means_without_metadata(filled: SQLMemoryStore) -> None:
    link(filled, "a", "b", "supports", relation_id="r1", metadata={"by": "hand"})
    link(filled, "a", "c", "supports", relation_id="r2")
    link(filled, "a", "d", "supports", relation_id="r3", metadata={"$agent_memory": {"x": 1}})
    assert ids(filled, metadata_filter=None) == ["r2", "r3"]
    assert ids(filled, metadata_filter={"by": "hand"}) == ["r1"]
    assert ids(filled, metadata_filter={"by": {"$not": "hand"}}) == ["r2", "r3"]
    assert len(ids(filled, metadata_filter={})) == 3


def test_r061_the_sdks_own_metadata_counts_as_none(filled: SQLMemoryStore) -> None:
    link(filled, "a", "b", "supersedes")
    listed = filled.list("memory", metadata_filter=None)
    assert [one.id for one in listed] == ["a", "b", "c", "d"]


def test_r062_metadata_is_replaced_and_none_clears(filled: SQLMemoryStore) -> None:
    when = "2024-05-01T10:00:00+00:00"
    link(filled, "a", "b", "supports", relation_id="r", metadata={"a": 1}, timestamp=when)
    filled.update_relations("r", metadata={"b": 2})
    relation: Any = filled.get_relation(relation_id="r")
    assert (relation.metadata, relation.timestamp) == ({"b": 2}, when)
    filled.update_relations("r", timestamps=None, metadata=None)
    relation = filled.get_relation(relation_id="r")
    assert (relation.metadata, relation.timestamp) == (None, None)


def test_r063_scalars_are_of_all_and_lists_have_to_match(filled: SQLMemoryStore) -> None:
    made = filled.add_relations(
        ["a", "b"], "memory", ["c", "d"], "memory", "supports", relation_ids=[None, "r2"]
    )
    assert made[1] == "r2"
    assert ids(filled) == sorted(made)
    fields = {"relation_types": "mine", "metadata": [{"n": 1}, None]}
    assert filled.update_relations(made, **fields) == made
    assert [filled.get_relation(relation_id=one).metadata for one in made] == [{"n": 1}, None]
    for call in (
        lambda: filled.add_relations(["a"], "memory", ["c", "d"], "memory", "x"),
        lambda: filled.add_relations(["a", "b"], ["memory"], "c", "memory", "x"),
        lambda: filled.add_relations(["a", "b"], "memory", "f1", "fact", "x", relation_ids="r"),
        lambda: filled.update_relations(made, relation_types=["x"]),
        lambda: filled.update_relations(["r2", "r2"], relation_types="x"),
    ):
        with pytest.raises(ValueError, match=r"lengths must match|twice"):
            call()
    assert filled.add_relations([], "memory", [], "memory", "x") == []


@pytest.mark.parametrize(
    ("sources", "targets", "fields", "error"),
    [
        (["a", "nobody"], ["b", "b"], {}, NotFoundError),
        (["a", "f1"], ["b", "b"], {}, NotFoundError),
        (["a", "c"], ["b", "b"], {"relation_ids": ["r9", "r0"]}, DuplicateIdError),
        (["a", "b"], ["b", "c"], {"metadata": [None, {"x": float("nan")}]}, ValueError),
        (["a", "b"], ["b", "c"], {"relation_ids": ["x" * 129, "y"]}, ValueError),
        (["a", "c"], ["b", "d"], {"timestamps": ["t", "x\0"]}, ValueError),
    ],
)
def test_r063_a_batch_is_stored_whole_or_not(
    filled: SQLMemoryStore, sources: Any, targets: Any, fields: Any, error: type[Exception]
) -> None:
    link(filled, "d", "c", "mine", relation_id="r0")
    before = everything(filled)
    with pytest.raises(error):
        filled.add_relations(sources, "memory", targets, "memory", "supersedes", **fields)
    assert everything(filled) == before


def test_r064_updates_tell_which_were_there_and_deletes_how_many(filled: SQLMemoryStore) -> None:
    link(filled, "a", "b", "supports", relation_id="r")
    assert filled.update_relations(["x", "r", "y"], relation_types="mine") == ["r"]
    assert filled.update_relations("nobody", relation_types="mine") == []
    with pytest.raises(ValueError, match="nothing to update"):
        filled.update_relations("r")
    assert filled.delete_relations([]) == filled.delete_relations("nobody") == 0
    assert filled.delete_relations(["r", "x", "r"]) == 1
    assert ids(filled) == []


def test_a_relabelled_relation_may_not_repeat_another(filled: SQLMemoryStore) -> None:
    link(filled, "a", "b", "supports", relation_id="r1")
    link(filled, "a", "b", "refines", relation_id="r2")
    before = everything(filled)
    with pytest.raises(ValueError, match="two relations of one type"):
        filled.update_relations("r1", "refines")
    assert everything(filled) == before


# -- by hand -----------------------------------------------------------------------------------


def test_what_a_caller_made_invalid_stays_so_whatever_relations_go(filled: SQLMemoryStore) -> None:
    relation_id = link(filled, "a", "b", "supersedes")
    filled.update("memory", "b", status=INVALID)
    filled.update("memory", "c", status=INVALID)
    filled.delete_relations(relation_id)
    assert (status(filled, "b"), metadata(filled, "b")) == (INVALID, MARK)
    assert status(filled, "c") is INVALID
    filled.update("memory", "b", status=VALID)
    assert (status(filled, "b"), metadata(filled, "b")) == (VALID, None)
    check_agreement(filled)


def test_valid_by_hand_is_what_the_relations_say_at_once(filled: SQLMemoryStore) -> None:
    filled.update("memory", "b", status=INVALID)
    relation_id = link(filled, "a", "b", "duplicates")
    assert filled.update("memory", "b", status=VALID) == 1
    assert status(filled, "b") is INVALID
    assert "invalidated_by" not in metadata(filled, "b")["$agent_memory"]
    filled.delete_relations(relation_id)
    assert (status(filled, "b"), metadata(filled, "b")) == (VALID, None)
    check_agreement(filled)


def test_a_memory_that_was_added_as_invalid_stays_so(filled: SQLMemoryStore) -> None:
    filled.add(["old sea"], "memory", record_ids="old", statuses=INVALID, user_ids="u1")
    filled.delete_relations(link(filled, "a", "old", "refines"))
    assert (status(filled, "old"), metadata(filled, "old")) == (INVALID, MARK)
    check_agreement(filled)


def test_the_callers_metadata_outlives_a_relation(filled: SQLMemoryStore) -> None:
    filled.update("memory", "b", metadata={"topic": "cars", "$agent_memory": {"importance": 3}})
    relation_id = link(filled, "a", "b", "supersedes")
    filled.update("memory", "b", metadata={"topic": "sea"})
    assert metadata(filled, "b")["$agent_memory"].keys() == {"importance", "invalidation_reason"}
    filled.delete_relations(relation_id)
    assert metadata(filled, "b") == {"topic": "sea", "$agent_memory": {"importance": 3}}


# -- what goes with an end ----------------------------------------------------------------------


@pytest.mark.parametrize("end", ["a", "b"])
def test_a_deleted_memory_takes_its_relations_along(filled: SQLMemoryStore, end: str) -> None:
    link(filled, "a", "b", "supersedes")
    link(filled, "c", "a", "supports")
    filled.delete("memory", end)
    assert len(ids(filled)) == (0 if end == "a" else 1)
    if end == "a":
        assert (status(filled, "b"), metadata(filled, "b")) == (VALID, None)
    check_agreement(filled)


def test_a_deleted_thread_or_user_makes_its_targets_elsewhere_valid(store: SQLMemoryStore) -> None:
    for thread_id in ("t1", "t2"):
        store.write(store.prepare_create_thread(thread_id, user_id="u1", agent_id=None))
    store.add(["red", "blue"], "memory", record_ids=["m1", "m2"], thread_ids="t1", user_ids="u1")
    store.add(["sea", "sky"], "memory", record_ids=["x1", "x2"], thread_ids="t2", user_ids="u2")
    store.add(["car"], "memory", record_ids="y", user_ids="u1")
    for source, target in (("m1", "m2"), ("m1", "x1"), ("y", "x2")):
        link(store, source, target, "supersedes")
    store.delete_thread("t1")
    assert (status(store, "x1"), status(store, "x2")) == (VALID, INVALID)
    store.delete("user_profile", "u3", cascade=True)
    store.delete("user_profile", "u2", cascade=True)
    assert ids(store) == []
    check_agreement(store)


def test_a_purged_memory_ends_nothing_any_more(filled: SQLMemoryStore, clock: Clock) -> None:
    filled.add(["red"], "memory", record_ids="short", ttl_days=1, user_ids="u1",
               ttl_anchor=TimeToLiveAnchor.CREATED_AT)  # fmt: skip
    link(filled, "short", "b", "supersedes", relation_id="r")
    clock.pass_days(2)
    assert ids(filled) == []
    assert filled.get_relation(relation_id="r") is None
    with pytest.raises(NotFoundError):
        link(filled, "short", "c", "supports")
    assert status(filled, "b") is INVALID
    assert filled.purge_expired() == 1
    assert (status(filled, "b"), metadata(filled, "b")) == (VALID, None)
    assert rows_of(filled, filled.tables.memory_link) == []
    check_agreement(filled)


def test_every_change_of_a_relation_is_noted_for_each_user(filled: SQLMemoryStore) -> None:
    relation_id = link(filled, "a", "c", "supports")
    filled.update_relations(relation_id, timestamps="2024")
    filled.delete_relations(relation_id)
    noted = sorted(
        (one.operation, one.scope_key)
        for one in rows_of(filled, filled.extras.change)
        if one.record_kind == "memory_link" and one.record_id == relation_id
    )
    scopes = ("u:u1", "u:u2")
    assert noted == [(one, scope) for one in ("add", "delete", "update") for scope in scopes]


def test_relations_can_be_prepared_together_with_their_memories(filled: SQLMemoryStore) -> None:
    added = filled.prepare_add(["new car"], "memory", record_ids="new", user_ids="u1")
    related = filled.prepare_add_relations("new", "memory", "a", "memory", "supersedes")
    filled.write_all([added, related])
    assert status(filled, "a") is INVALID
    again = filled.prepare_add(["car"], "memory", record_ids="newer")
    missing = filled.prepare_add_relations("newer", "memory", "nobody", "memory", "supports")
    with pytest.raises(NotFoundError):
        filled.write_all([again, missing])
    assert filled.get("memory", "newer") is None


def test_twins_of_the_relation_methods_do_the_same(filled: SQLMemoryStore) -> None:
    async def through_twins() -> list[Any]:
        made = await filled.add_relations_async(
            "a", "memory", "b", "memory", "supersedes", relation_ids="r"
        )
        found = await filled.get_relation_async(relation_id="r")
        listed = await filled.list_relations_async(limit=None)
        changed = await filled.update_relations_async("r", "supports")
        return [made, [found], listed, changed, await filled.delete_relations_async("r")]

    made, found, listed, changed, count = asyncio.run(through_twins())
    assert (made, changed, count) == (["r"], ["r"], 1)
    assert found == listed
    assert ids(filled) == []
