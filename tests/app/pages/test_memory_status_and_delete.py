"""Taking a memory out of use, and away."""

from __future__ import annotations

import pytest
from django.test import Client

from memoryapp.models import AuditEntry, Revision
from memoryapp.services import memories, search
from oracleagentmemory.errors import NotFoundError
from tests.app.pages.conftest import OPERATOR, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db
STATUS = "/memories/mem-1/status/"
DELETE = "/memories/mem-1/delete/"


def state() -> str:
    return memories.get(OPERATOR, "mem-1").fingerprint


def found() -> list[str]:
    answer = search.search(OPERATOR, "window seat", user_id="ada")
    return [hit.record.id for hit in answer.found]


def test_an_invalid_memory_leaves_search_and_list_and_comes_back(
    client: Client, memory: str
) -> None:
    assert found() == ["mem-1"]
    client.post(STATUS, {"status": "invalid", "fingerprint": state(), "reason": "outdated"})
    assert found() == []
    assert "Ada likes" not in text_of(client.get("/memories/"))
    assert "Ada likes" in text_of(client.get("/memories/?status=invalid"))
    assert Revision.objects.get().after["status"] == "invalid"
    client.post(STATUS, {"status": "valid", "fingerprint": state()})
    assert found() == ["mem-1"]
    assert "Ada likes" in text_of(client.get("/memories/"))


def test_an_unknown_status_is_refused(client: Client, memory: str) -> None:
    with nothing_changes():
        response = client.post(STATUS, {"status": "archived", "fingerprint": state()})
    assert response.status_code == 422


def test_a_deleted_memory_is_gone_from_everywhere(client: Client, memory: str) -> None:
    assert "Ada likes the window seat" in text_of(client.get(DELETE))
    response = client.post(DELETE, {"fingerprint": state(), "reason": "asked to forget"})
    assert response.url == "/memories/"
    with pytest.raises(NotFoundError):
        memories.get(OPERATOR, "mem-1")
    assert found() == []
    assert client.get("/memories/mem-1/").status_code == 404
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.record_id, entry.reason) == ("delete", "mem-1", "asked to forget")
    revision = entry.revisions.get()
    assert revision.before["content"] == "Ada likes the window seat"
    assert revision.after is None


def test_after_deleting_the_person_is_back_in_the_filtered_list(
    client: Client, memory: str
) -> None:
    sent = {"fingerprint": state(), "next": "/memories/?user=ada&m=mem-1"}
    response = client.post(DELETE, sent, follow=True)
    assert response.redirect_chain[-1][0] == "/memories/?user=ada&m=mem-1"
    assert response.status_code == 200


def test_a_second_delete_is_not_found(client: Client, memory: str) -> None:
    client.post(DELETE, {"fingerprint": state()})
    with nothing_changes():
        assert client.post(DELETE).status_code == 404


@pytest.mark.parametrize(("url", "sent"), [(STATUS, {"status": "invalid"}), (DELETE, {})])
class TestWhoMay:
    def test_what_changed_meanwhile_is_left_alone(
        self, client: Client, memory: str, url: str, sent: dict[str, str]
    ) -> None:
        stale = state()
        memories.update(OPERATOR, "mem-1", content="theirs")
        with nothing_changes():
            response = client.post(url, {**sent, "fingerprint": stale})
        assert response.status_code == 409
        assert f'href="{url}">Look at it' in text_of(response)
        assert "theirs" in text_of(client.get(url, follow=True))

    def test_a_stranger_is_sent_to_sign_in(
        self, anonymous: Client, memory: str, url: str, sent: dict[str, str]
    ) -> None:
        with nothing_changes():
            assert anonymous.post(url, sent).url.startswith("/login/")

    def test_a_reader_may_not(
        self, reader: Client, memory: str, url: str, sent: dict[str, str]
    ) -> None:
        with nothing_changes():
            assert reader.post(url, sent).status_code == 403

    def test_another_users_memory_does_not_exist(
        self, limited: Client, foreign: str, url: str, sent: dict[str, str]
    ) -> None:
        with nothing_changes():
            response = limited.post(url.replace("mem-1", foreign), sent)
        assert response.status_code == 404
