"""Bad and borderline arguments about images and about how long records live."""

from oracleagentmemory import core
from oracleagentmemory.apis import ImageMimeType, TimeToLiveAnchor
from tests.contract.scenarios.kit import png, scenario, user


@scenario("image arguments")
def images(w):
    """add_image, list_images, update_image, delete_image without an LLM."""
    client = w.quiet()
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    other = client.create_thread(thread_id="t2", user_id="u1", agent_id="a1")
    kind = ImageMimeType.PNG
    w.steps(
        {
            "no owner": lambda: client.add_image(png(), description="x", mime_type=kind),
            "owner None": lambda: client.add_image(
                png(), description="x", mime_type=kind, user_id=None
            ),
            "mime str": lambda: client.add_image(
                png(), description="x", mime_type="image/png", user_id="u1"
            ),
            "no description, no llm": lambda: client.add_image(png(), mime_type=kind, user_id="u1"),
            "junk": lambda: client.add_image(b"junk", description="x", user_id="u1"),
            "gif": lambda: client.add_image(b"GIF89a" + bytes(40), description="x", user_id="u1"),
            "empty": lambda: client.add_image(b"", description="x", user_id="u1"),
            "text": lambda: client.add_image("picture", description="x", user_id="u1"),
            "thread with other user": lambda: thread.add_image(
                png(), description="x", user_id="u2"
            ),
            "thread with user None": lambda: thread.add_image(png(), description="x", user_id=None),
            "thread with same user": lambda: thread.add_image(
                png(), description="same", user_id="u1", image_id="i0"
            ),
            "add": lambda: client.add_image(
                png(),
                description="A square",
                mime_type=kind,
                user_id="u1",
                image_id="i1",
                metadata={"a": 1},
            ),
            "thread add": lambda: thread.add_image(
                png(), description="A tile", image_id="i2", timestamp="2024-05-01T10:00:00+00:00"
            ),
            "inherited scope": lambda: client.add_image(
                png(), description="A brick", thread_id="t1", image_id="i3"
            ),
            "stored inherited": lambda: w.store.get("image", "i3"),
            "stored": lambda: w.store.get("image", "i1"),
            "list no scope": lambda: client.list_images(),
            "list all None": lambda: client.list_images(
                user_id=None, agent_id=None, thread_id=None
            ),
            "list bytes without id": lambda: client.list_images(user_id="u1", include_bytes=True),
            "list bytes without scope": lambda: client.list_images(
                image_id="i1", include_bytes=True
            ),
            "list bytes": lambda: client.list_images(
                image_id="i1", user_id="u1", include_bytes=True
            ),
            "list": lambda: [image.id for image in client.list_images(user_id="u1")],
            "thread list": lambda: [image.id for image in thread.list_images()],
            "update image alone": lambda: thread.update_image("i2", image=png(9)),
            "update mime alone": lambda: thread.update_image("i2", mime_type=kind),
            "update unknown": lambda: client.update_image("nobody", description="x"),
            "update of other thread": lambda: other.update_image("i2", description="x"),
            "update unknown option": lambda: client.update_image("i1", colour="red"),
            "update description": lambda: thread.update_image("i2", description="A blue tile"),
            "updated": lambda: w.store.get("image", "i2").content,
            "regenerate without llm": lambda: thread.update_image("i2", description=None),
            "delete of other thread": lambda: other.delete_image("i2"),
            "delete": lambda: thread.delete_image("i2"),
            "delete again": lambda: client.delete_image("i2"),
        }
    )


@scenario("retention")
def retention(w):
    """Retention of a store, ttl_days and ttl_anchor; expiry is seen by what get and list show."""
    anchor = TimeToLiveAnchor.TIMESTAMP
    past = "2024-05-01T10:00:00+00:00"

    def opened(**days):
        store = core.SQLiteMemoryStore(
            w.path.with_name("retention.sqlite3"),
            embedder=w.embedder,
            schema_policy="create_if_necessary",
            memory_retention_config=core.MemoryRetentionConfig(**days),
        )
        return type(store).__name__

    w.steps(
        {
            "default negative": lambda: opened(default_ttl_days=-1),
            "max float": lambda: opened(max_ttl_days=1.5),
            "max bool": lambda: opened(max_ttl_days=True),
            "max digits": lambda: opened(max_ttl_days="3"),
            "default over max": lambda: opened(default_ttl_days=9, max_ttl_days=3),
        }
    )
    client = w.quiet()
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    w.steps(
        {
            "ttl negative": lambda: thread.add_memory("x", ttl_days=-1),
            "ttl words": lambda: thread.add_memory("x", ttl_days="soon"),
            "anchor str": lambda: thread.add_memory("x", ttl_days=3, ttl_anchor="timestamp"),
            "anchor without time": lambda: thread.add_memory("x", ttl_days=3, ttl_anchor=anchor),
            "anchor with words": lambda: thread.add_memory(
                "x", ttl_days=3, ttl_anchor=anchor, timestamp="yesterday"
            ),
            "messages ttl list too short": lambda: thread.add_messages(
                [user("a"), user("b")], ttl_days=[3]
            ),
            "messages anchor list too long": lambda: thread.add_messages(
                [user("a")], ttl_days=3, ttl_anchor=[anchor, anchor]
            ),
            "ttl 5": lambda: thread.add_memory("five days", memory_id="five", ttl_days=5),
            "ttl None": lambda: thread.update_memory("five", ttl_days=None),
            "dated far": lambda: thread.add_memory(
                "far", memory_id="far", ttl_days=36500, timestamp=past, ttl_anchor=anchor
            ),
            "dated gone": lambda: thread.add_memory(
                "gone", memory_id="gone", ttl_days=5, timestamp=past, ttl_anchor=anchor
            ),
            "dated day only": lambda: thread.add_memory(
                "day", memory_id="day", ttl_days=5, timestamp="2024-05-01", ttl_anchor=anchor
            ),
            "dated, anchor creation": lambda: thread.add_memory(
                "made",
                memory_id="made",
                ttl_days=5,
                timestamp=past,
                ttl_anchor=TimeToLiveAnchor.CREATED_AT,
            ),
            "shown": lambda: sorted(memory.id for memory in client.list_memories(user_id="u1")),
            "found": lambda: sorted(
                result.id for result in client.search("gone far^2 made", user_id="u1")
            ),
            "update expired": lambda: client.update_memory("gone", ttl_days=9),
            "thread update expired": lambda: thread.update_memory("gone", content="x"),
            "link to expired": lambda: client.link_records(
                "far", "memory", "gone", "memory", "supports"
            ),
            "message dated gone": lambda: thread.add_messages(
                [user("old", id="old", timestamp=past), user("new", id="new")],
                ttl_days=[5, None],
                ttl_anchor=[anchor, TimeToLiveAnchor.CREATED_AT],
            ),
            "messages shown": lambda: [message.id for message in thread.get_messages()],
            "get expired message": lambda: thread.get_message("old"),
            "update expired message": lambda: thread.update_message("old", ttl_days=5),
            "expire by update": lambda: thread.update_message("new", ttl_days=0),
            "none left": lambda: thread.get_messages(),
            "expire memory by update": lambda: thread.update_memory(
                "far", ttl_days=1, ttl_anchor=anchor
            ),
            "left": lambda: sorted(memory.id for memory in client.list_memories(user_id="u1")),
        }
    )
