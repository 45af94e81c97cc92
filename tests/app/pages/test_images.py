"""Images in the browser: pages of their own, on threads and in messages, and the bytes."""

from __future__ import annotations

import io
import re
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from PIL import Image

from memoryapp.memory import store
from memoryapp.models import AuditEntry, Revision
from memoryapp.services import images, messages, threads
from memoryapp.services.images import ImageFilters
from oracleagentmemory.apis.message import ImageContent, ImageMimeType, TextContent
from oracleagentmemory.apis.records import MessageRecord
from oracleagentmemory.errors import InvalidInputError, NotFoundError
from tests.app.pages.conftest import OPERATOR, add_image, add_memory, add_thread, text_of
from tests.app.tables import nothing_changes
from tests.sdk.images.pictures import moving, picture, png_of_size

pytestmark = pytest.mark.django_db

PNG = picture("PNG")
FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}


def ids(client: Client, **query: str) -> list[str]:
    return [row.id for row in client.get("/images/", query).context["page"].rows]


def upload(data: bytes = PNG, name: str = "car.png", **fields: str) -> dict[str, Any]:
    return {"image": SimpleUploadedFile(name, data), "user_id": "ada", **fields}


def add_parts(message_id: str = "m-1", **of_image: Any) -> None:
    """A thread of ada's whose one message has a text, an image and another text."""
    add_thread("t-1", [])
    part = {"type": "image", "mime_type": "image/png", "bytes": PNG, "id": "part-1", **of_image}
    content = [
        {"type": "text", "text": "Look at"},
        {"description": "a red car", **part},
        {"type": "text", "text": "my new car"},
    ]
    messages.add(OPERATOR, "t-1", [{"role": "user", "content": content, "id": message_id}])


# --- the picture itself -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
def test_the_bytes_come_as_they_were_stored_and_can_only_be_shown(
    client: Client, kind: str
) -> None:
    data = picture(kind)
    add_image("i-1", data=data)
    answer = client.get("/images/i-1/bytes/")
    assert answer.content == data
    assert answer.headers["Content-Type"] == FORMATS[kind]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    suffix = {"JPEG": "jpg"}.get(kind, kind.lower())
    assert answer.headers["Content-Disposition"] == f'inline; filename="i-1.{suffix}"'


def test_a_thumbnail_is_small_and_as_safe(client: Client) -> None:
    add_image("i-1", data=picture("JPEG", size=(1200, 600)))
    whole, small = (client.get(f"/images/i-1/{name}/") for name in ("bytes", "thumbnail"))
    with Image.open(io.BytesIO(small.content)) as opened:
        assert (opened.format, opened.size) == ("WEBP", (320, 160))
    assert small.headers["Content-Type"] == "image/webp"
    for name in ("Content-Security-Policy", "X-Content-Type-Options", "Cache-Control"):
        assert small.headers[name] == whole.headers[name]


@pytest.mark.parametrize("name", ["bytes", "thumbnail"])
def test_a_browser_asks_again_and_gets_nothing_twice(client: Client, name: str) -> None:
    add_image("i-1")
    url = f"/images/i-1/{name}/"
    etag = client.get(url).headers["ETag"]
    known = client.get(url, headers={"If-None-Match": etag})
    assert (known.status_code, known.content) == (304, b"")
    assert known.headers["Cache-Control"] == "private, no-cache"
    images.update(OPERATOR, "i-1", data=picture("JPEG"))
    again = client.get(url, headers={"If-None-Match": etag})
    assert again.status_code == 200
    assert again.headers["ETag"] != etag
    images.delete(OPERATOR, "i-1")
    assert client.get(url, headers={"If-None-Match": etag}).status_code == 404


@pytest.mark.parametrize("name", ["bytes", "thumbnail"])
def test_a_picture_known_to_a_browser_is_hidden_from_who_may_no_longer_see_it(
    limited: Client, name: str
) -> None:
    add_image("i-1", user_id="bob")
    etag = f'"{images.get(OPERATOR, "i-1").fingerprint}"'
    assert limited.get(f"/images/i-1/{name}/", headers={"If-None-Match": etag}).status_code == 404


def written_outside(image_id: str, data: bytes) -> None:
    """Put bytes in the place of an image's, as another program would."""
    table = store().tables.document
    with store().engine.write() as transaction:
        statement = sa.update(table).where(table.c.record_id == image_id)
        transaction.execute(statement.values(blob=data), {})


@pytest.mark.parametrize(
    "data",
    [b"<svg onload=alert(1)>", b"<html><script>alert(1)</script>", moving("PNG"), PNG[:60],
     png_of_size(9_000, 9_000)],
    ids=["svg", "html", "moving", "cut off", "too many pixels"],
)  # fmt: skip
def test_what_something_else_stored_is_no_more_than_a_picture(client: Client, data: bytes) -> None:
    add_image("i-1")
    known = client.get("/images/i-1/bytes/").headers["ETag"]
    written_outside("i-1", data)
    answer = client.get("/images/i-1/bytes/", headers={"If-None-Match": known})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert "ETag" not in answer.headers
    assert client.get("/images/i-1/thumbnail/").status_code == 422
    assert client.get("/images/i-1/").status_code == 200
    assert "Changed" in text_of(client.get("/changes/outside/", {"kind": "image"}))


@pytest.mark.parametrize(
    ("image_id", "name"),
    [("a/b", "a-b"), ('x"; filename="evil.html', "x-filename-evil-html"), ("空", "image"),
     ("a\r\nX-Evil: 1", "a-X-Evil-1"), ("..", "image"), ("é" * 64, "image")],
)  # fmt: skip
def test_no_id_gets_out_of_the_name_of_the_file(client: Client, image_id: str, name: str) -> None:
    add_image(image_id)
    answer = client.get(reverse("image-bytes", args=(image_id,)))
    assert answer.headers["Content-Disposition"] == f'inline; filename="{name}.png"'
    assert "X-Evil" not in answer.headers


# --- the pages ----------------------------------------------------------------------------------


def test_the_page_of_an_image_tells_all_of_it(client: Client) -> None:
    add_thread("t-1", [])
    add_image("i-1", data=PNG, thread_id="t-1", description="a red car",
              metadata={"colour": "crimson"}, timestamp="2025-05-01", ttl_days=3)  # fmt: skip
    page = text_of(client.get("/images/i-1/"))
    for words in ("a red car", "crimson", "image/png", f"{len(PNG):,} bytes", "1 May 2025",
                  'href="/users/ada/"', 'href="/agents/travel/"', 'href="/threads/t-1/"',
                  'src="/images/i-1/bytes/"', 'alt="a red car"', "Expires"):  # fmt: skip
        assert words in page, words
    assert "never" not in page


def test_the_list_and_its_filters(client: Client) -> None:
    add_thread("t-1", [])
    add_image("i-1", description="a red car", metadata={"a": 1}, timestamp="2025-05-01")
    add_image("i-2", user_id="bob", agent_id="cook")
    add_image("i-3", thread_id="t-1")
    assert ids(client) == ["i-3", "i-2", "i-1"]
    assert ids(client, user="ada") == ["i-3", "i-1"]
    assert ids(client, agent="cook") == ["i-2"]
    assert ids(client, thread="t-1") == ["i-3"]
    assert ids(client, metadata='{"a": 1}') == ["i-1"]
    assert ids(client, until="2025-06-01") == ["i-1"]
    assert ids(client, before="nonsense", since="soon") == ["i-3", "i-2", "i-1"]
    page = text_of(client.get("/images/"))
    assert page.count('loading="lazy"') == 3
    assert 'src="/images/i-1/thumbnail/"' in page
    assert "a red car" in page
    assert "(no description)" in page
    for wrong in ({"user": "x" * 129}, {"thread": "a\x00"}, {"metadata": "x"}):
        assert client.get("/images/", wrong).status_code == 422
    assert "No image matches" in text_of(client.get("/images/", {"user": "nobody"}))


def test_an_empty_store_says_how_images_come(client: Client) -> None:
    assert "No images yet" in text_of(client.get("/images/"))


def test_pages_of_many_images_join_and_cost_the_same(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(60):
        add_image(f"i-{number}")
    with django_assert_max_num_queries(5):
        first = client.get("/images/")
    assert "50 of 60 shown" in text_of(first)
    older = first.context["page"].older
    seen = [row.id for row in first.context["page"].rows] + ids(client, before=older)
    assert seen == [f"i-{number}" for number in reversed(range(60))]
    with django_assert_max_num_queries(5):
        client.get("/images/", {"before": older})


# --- changes ------------------------------------------------------------------------------------


def test_a_file_is_added_as_it_is(client: Client) -> None:
    sent = upload(description="a red car", metadata='{"a": 1}', reason="told so")
    url = client.post("/images/new/", sent).url
    (row,) = images.list_page(OPERATOR, ImageFilters()).rows
    assert url == f"/images/{row.id}/"
    assert images.picture(OPERATOR, row.id).data == PNG
    assert (row.record.content, row.record.metadata) == ("a red car", {"a": 1})
    assert (row.record.user_id, row.byte_count) == ("ada", len(PNG))
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.noun, entry.record_id) == ("add", "image", row.id)
    assert (entry.user_id, entry.reason) == ("ada", "told so")
    assert entry.detail == {"bytes": len(PNG), "thread_id": None}


def test_an_image_of_a_thread_is_the_threads(client: Client) -> None:
    add_thread("t-1", [])
    asked = client.get("/images/new/", {"thread_id": "t-1"})
    assert asked.context["form"]["thread_id"].value() == "t-1"
    assert client.post("/images/new/", upload(user_id="", thread_id="t-1")).status_code == 302
    (row,) = images.list_page(OPERATOR, ImageFilters(thread_id="t-1")).rows
    assert (row.record.user_id, row.record.agent_id) == ("ada", "travel")
    with nothing_changes():
        other = client.post("/images/new/", upload(user_id="bob", thread_id="t-1"))
    assert other.status_code == 422
    assert "must be that of the thread" in text_of(other)


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "<img src=x onerror=alert(1)>.png", 'a"; x="b.png', "空.png", "a.html",
     "x" * 300 + ".png"],
)  # fmt: skip
def test_what_a_file_calls_itself_is_not_kept(client: Client, name: str) -> None:
    assert client.post("/images/new/", upload(name=name)).status_code == 302
    (row,) = images.list_page(OPERATOR, ImageFilters()).rows
    assert row.record.content == ""
    assert row.record.mime_type == "image/png"
    page = text_of(client.get(f"/images/{row.id}/"))
    for part in ("passwd", "onerror", "空", "a.html", "x" * 200):
        assert part not in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image": None}, "required"),
        ({"image": b""}, "empty"),
        ({"image": b"GIF89a" + bytes(40)}, "neither PNG, JPEG nor WebP"),
        ({"image": b"<svg xmlns='http://www.w3.org/2000/svg'/>"}, "neither PNG, JPEG nor WebP"),
        ({"image": moving("PNG")}, "animated"),
        ({"image": PNG[:-20]}, "damaged"),
        ({"image": png_of_size(9_000, 9_000)}, "9000 x 9000 pixels"),
        ({"image": PNG + bytes(10 * 2**20)}, "more than max_raw_image_bytes of 10485760"),
        ({"user_id": ""}, "needs an owner"),
        ({"user_id": "x" * 129}, "128 bytes"),
        ({"thread_id": "nothing"}, "nothing"),
        ({"metadata": "{"}, "not JSON"),
        ({"metadata": '{"$agent_memory": {}}'}, "reserved"),
        ({"metadata": '{"image_mime_type": "image/gif"}'}, "image_mime_type"),
        ({"timestamp": "soon"}, "ISO 8601"),
        ({"description": "a\x00"}, "Null characters"),
        ({"once": "no uuid"}, "New image"),
    ],
)
def test_a_wrong_image_is_said(client: Client, change: dict[str, Any], words: str) -> None:
    data = change.pop("image", PNG)
    sent = {**upload(), **change}
    sent.pop("image")
    if data is not None:
        sent["image"] = SimpleUploadedFile("car.png", data)
    with nothing_changes():
        answer = client.post("/images/new/", sent)
    assert answer.status_code == 422
    assert words in text_of(answer)


def test_a_file_larger_than_the_server_accepts_is_not_read(client: Client, settings: Any) -> None:
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 5_000
    with nothing_changes():
        answer = client.post("/images/new/", upload(bytes(10_000)))
    assert answer.status_code == 400
    assert "larger than it accepts" in text_of(answer)


def test_a_file_that_is_sent_twice_is_stored_once(client: Client) -> None:
    found = re.search(r'name="once" value="([^"]+)"', text_of(client.get("/images/new/")))
    assert found is not None
    assert client.post("/images/new/", upload(once=found[1])).url == f"/images/{found[1]}/"
    with nothing_changes():
        again = client.post("/images/new/", upload(once=found[1]))
    assert again.status_code == 422
    assert "This form was sent before and is stored." in text_of(again)


def test_editing_changes_what_is_said_and_keeps_a_revision_without_bytes(client: Client) -> None:
    add_image("i-1", data=PNG, description="a red car", metadata={"a": 1})
    state = images.get(OPERATOR, "i-1").fingerprint
    shown = client.get("/images/i-1/edit/").context["form"]
    assert (shown["description"].value(), shown["timestamp"].value()) == ("a red car", "")
    sent = {"description": "a blue car", "metadata": "", "fingerprint": state}
    assert client.post("/images/i-1/edit/", sent).url == "/images/i-1/"
    row = images.get(OPERATOR, "i-1")
    assert (row.record.content, row.record.metadata) == ("a blue car", None)
    assert images.picture(OPERATOR, "i-1").data == PNG
    revision = Revision.objects.get(kind="image")
    assert revision.audit_entry.detail == {"fields": ["content", "metadata"]}
    assert (revision.before["content"], revision.after["content"]) == ("a red car", "a blue car")
    for side in (revision.before, revision.after):
        assert side["byte_count"] == len(PNG)
        assert re.fullmatch("[0-9a-f]{32}", side["bytes_hash"])
    with nothing_changes():
        stale = client.post("/images/i-1/edit/", {**sent, "description": "mine"})
    assert stale.status_code == 409
    page = text_of(stale)
    assert "Somebody changed this" in page
    assert "a blue car" in page
    fresh = {**sent, "description": "mine"}
    fresh["fingerprint"] = stale.context["form"]["fingerprint"].value()
    assert client.post("/images/i-1/edit/", fresh).status_code == 302
    assert images.get(OPERATOR, "i-1").record.content == "mine"


def test_other_bytes_are_a_change_that_names_them(client: Client) -> None:
    add_image("i-1", description="a red car")
    images.update(OPERATOR, "i-1", data=picture("JPEG"))
    row = images.get(OPERATOR, "i-1")
    assert (row.record.mime_type, row.record.content) == ("image/jpeg", "a red car")
    entry = AuditEntry.objects.latest("id")
    assert entry.detail == {"fields": ["mime_type", "byte_count", "bytes_hash"]}


def test_deleting_asks_and_leads_back(client: Client) -> None:
    add_image("i-1", description="a red car")
    assert "Delete this image?" in text_of(client.get("/images/i-1/delete/"))
    sent = {"next": "/images/i-1/", "reason": "wrong"}
    assert client.post("/images/i-1/delete/", sent).url == "/images/"
    for url in ("/images/i-1/", "/images/i-1/bytes/", "/images/i-1/thumbnail/"):
        assert client.get(url).status_code == 404
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.noun, entry.reason) == ("delete", "image", "wrong")
    revision = entry.revisions.get()
    assert (revision.before["content"], revision.after) == ("a red car", None)


# --- images of messages and threads -------------------------------------------------------------


def test_a_message_shows_its_parts_in_their_order(client: Client) -> None:
    add_parts()
    page = text_of(client.get("/threads/t-1/"))
    talk = page[page.index('id="talk"') :]
    places = [talk.index(words) for words in ("Look at", "/images/part-1/thumbnail/", "my new car")]
    assert places == sorted(places)
    assert 'href="/images/part-1/"' in talk
    shown = text_of(client.get("/images/part-1/"))
    assert 'href="/threads/t-1/messages/m-1/"' in shown
    assert "/images/part-1/delete/" not in shown


def test_a_part_of_a_message_is_not_deleted_alone(client: Client) -> None:
    add_parts()
    assert "Go to the message" in text_of(client.get("/images/part-1/delete/"))
    with nothing_changes():
        answer = client.post("/images/part-1/delete/")
    assert answer.status_code == 422
    assert "is attached to a message" in text_of(answer)
    with pytest.raises(InvalidInputError, match="attached to a message"):
        images.delete(OPERATOR, "part-1")


def test_editing_the_text_of_a_message_keeps_its_images(client: Client) -> None:
    add_parts()
    form = client.get("/threads/t-1/messages/m-1/edit/").context["form"]
    assert form["content"].value() == "Look at\nmy new car"
    state = messages.get(OPERATOR, "t-1", "m-1").fingerprint
    page = text_of(client.get("/threads/t-1/messages/m-1/edit/"))
    assert "Its images stay as they are." in page
    assert "/images/part-1/thumbnail/" in page
    sent = {"content": "Here it is", "fingerprint": state}
    assert client.post("/threads/t-1/messages/m-1/edit/", sent).status_code == 302
    text, part = messages.get(OPERATOR, "t-1", "m-1").record.content
    assert text.text == "Here it is"
    assert (part.id, part.description) == ("part-1", "a red car")
    assert images.picture(OPERATOR, "part-1").data == PNG
    kept = Revision.objects.get(kind="message")
    assert [one["type"] for one in kept.before["content"]] == ["text", "image", "text"]
    assert kept.before["content"][1] == {
        "type": "image", "id": "part-1", "mime_type": "image/png", "description": "a red car",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "text", "edited"),
    [
        ("tit", "new", ["new", "i"]),
        ("itt", "new", ["i", "new"]),
        ("ii", "new", ["new", "i", "i"]),
        ("ti", "", ["i"]),
        ("tt", "new", "new"),
        ("tt", "", ""),
        ("i", "", ["i"]),
    ],
)
def test_a_text_takes_the_place_of_the_first_one(parts: str, text: str, edited: Any) -> None:
    made = {"t": TextContent("old"), "i": ImageContent(PNG, ImageMimeType.PNG, "car")}
    content = messages.with_text(
        MessageRecord("m", content=[*map(made.get, parts)], seq_no=1), text
    )
    if isinstance(content, str):
        assert content == edited
        return
    assert [getattr(part, "text", "i") for part in content] == edited
    kept = [part for part in content if isinstance(part, ImageContent)]
    assert all((one.bytes, one.description, one.id) == (None, None, made["i"].id) for one in kept)


def test_images_that_go_with_a_message_have_revisions_and_an_author(client: Client) -> None:
    add_parts()
    asked = client.get("/threads/t-1/messages/m-1/delete/")
    assert "Its images go with it for good." in text_of(asked)
    assert client.post("/threads/t-1/messages/m-1/delete/", {"reason": "off"}).status_code == 302
    with pytest.raises(NotFoundError):
        images.get(OPERATOR, "part-1")
    entry = AuditEntry.objects.latest("id")
    assert entry.detail == {"thread_id": "t-1", "image_ids": ["part-1"]}
    kept = {(one.kind, one.record_id): one for one in entry.revisions.all()}
    assert set(kept) == {("message", "m-1"), ("image", "part-1")}
    assert kept["image", "part-1"].before["byte_count"] == len(PNG)
    page = client.get("/changes/").context["page"]
    told = {
        (one.change.operation, one.change.record_id): one.entry and one.entry.action
        for one in page.changes
    }
    assert told["delete", "part-1"] == "delete"
    assert told["add", "part-1"] == "add"


def test_a_thread_lists_its_images_and_takes_them_with_it(client: Client) -> None:
    add_parts()
    add_image("i-1", thread_id="t-1", description="the garage")
    response = client.get("/threads/t-1/")
    assert [row.id for row in response.context["images"].rows] == ["i-1", "part-1"]
    assert "2 images" in text_of(response)
    assert "0 memories and 2 images go with it" in text_of(client.get("/threads/t-1/delete/"))
    assert client.post("/threads/t-1/delete/").status_code == 302
    assert AuditEntry.objects.latest("id").detail["images"] == 2
    assert ids(client) == []


def test_a_thread_with_images_of_others_is_not_deleted_by_who_may_not_see_them(
    limited: Client,
) -> None:
    add_thread("t-1", [])
    # The SDK itself lets an image of a thread belong to somebody else.
    store().add([PNG], "image", record_ids="i-9", index_texts=["a secret"], user_ids="bob",
                thread_ids="t-1", metadata={"image_mime_type": "image/png"})  # fmt: skip
    with nothing_changes():
        assert limited.post("/threads/t-1/delete/").status_code == 403
    threads.delete(OPERATOR, "t-1")


def test_an_expired_image_is_gone(client: Client) -> None:
    add_image("i-1", ttl_days=1)
    table = store().tables.document
    past = images.get(OPERATOR, "i-1").created_at - timedelta(days=1)
    with store().engine.write() as transaction:
        transaction.execute(sa.update(table).values(expires_at=past), {})
    assert ids(client) == []
    for url in ("/images/i-1/", "/images/i-1/bytes/", "/images/i-1/thumbnail/"):
        assert client.get(url).status_code == 404


# --- who sees what ------------------------------------------------------------------------------


def test_changes_link_an_image_and_name_who_made_it(client: Client) -> None:
    client.post("/images/new/", upload(description="a red car", reason="by hand"))
    page = text_of(client.get("/changes/"))
    assert "a red car" in page
    assert "/images/" in page
    assert "person:reviewer0: by hand" in page


def test_a_search_finds_an_image_by_its_description(client: Client) -> None:
    add_image("i-1", description="a red car in a garage")
    add_memory("Ada likes tea", memory_id="mem-1")
    page = text_of(client.get("/search/", {"q": "red car", "types": "image"}))
    assert 'href="/images/i-1/"' in page
    assert "/memories/mem-1/" not in page


@pytest.mark.parametrize("page", ["new", "i-2/edit", "i-2/delete"])
def test_who_may_not(anonymous: Client, reader: Client, limited: Client, page: str) -> None:
    add_image("i-2", user_id="bob", description="a secret")
    url = f"/images/{page}/"

    def sent() -> dict[str, Any]:
        return upload(user_id="bob") if page == "new" else {"fingerprint": "x"}

    with nothing_changes():
        assert anonymous.post(url, sent()).url.startswith("/login/")
        assert reader.post(url, sent()).status_code == 403
        assert limited.post(url, sent()).status_code == (403 if page == "new" else 404)
    for name in ("", "bytes/", "thumbnail/"):
        assert limited.get(f"/images/i-2/{name}").status_code == 404
        assert anonymous.get(f"/images/i-2/{name}").url.startswith("/login/")
    assert ids(limited) == []
    shown = text_of(reader.get("/images/i-2/"))
    assert "/edit/" not in shown
    assert "/delete/" not in shown
