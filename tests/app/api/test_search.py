"""``/api/v1/search``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.app.api.conftest import Api
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored(api: Api, thread: str) -> None:
    """Records of two users."""
    for name, user, text, memory_type in [
        ("window", "ada", "Ada likes a seat by the window", "preference"),
        ("vegan", "ada", "Ada eats no meat", "fact"),
        ("bob", "bob", "Bob likes a seat by the window", "preference"),
    ]:
        body = {"id": name, "user_id": user, "content": text, "memory_type": memory_type}
        api.post("/memories", {**body, "metadata": {"name": name}})


def ids(answer: object) -> list[str]:
    return [hit["record"]["id"] for hit in answer.json()["results"]]  # type: ignore[attr-defined]


@pytest.mark.usefixtures("stored")
def test_nearest_record_of_the_user_comes_first(api: Api) -> None:
    answer = api.post("/search", {"query": "a seat by the window", "user_id": "ada"})
    assert answer.status_code == 200
    hits = answer.json()["results"]
    assert hits[0]["record"]["id"] == "window"
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))
    distances = [hit["distance"] for hit in hits]
    assert distances == sorted(distances)
    assert all(hit["relevance"] == max(0, 1 - hit["distance"]) for hit in hits)
    assert "bob" not in ids(answer)


@pytest.mark.usefixtures("stored")
def test_query_string_finds_the_same(api: Api) -> None:
    body = {"query": "no meat", "user_id": "ada", "max_results": 3}
    query = {"q": "no meat", "user_id": "ada", "max_results": 3}
    posted, got = api.post("/search", body), api.get("/search", query)
    assert posted.json() == got.json()
    assert ids(got)[0] == "vegan"


@pytest.mark.usefixtures("stored")
def test_types_thread_metadata_and_number_narrow_the_search(api: Api) -> None:
    base = {"query": "window seat", "user_id": "ada"}
    assert set(ids(api.post("/search", {**base, "record_types": ["message"]}))) == {"m-1", "m-2"}
    assert set(ids(api.post("/search", {**base, "thread_id": "t-1"}))) == {"m-1", "m-2"}
    assert ids(api.post("/search", {**base, "metadata_filter": {"name": "vegan"}})) == ["vegan"]
    assert len(ids(api.post("/search", {**base, "max_results": 1}))) == 1
    query = {"q": "window", "user_id": "ada", "record_types": ["fact", "preference"]}
    assert set(ids(api.get("/search", query))) == {"window", "vegan"}


@pytest.mark.usefixtures("stored")
def test_key_of_all_users_searches_everybody_unless_told(api: Api) -> None:
    assert {"window", "bob"} <= set(ids(api.post("/search", {"query": "window"})))
    assert ids(api.post("/search", {"query": "window", "user_id": None})) == []


@pytest.mark.usefixtures("stored")
def test_key_of_one_user_searches_that_user(make_api: Callable[..., Api]) -> None:
    bob = make_api(user_ids=["bob"])
    assert ids(bob.post("/search", {"query": "window"})) == ["bob"]
    assert bob.post("/search", {"query": "window", "user_id": "ada"}).status_code == 403
    assert bob.post("/search", {"query": "window", "user_id": None}).status_code == 403
    assert bob.get("/search", {"q": "window", "thread_id": "t-1"}).json()["results"] == []


@pytest.mark.usefixtures("stored")
def test_key_of_several_users_must_name_one(make_api: Callable[..., Api]) -> None:
    both = make_api(user_ids=["ada", "bob"])
    assert both.post("/search", {"query": "window"}).status_code == 422
    assert ids(both.post("/search", {"query": "window", "user_id": "bob"})) == ["bob"]


@pytest.mark.parametrize("query", ["'; DROP TABLE memory; --", "<b>", "%", '" OR "', "空", "🙂"])
def test_any_text_is_a_query(api: Api, memory: str, query: str) -> None:
    with nothing_changes():
        assert api.post("/search", {"query": query, "user_id": "ada"}).status_code == 200


@pytest.mark.usefixtures("stored")
def test_the_strategy_can_be_named_and_explained(api: Api) -> None:
    query = {"q": "meat", "user_id": "ada", "strategy": "keyword", "explain": "true"}
    answer = api.get("/search", query).json()
    assert (answer["strategy"], answer["stages"][0]) == ("keyword", "keyword")
    (hit,) = answer["results"]
    assert hit["record"]["id"] == "vegan"
    assert hit["stages"]["keyword"]["rank"] == 1
    assert hit["stages"]["keyword"]["score"] > 0
    body = {"query": "no meat", "user_id": "ada", "explain": True}
    answer = api.post("/search", body).json()
    assert (answer["strategy"], answer["stages"][-1]) == ("hybrid", "fusion")
    assert [hit["stages"]["fusion"]["rank"] for hit in answer["results"]] == [
        hit["rank"] for hit in answer["results"]
    ]


@pytest.mark.usefixtures("stored")
def test_stages_are_told_only_when_asked_for(api: Api) -> None:
    plain = api.get("/search", {"q": "meat", "user_id": "ada"}).json()
    named = api.get("/search", {"q": "meat", "user_id": "ada", "strategy": "hybrid"}).json()
    assert plain == named
    assert plain["stages"] == []
    assert all(hit["stages"] == {} for hit in plain["results"])
    assert api.get("/search", {"q": "x", "strategy": "magic"}).status_code == 422
