"""Profiles, lists and deletion with everything that belongs to an owner."""

from oracleagentmemory.apis import ImageMimeType
from tests.contract.scenarios.kit import png, scenario, user


@scenario("profiles")
def profiles(w):
    """add_user, add_agent, lists, single deletes."""
    client = w.quiet()
    w.steps(
        {
            "add user": lambda: client.add_user("u1", "likes apples", metadata={"age": 30}),
            "add agent": lambda: client.add_agent("a1", "sells apples"),
            "add second user": lambda: client.add_user("u2", "likes pears"),
            "users": lambda: client.list_users(),
            "agents": lambda: client.list_agents(),
            "users by metadata": lambda: [
                profile.id for profile in client.list_users(metadata_filter={"age": 30})
            ],
            "users without metadata": lambda: [
                profile.id for profile in client.list_users(metadata_filter=None)
            ],
            "one user": lambda: [profile.id for profile in client.list_users(limit=1)],
            "no users": lambda: client.list_users(limit=0),
            "found as user": lambda: [
                result.id for result in client.search("apples", user_id="u1")
            ],
            "found as nobody": lambda: [
                result.id for result in client.search("sells apples", user_id=None)
            ],
            "not found as other": lambda: [
                result.id for result in client.search("likes apples", user_id="u2")
            ],
            "delete unknown": lambda: client.delete_user("nobody"),
            "delete": lambda: client.delete_user("u1"),
            "delete again": lambda: client.delete_user("u1"),
            "delete agent": lambda: client.delete_agent("a1"),
            "left": lambda: [profile.id for profile in client.list_users()],
            "no agents": lambda: client.list_agents(),
        }
    )


def town(w):
    """Two users, two agents, three threads and records outside threads."""
    client = w.quiet()
    client.add_user("u1", "first user")
    client.add_agent("a1", "first agent")
    for name, user_id, agent_id in (("t1", "u1", "a1"), ("t2", "u1", "a2"), ("t3", "u2", "a1")):
        thread = client.create_thread(thread_id=name, user_id=user_id, agent_id=agent_id)
        thread.add_messages([user("hello", id=f"n-{name}")])
        thread.add_memory("hello", memory_id=f"m-{name}")
    client.add_memory("hello", memory_id="m-u1", user_id="u1")
    client.add_memory("hello", memory_id="m-u2", user_id="u2", memory_type="fact")
    client.add_memory("hello", memory_id="m-a1", agent_id="a1", memory_type="preference")
    client.add_memory("hello", memory_id="m-free", memory_type="guideline")
    client.add_image(
        png(), description="tile", mime_type=ImageMimeType.PNG, image_id="i-u1", user_id="u1"
    )
    return client


def left(client):
    """Ids of everything that is left."""
    return {
        "threads": sorted(
            thread.thread_id for who in ("u1", "u2") for thread in client.list_threads(who)
        ),
        "messages": sorted(message.id for message in client.list_messages()),
        "memories": sorted(memory.id for memory in client.list_memories()),
        "images": sorted(image.id for image in client.list_images(user_id="u1")),
        "users": [profile.id for profile in client.list_users()],
        "agents": [profile.id for profile in client.list_agents()],
    }


@scenario("deleting a user")
def delete_user(w):
    """With everything the user owns."""
    client = town(w)
    w.steps(
        {
            "before": lambda: left(client),
            "delete": lambda: client.delete_user("u1"),
            "after": lambda: left(client),
            "thread gone": lambda: client.get_thread("t1"),
            "again": lambda: client.delete_user("u1"),
        }
    )


@scenario("deleting a user alone")
def delete_user_alone(w):
    """Without cascade."""
    client = town(w)
    w.steps(
        {"delete": lambda: client.delete_user("u1", cascade=False), "after": lambda: left(client)}
    )


@scenario("deleting a user without profile")
def delete_missing(w):
    """The cascade runs even when there is no profile row."""
    client = town(w)
    w.steps({"delete": lambda: client.delete_user("u2"), "after": lambda: left(client)})


@scenario("deleting an agent")
def delete_agent(w):
    """With everything the agent owns."""
    client = town(w)
    w.steps({"delete": lambda: client.delete_agent("a1"), "after": lambda: left(client)})


@scenario("deleting a profile in the store")
def delete_in_store(w):
    """The store's default is no cascade."""
    client = town(w)
    w.steps(
        {
            "delete": lambda: w.store.delete("user_profile", "u1"),
            "after": lambda: left(client),
            "cascade": lambda: w.store.delete("user_profile", "u1", cascade=True),
            "then": lambda: left(client),
        }
    )


@scenario("deleting a thread")
def delete_thread(w):
    """Messages and memories of the thread go, others stay."""
    client = town(w)
    w.steps(
        {
            "delete": lambda: client.delete_thread("t1"),
            "after": lambda: left(client),
            "again": lambda: client.delete_thread("t1"),
            "get": lambda: client.get_thread("t1"),
        }
    )


@scenario("lists")
def lists(w):
    """list_* by scope; None means no such scope, omitted means any."""
    client = town(w)
    w.steps(
        {
            "memories of user": lambda: sorted(
                memory.id for memory in client.list_memories(user_id="u1")
            ),
            "memories of nobody": lambda: sorted(
                memory.id for memory in client.list_memories(user_id=None)
            ),
            "memories of thread": lambda: sorted(
                memory.id for memory in client.list_memories(thread_id="t1")
            ),
            "memories outside threads": lambda: sorted(
                memory.id for memory in client.list_memories(thread_id=None)
            ),
            "memories of agent": lambda: sorted(
                memory.id for memory in client.list_memories(agent_id="a1")
            ),
            "free memories": lambda: sorted(
                memory.id
                for memory in client.list_memories(user_id=None, agent_id=None, thread_id=None)
            ),
            "messages of user": lambda: [
                message.id for message in client.list_messages(user_id="u1")
            ],
            "last message": lambda: [message.id for message in client.list_messages(limit=1)],
            "no messages": lambda: client.list_messages(limit=0),
            "threads of nobody": lambda: client.list_threads(None),
            "threads of user": lambda: [thread.thread_id for thread in client.list_threads("u1")],
            "threads limit": lambda: [
                thread.thread_id for thread in client.list_threads("u1", limit=1)
            ],
        }
    )
