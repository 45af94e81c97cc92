"""Relations in the browser: on the page of a memory and of a thread, and pages of their own."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from memoryapp.models import AuditEntry, Revision
from memoryapp.services import memories, relations
from oracleagentmemory.errors import NotFoundError
from tests.app.pages.conftest import OPERATOR, add_memory, add_thread, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db

LINK = {"source_id": "mem-1", "target_id": "mem-2", "relation_type": "supersedes"}


@pytest.fixture(autouse=True)
def two(db: None) -> None:
    """Two memories of ada's, and one of bob's."""
    add_memory("Ada likes the aisle", memory_id="mem-1", memory_type="preference")
    add_memory("Ada likes the window", memory_id="mem-2", memory_type="preference")
    add_memory("Bob likes tea", memory_id="mem-3", user_id="bob")


def link(**more: Any) -> str:
    return relations.add(OPERATOR, **{**LINK, "relation_id": "r-1", **more})


def status_of(memory_id: str) -> str:
    return memories.get(OPERATOR, memory_id).record.status.value


def test_each_end_shows_the_relation_as_it_reads_from_there(client: Client) -> None:
    link(metadata={"dialogue": "d-7"})
    response = client.get("/memories/mem-1/")
    (seen,) = response.context["relations"]
    assert (seen.label, seen.other.id, seen.row.id) == ("supersedes", "mem-2", "r-1")
    page = text_of(response)
    assert "Ada likes the window" in page
    assert "d-7" in page
    other = client.get("/memories/mem-2/")
    assert other.context["relations"][0].label == "is_superseded_by"
    assert "is superseded by" in text_of(other)


def test_a_superseded_memory_says_why_it_is_invalid(client: Client) -> None:
    link()
    assert "Superseded by another memory." in text_of(client.get("/memories/mem-2/"))
    assert "Superseded by another memory." in text_of(
        client.get("/memories/", {"status": "invalid", "m": "mem-2"})
    )
    relations.delete(OPERATOR, "r-1")
    memories.set_status(OPERATOR, "mem-2", "invalid")
    page = text_of(client.get("/memories/mem-2/"))
    assert "Made invalid by hand." in page
    assert "Superseded" not in page


def test_linking_makes_the_target_invalid_and_unlinking_valid(client: Client) -> None:
    sent = {**LINK, "metadata": '{"a": 1}', "reason": "told so", "next": "/memories/mem-1/"}
    assert client.post("/relations/new/", sent).url == "/memories/mem-1/"
    (row,) = relations.list_page(OPERATOR, relations.RelationFilters()).rows
    assert row.relation.metadata == {"a": 1}
    assert status_of("mem-2") == "invalid"
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.noun, entry.record_id) == ("add", "relation", row.id)
    assert (entry.user_id, entry.reason) == ("ada", "told so")
    (revision,) = entry.revisions.all()
    assert (revision.kind, revision.record_id) == ("memory", "mem-2")
    assert (revision.before["status"], revision.after["status"]) == ("valid", "invalid")

    url = f"/relations/{row.id}/delete/"
    assert "Remove this relation?" in text_of(client.get(url))
    assert client.post(url, {"next": "/memories/mem-1/"}).url == "/memories/mem-1/"
    assert status_of("mem-2") == "valid"
    kinds = set(AuditEntry.objects.latest("id").revisions.values_list("kind", flat=True))
    assert kinds == {"relation", "memory"}
    with pytest.raises(NotFoundError):
        relations.get(OPERATOR, row.id)


def test_a_deleted_relation_leads_to_the_list_when_its_own_page_was_open(client: Client) -> None:
    link()
    sent = {"next": "/relations/r-1/"}
    assert client.post("/relations/r-1/delete/", sent).url == "/relations/"


def test_relations_that_go_with_a_memory_have_revisions(client: Client) -> None:
    link()
    link(relation_id="r-2", target_id="mem-3", relation_type="likes")
    assert client.post("/memories/mem-1/delete/").status_code == 302
    assert status_of("mem-2") == "valid"
    entry = AuditEntry.objects.latest("id")
    assert entry.detail == {"relations": 2}
    kept = {(one.kind, one.record_id): one for one in entry.revisions.all()}
    assert set(kept) == {
        ("memory", "mem-1"), ("relation", "r-1"), ("relation", "r-2"), ("memory", "mem-2"),
    }  # fmt: skip
    assert kept["relation", "r-1"].before["relation_type"] == "supersedes"
    assert kept["memory", "mem-2"].after["status"] == "valid"


def test_relabelling_settles_the_target(client: Client) -> None:
    link()
    state = relations.get(OPERATOR, "r-1").fingerprint
    sent = {"relation_type": "supports", "fingerprint": state}
    assert client.post("/relations/r-1/edit/", sent).url == "/relations/r-1/"
    relation = relations.get(OPERATOR, "r-1").relation
    assert relation.opposite_relation_type == "is_supported_by"
    assert status_of("mem-2") == "valid"
    revision = Revision.objects.get(kind="relation")
    assert revision.before["relation_type"] == "supersedes"
    assert revision.after["relation_type"] == "supports"
    with nothing_changes():
        stale = client.post("/relations/r-1/edit/", {**sent, "relation_type": "refines"})
    assert stale.status_code == 409
    assert "Somebody changed this" in text_of(stale)
    fresh = {**sent, "relation_type": "refines"}
    fresh["fingerprint"] = stale.context["form"]["fingerprint"].value()
    assert client.post("/relations/r-1/edit/", fresh).status_code == 302
    assert status_of("mem-2") == "invalid"


def test_a_type_of_ones_own_reads_the_same_from_both_ends_unless_told(client: Client) -> None:
    sent = {**LINK, "relation_type": "rhymes_with"}
    url = client.post("/relations/new/", sent).url
    page = text_of(client.get(url))
    assert "rhymes_with" in page
    row = relations.list_page(OPERATOR, relations.RelationFilters()).rows[0]
    assert row.relation.opposite_relation_type == "rhymes_with"
    sent = {
        "relation_type": "likes",
        "opposite_relation_type": "is liked by",
        "fingerprint": row.fingerprint,
    }
    assert client.post(f"{url}edit/", sent).status_code == 302
    assert relations.get(OPERATOR, row.id).relation.opposite_relation_type == "is liked by"
    assert status_of("mem-2") == "valid"


@pytest.mark.parametrize(
    "wrong",
    [
        {"source_id": ""},
        {"target_id": ""},
        {"target_id": "nothing"},
        {"target_id": "mem-1"},
        {"target_id": "a\x00"},
        {"relation_type": ""},
        {"relation_type": "x" * 129},
        {"metadata": "{"},
        {"metadata": '{"$agent_memory": {}}'},
        {"timestamp": "soon"},
        {"once": "no uuid"},
    ],
)
def test_a_wrong_relation_is_said(client: Client, wrong: dict[str, str]) -> None:
    with nothing_changes():
        response = client.post("/relations/new/", {**LINK, **wrong})
    assert response.status_code == 422


def test_a_relation_that_is_there_is_not_added_again(client: Client) -> None:
    link()
    for sent in (LINK, {**LINK, "source_id": "mem-2", "target_id": "mem-1"}):
        with nothing_changes():
            response = client.post("/relations/new/", sent)
        assert response.status_code == 422
        assert "already" in text_of(response)


def test_the_list_and_its_filters(client: Client) -> None:
    add_thread("t-1", [])
    add_memory("Ada sleeps", memory_id="mem-4", thread_id="t-1", agent_id="travel")
    link()
    link(relation_id="r-2", target_id="mem-4", relation_type="supports")

    def ids(**query: str) -> list[str]:
        return [row.id for row in client.get("/relations/", query).context["page"].rows]

    assert ids() == ["r-2", "r-1"]
    assert ids(memory="mem-2") == ["r-1"]
    assert ids(thread="t-1") == ["r-2"]
    assert ids(type="supports", memory="mem-1") == ["r-2"]
    assert ids(type="nothing") == []
    assert ids(before="nonsense") == ["r-2", "r-1"]
    for wrong in ({"memory": "x" * 129}, {"thread": "a\x00"}, {"type": "x" * 129}):
        assert client.get("/relations/", wrong).status_code == 422


def test_a_thread_shows_the_relations_of_its_memories(client: Client) -> None:
    add_thread("t-1", ["hello"])
    assert "relation of its memories" not in text_of(client.get("/threads/t-1/"))
    add_memory("Ada sleeps", memory_id="mem-4", thread_id="t-1", agent_id="travel")
    link(target_id="mem-4")
    response = client.get("/threads/t-1/")
    assert [row.id for row in response.context["relations"].rows] == ["r-1"]
    assert "1 relation of its memories" in text_of(response)


def test_the_changes_name_a_relation_and_who_made_it(client: Client) -> None:
    client.post("/relations/new/", {**LINK, "reason": "by hand"})
    page = text_of(client.get("/changes/"))
    assert "Relation" in page
    assert "person:reviewer0: by hand" in page


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("/relations/new/", {**LINK, "target_id": "mem-3"}),
        ("/relations/r-2/edit/", {"relation_type": "supports", "fingerprint": "x"}),
        ("/relations/r-2/delete/", {}),
    ],
)
def test_who_may_not(
    anonymous: Client, reader: Client, limited: Client, url: str, sent: dict[str, str]
) -> None:
    link(relation_id="r-2", target_id="mem-3", relation_type="likes")
    with nothing_changes():
        assert anonymous.post(url, sent).url.startswith("/login/")
        assert reader.post(url, sent).status_code == 403
        # A memory of another user's is not there; neither is a relation with one.
        assert limited.post(url, sent).status_code == (422 if "new" in url else 404)
    assert limited.get("/relations/r-2/").status_code == 404
    assert limited.get("/memories/mem-1/").context["relations"] == []
    page = text_of(reader.get("/memories/mem-1/"))
    assert "/relations/r-2/" in page
    for word in ("/edit/", "/delete/", "Link to another memory"):
        assert word not in page


def test_pages_take_as_many_queries_for_twenty_relations_as_for_one(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    link()
    for number in range(20):
        add_memory(f"text {number}", memory_id=f"m-{number}")
        link(relation_id=f"l-{number}", target_id=f"m-{number}", relation_type="supports")
    with django_assert_max_num_queries(6):
        client.get("/memories/mem-2/")
    with django_assert_max_num_queries(6):
        assert client.get("/memories/mem-1/").context["more_relations"]
    with django_assert_max_num_queries(6):
        client.get("/relations/")
