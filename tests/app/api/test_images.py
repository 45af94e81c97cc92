"""``/api/v1/images``, and messages with images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoryapp.access import Role
from tests.app.api.conftest import Api, base64_of
from tests.app.tables import nothing_changes
from tests.sdk.images.pictures import moving, picture, png_of_size

pytestmark = pytest.mark.django_db

PNG = picture("PNG")
GIVEN = {"bytes": base64_of(PNG), "user_id": "ada"}


def part(**more: Any) -> dict[str, Any]:
    return {"type": "image", "mime_type": "image/png", "bytes": base64_of(PNG), **more}


def add_message(api: Api, *content: Any, message_id: str = "m-9") -> Any:
    message = {"role": "user", "content": list(content), "id": message_id}
    return api.post("/threads/t-1/messages", {"messages": [message]})


def test_an_image_comes_back_as_sent_and_its_bytes_by_themselves(api: Api) -> None:
    given = {
        "id": "i/1",
        "user_id": "ada",
        "agent_id": "travel",
        "description": "a red car 空",
        "timestamp": "2026-03-01T09:30:00Z",
        "metadata": {"k": None, "deep": [True, 1.5, "空"]},
    }
    created = api.post("/images", {**given, "bytes": base64_of(PNG), "ttl_days": 3})
    assert created.status_code == 201
    body = created.json()
    assert {name: body[name] for name in given} == given
    assert (body["mime_type"], body["byte_count"]) == ("image/png", len(PNG))
    assert (body["status"], body["thread_id"], body["message_id"]) == ("valid", None, None)
    assert body["expires_at"] is not None
    assert "bytes" not in body
    read = api.get("/images/~aS8x")
    assert read.json() == body
    assert read.headers["ETag"] == created.headers["ETag"] == f'"{body["fingerprint"]}"'
    file = api.get("/images/~aS8x/bytes")
    assert file.content == PNG
    assert file.headers["Content-Type"] == "image/png"
    assert file.headers["X-Content-Type-Options"] == "nosniff"
    assert file.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert file.headers["Cache-Control"] == "private, no-cache"
    assert file.headers["Content-Disposition"] == 'inline; filename="i-1.png"'
    known = api.get("/images/~aS8x/bytes", headers={"If-None-Match": file.headers["ETag"]})
    assert (known.status_code, known.content) == (304, b"")
    assert api.delete("/images/~aS8x").status_code == 204
    for path in ("/images/~aS8x", "/images/~aS8x/bytes"):
        assert api.get(path).status_code == 404


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_what_a_file_is_is_found_out(api: Api, kind: str) -> None:
    body = {**GIVEN, "bytes": base64_of(picture(kind))}
    assert api.post("/images", body).json()["mime_type"] == f"image/{kind.lower()}"
    named = {**body, "mime_type": f"image/{kind.lower()}"}
    assert api.post("/images", named).status_code == 201


def test_a_patch_changes_what_it_names(api: Api, image: str) -> None:
    changed = api.patch(image, {"description": "a blue car", "metadata": {"a": 1}}).json()
    assert (changed["description"], changed["metadata"]) == ("a blue car", {"a": 1})
    changed = api.patch(image, {"timestamp": "2026-01-01"}).json()
    assert (changed["timestamp"], changed["description"]) == ("2026-01-01", "a blue car")
    changed = api.patch(image, {"metadata": None, "description": ""}).json()
    assert (changed["metadata"], changed["description"]) == (None, "")
    other = picture("JPEG")
    changed = api.patch(image, {"bytes": base64_of(other)}).json()
    assert (changed["mime_type"], changed["byte_count"]) == ("image/jpeg", len(other))
    assert changed["timestamp"] == "2026-01-01"
    assert api.get(f"{image}/bytes").content == other


def test_if_match_guards_changes(api: Api, image: str) -> None:
    old = api.get(image).headers["ETag"]
    guarded = {"If-Match": old}
    assert api.patch(image, {"metadata": {"a": 1}}, headers=guarded).status_code == 200
    with nothing_changes():
        for call in (
            lambda: api.patch(image, {"metadata": None}, headers=guarded),
            lambda: api.patch(image, {"bytes": base64_of(PNG)}, headers=guarded),
            lambda: api.delete(image, headers=guarded),
        ):
            assert call().status_code == 412
    new = api.get(image).headers["ETag"]
    assert api.delete(image, headers={"If-Match": new}).status_code == 204


def test_the_list_filters_and_pages(api: Api, thread: str) -> None:
    for number, more in enumerate(
        [{"metadata": {"a": 1}}, {"user_id": "bob", "agent_id": "cook"}, {"thread_id": "t-1"}]
    ):
        body = {**GIVEN, "id": f"i-{number}", **more}
        if "thread_id" in more:
            del body["user_id"]
        assert api.post("/images", body).status_code == 201

    def ids(**query: Any) -> list[str]:
        return [one["id"] for one in api.get("/images", query).json()["images"]]

    assert ids() == ["i-2", "i-1", "i-0"]
    assert ids(user_id="ada") == ["i-2", "i-0"]
    assert ids(agent_id="cook") == ["i-1"]
    assert ids(thread_id="t-1") == ["i-2"]
    assert ids(metadata='{"a": 1}') == ["i-0"]
    assert ids(until="2000-01-01") == []
    first = api.get("/images", {"limit": 2}).json()
    assert first["count"] == {"value": 3, "capped": False}
    second = api.get("/images", {"limit": 2, "cursor": first["next"]}).json()
    assert [one["id"] for one in second["images"]] == ["i-0"]
    back = api.get("/images", {"limit": 2, "cursor": second["previous"]}).json()
    assert back["images"] == first["images"]
    for wrong in ({"cursor": "xOTk"}, {"user_id": ""}, {"status": "any"}, {"limit": 0}):
        assert api.get("/images", wrong).status_code == 422


def test_an_image_of_a_thread_is_the_threads(api: Api, thread: str) -> None:
    body = api.post("/images", {"bytes": base64_of(PNG), "thread_id": "t-1"}).json()
    assert (body["user_id"], body["agent_id"], body["thread_id"]) == ("ada", "travel", "t-1")
    with nothing_changes():
        other = api.post("/images", {**GIVEN, "user_id": "bob", "thread_id": "t-1"})
    assert other.status_code == 422
    assert "thread 't-1'" in other.json()["detail"]


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"bytes": None}, 422, "bytes"),
        ({"bytes": ""}, 422, "empty"),
        ({"bytes": 5}, 422, "bytes: Input should be base64"),
        ({"bytes": "iVBORw0K!"}, 422, "bytes: Input should be base64"),
        ({"bytes": base64_of(PNG)[:-1]}, 422, "bytes: Input should be base64"),
        ({"bytes": base64_of(PNG) + "\n"}, 422, "bytes: Input should be base64"),
        ({"bytes": "data:image/png;base64," + base64_of(PNG)}, 422, "bytes"),
        ({"bytes": base64_of(b"GIF89a" + bytes(40))}, 422, "neither PNG, JPEG nor WebP"),
        ({"bytes": base64_of(b"<svg/>")}, 422, "neither PNG, JPEG nor WebP"),
        ({"bytes": base64_of(PNG[:-20])}, 422, "damaged"),
        ({"bytes": base64_of(moving("WEBP"))}, 422, "animated"),
        ({"bytes": base64_of(png_of_size(9_000, 9_000))}, 422, "9000 x 9000 pixels"),
        ({"mime_type": "image/jpeg"}, 422, "image is image/png, not image/jpeg"),
        ({"mime_type": "image/gif"}, 422, "mime_type"),
        ({"user_id": None}, 422, "owner"),
        ({"user_id": "空" * 43}, 422, "user_id"),
        ({"id": ""}, 422, "id"),
        ({"id": "i-1"}, 409, "i-1"),
        ({"thread_id": "nothing"}, 404, "nothing"),
        ({"description": "a\0"}, 422, "description"),
        ({"description": None}, 422, "no model that could describe the image"),
        ({"metadata": {"$agent_memory": {}}}, 422, "reserved"),
        ({"metadata": []}, 422, "metadata"),
        ({"timestamp": "x" * 65}, 422, "timestamp"),
        ({"ttl_days": 0}, 422, "ttl_days"),
        ({"message_id": "m-1"}, 422, "message_id"),
    ],
)
def test_a_bad_image_is_refused(
    api: Api, image: str, change: dict[str, Any], status: int, words: str
) -> None:
    with nothing_changes():
        answer = api.post("/images", {**GIVEN, **change})
    assert answer.status_code == status, answer.content
    assert words in answer.json()["detail"]


def test_without_a_model_nobody_is_promised_a_description(api: Api, image: str) -> None:
    with nothing_changes():
        new = {"bytes": base64_of(PNG), "user_id": "ada", "description": None}
        answers = [api.post("/images", new), api.patch(image, {"description": None})]
    for answer in answers:
        assert answer.status_code == 422
        assert "no model that could describe the image (MEMORY_LLM)" in answer.json()["detail"]


def test_what_is_too_large_is_said(api: Api, settings: Any) -> None:
    large = PNG + bytes(10 * 2**20)
    with nothing_changes():
        answer = api.post("/images", {**GIVEN, "bytes": base64_of(large)})
    assert answer.status_code == 422
    assert "10485760" in answer.json()["detail"]
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    with nothing_changes():
        answer = api.post("/images", GIVEN)
    assert answer.status_code == 413
    assert "more than the 100 bytes" in answer.json()["detail"]


def test_an_image_of_the_largest_size_fits_into_a_body(api: Api) -> None:
    largest = PNG + bytes(10 * 2**20 - len(PNG))
    created = api.post("/images", {**GIVEN, "id": "big", "bytes": base64_of(largest)})
    assert created.status_code == 201
    assert created.json()["byte_count"] == 10 * 2**20
    assert api.get("/images/big/bytes").content == largest


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"bytes": None},
        {"bytes": ""},
        {"bytes": base64_of(b"<svg/>")},
        {"mime_type": "image/png"},
        {"bytes": base64_of(PNG), "mime_type": "image/webp"},
        {"description": None},
        {"user_id": "bob"},
        {"metadata": {"$agent_memory": {}}},
    ],
)
def test_a_bad_change_is_refused(api: Api, image: str, change: dict[str, Any]) -> None:
    with nothing_changes():
        assert api.patch(image, change).status_code == 422


# --- messages -----------------------------------------------------------------------------------


def test_a_message_has_texts_and_images_in_their_order(api: Api, thread: str) -> None:
    text = {"type": "text", "text": "my new car"}
    added = add_message(api, text, part(id="p-1", description="a red car"), part(description=""))
    assert added.status_code == 201
    message = api.get("/threads/t-1/messages/m-9").json()
    first, second, third = message["content"]
    assert first == {**text, "id": None, "mime_type": None, "description": None}
    shown = {"type": "image", "text": None, "id": "p-1", "mime_type": "image/png"}
    assert second == {**shown, "description": "a red car"}
    assert third["id"] not in (None, "p-1")
    image = api.get("/images/p-1").json()
    assert (image["message_id"], image["thread_id"], image["user_id"]) == ("m-9", "t-1", "ada")
    assert api.get("/images/p-1/bytes").content == PNG
    listed = api.get("/threads/t-1/messages", {"limit": 1}).json()["messages"][0]
    assert listed["content"] == message["content"]
    assert len(api.get("/images", {"thread_id": "t-1"}).json()["images"]) == 2


def test_an_image_of_a_message_goes_with_it_alone(api: Api, thread: str) -> None:
    add_message(api, part(id="p-1"))
    with nothing_changes():
        refused = api.delete("/images/p-1")
    assert refused.status_code == 422
    assert "delete the message" in refused.json()["detail"]
    assert api.patch("/images/p-1", {"description": "a red car"}).status_code == 200
    assert api.delete("/threads/t-1/messages/m-9").status_code == 204
    assert api.get("/images/p-1").status_code == 404


def test_a_patch_of_content_keeps_the_images_that_it_names(api: Api, thread: str) -> None:
    path = "/threads/t-1/messages/m-9"
    add_message(api, part(id="p-1", description="a red car"), part(id="p-2"))
    kept = {"type": "image", "mime_type": "image/png", "id": "p-1"}
    new = part(id="p-3", description="a wheel")
    changed = api.patch(path, {"content": [kept, {"type": "text", "text": "here"}, new]})
    assert changed.status_code == 200, changed.content
    seen = [(one["type"], one["description"] or one["text"]) for one in changed.json()["content"]]
    assert seen == [("image", "a red car"), ("text", "here"), ("image", "a wheel")]
    assert api.get("/images/p-1/bytes").content == PNG
    assert api.get("/images/p-2").status_code == 404
    assert api.patch(path, {"content": "only words"}).json()["content"] == "only words"
    assert api.get("/images", {"thread_id": "t-1"}).json()["images"] == []


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ([], "messages[0].content"),
        ([part(bytes="!")], "messages[0].content[0].bytes"),
        ([part(bytes=base64_of(b"<svg/>"))], "content[0]"),
        ([part(mime_type="image/jpeg")], "content[0]"),
        ([part(mime_type=None)], "messages[0].content[0].mime_type"),
        ([part(colour="red")], "messages[0].content[0].colour"),
        ([part(bytes=None)], "bytes"),
        ([part(), {"type": "text"}], "messages[0].content[1].text"),
        (
            [{"type": "video", "text": "x"}],
            "messages[0].content[0]: type should be 'text' or 'image'",
        ),
        ([{"text": "x"}], "messages[0].content[0]: type should be 'text' or 'image'"),
        (["words"], "messages[0].content[0]: Input should be an object: a text or an image part"),
        ([part(id="i-1")], "i-1"),
        ([part(id="twice"), part(id="twice")], "twice"),
        ({"type": "text", "text": "x"}, "content: Input should be a string or a list of parts"),
        (5, "messages[0].content: Input should be a string or a list of parts"),
        (None, "messages[0].content: Input should be a string or a list of parts"),
    ],
)
def test_a_bad_part_is_refused_by_its_name(
    api: Api, thread: str, image: str, content: Any, field: str
) -> None:
    message = {"role": "user", "content": content}
    with nothing_changes():
        answer = api.post("/threads/t-1/messages", {"messages": [message]})
    assert answer.status_code in (409, 422), answer.content
    assert field in answer.json()["detail"]


# --- who may what -------------------------------------------------------------------------------


def test_keys_meet_images_within_their_scope_only(
    api: Api, make_api: Callable[..., Api], image: str
) -> None:
    api.post("/images", {**GIVEN, "user_id": "bob", "id": "i-2"})
    ada = make_api(user_ids=["ada"])
    assert [one["id"] for one in ada.get("/images").json()["images"]] == ["i-1"]
    assert ada.post("/images", {"bytes": base64_of(PNG)}).json()["user_id"] == "ada"
    reader = make_api(Role.READER)
    bound = make_api(agent_id="other")
    for key in (ada, api):
        assert key.get("/images/i-1/bytes").status_code == 200
    with nothing_changes():
        assert ada.get("/images/i-2/bytes").status_code == 404
        assert ada.post("/images", {**GIVEN, "user_id": "bob"}).status_code == 403
        assert reader.post("/images", GIVEN).status_code == 403
        assert bound.post("/images", {**GIVEN, "agent_id": "travel"}).status_code == 403
        for method, body in [("GET", None), ("PATCH", {"metadata": {}}), ("DELETE", None)]:
            assert ada.call(method, "/images/i-2", body).status_code == 404
            if method != "GET":
                assert reader.call(method, "/images/i-2", body).status_code == 403
                assert bound.call(method, "/images/i-2", body).status_code == 403


def test_a_key_of_one_agent_adds_to_its_own_threads(
    api: Api, make_api: Callable[..., Api], thread: str
) -> None:
    given = {"bytes": base64_of(PNG), "thread_id": "t-1"}
    assert make_api(agent_id="travel").post("/images", given).json()["agent_id"] == "travel"
    other = make_api(agent_id="other")
    with nothing_changes():
        assert other.post("/images", given).status_code == 403
    assert other.post("/images", GIVEN).json()["agent_id"] == "other"


def test_a_search_finds_an_image_by_its_description(api: Api, image: str, memory: str) -> None:
    query = {"query": "red car", "record_types": ["image"]}
    (hit,) = api.post("/search", query).json()["results"]
    assert (hit["record"]["id"], hit["record"]["content"]) == ("i-1", "a red car")
    everywhere = api.post("/search", {"query": "red car"}).json()["results"]
    assert "i-1" in [one["record"]["id"] for one in everywhere]


def test_a_list_costs_the_same_for_many_images(
    api: Api, django_assert_max_num_queries: Any
) -> None:
    for _ in range(12):
        assert api.post("/images", GIVEN).status_code == 201
    with django_assert_max_num_queries(6):
        assert len(api.get("/images").json()["images"]) == 12
