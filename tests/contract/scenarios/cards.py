"""Text of context cards."""

from oracleagentmemory.apis import Message, RecordStatus
from oracleagentmemory.core import OracleContextCard
from tests.contract.scenarios.kit import scenario, user

MORNING = "2024-05-01T10:0{}:00+00:00"


def orchard(thread):
    """Four dated messages and memories, with distinct distances to 'apple pear plum'."""
    thread.add_messages(
        [
            user("apple apple apple talk", id="m0", timestamp=MORNING.format(0)),
            {
                "role": "assistant",
                "content": "pear jam",
                "id": "m1",
                "timestamp": MORNING.format(1),
            },
            user("plum cake again with cream", id="m2", timestamp=MORNING.format(2)),
            user("nothing more to say", id="m3", timestamp=MORNING.format(3)),
        ]
    )
    for number, (kind, text) in enumerate(
        [
            ("memory", "apple pear plum"),
            ("fact", "apple pear grows wild here"),
            ("preference", "likes apple juice very much"),
            ("guideline", "wash every apple first of all"),
        ]
    ):
        thread.add_memory(
            text,
            memory_id=f"r{number}",
            memory_type=kind,
            timestamp=MORNING.format(4 + number),
            autonomous_linking=False,
            metadata={"n": number},
        )


@scenario("card with llm")
def with_llm(w):
    """Every option of a card over the same thread, summary and topics by the LLM."""
    client = w.client(extract={"extract_memories": False})
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    w.step("empty thread", lambda: thread.get_context_card().content)
    orchard(thread)
    w.llm.script["summary"] = [
        {"summary": "apple pear plum", "topics": ["fruit", " ", "fruit "]}
    ] * 40

    def card(**options):
        return thread.get_context_card(**options).content

    w.steps(
        {
            "default": lambda: card(),
            "calls": lambda: w.llm.kinds(),
            "again": lambda: card(max_relevant_results=1),
            "no new call": lambda: w.llm.kinds(),
            "two recent": lambda: card(max_recent_messages=2, max_relevant_results=2),
            "all recent": lambda: card(max_recent_messages=9, max_relevant_results=0),
            "no results": lambda: card(max_relevant_results=0),
            "except last 3": lambda: card(except_last_messages=3),
            "except last 3, same recent": lambda: card(
                except_last_messages=3, max_recent_messages=3, max_relevant_results=2
            ),
            "except more than all": lambda: card(except_last_messages=9),
            "one fact first": lambda: card(
                min_relevant_results_by_type={"fact": 1}, max_relevant_results=2
            ),
            "guideline and message": lambda: card(
                min_relevant_results_by_type={"guideline": 1, "message": 1}, max_relevant_results=3
            ),
            "message before fact": lambda: card(
                min_relevant_results_by_type={"message": 2, "fact": 1}, max_relevant_results=3
            ),
            "minimum above default": lambda: [
                result.id
                for result in thread.get_context_card(
                    min_relevant_results_by_type={"memory": 3, "fact": 4}
                ).relevant_results
            ],
            "filter": lambda: card(metadata_filter={"n": {"$not": 0}}, max_relevant_results=3),
            "budget 1": lambda: card(token_budget=1),
            "budget 130": lambda: [
                result.id for result in thread.get_context_card(token_budget=130).relevant_results
            ],
            "soft budget 60": lambda: [
                result.id
                for result in thread.get_context_card(soft_token_budget=60).relevant_results
            ],
            "soft and hard": lambda: [
                result.id
                for result in thread.get_context_card(
                    soft_token_budget=100, token_budget=80
                ).relevant_results
            ],
            "budget 0": lambda: [
                result.id for result in thread.get_context_card(token_budget=0).relevant_results
            ],
        }
    )
    w.step(
        "parts",
        lambda: (
            lambda made: {
                "summary": made.summary,
                "topics": list(made.topics),
                "str": str(made) == made.content,
                "recent": [message.id for message in made.recent_messages],
            }
        )(thread.get_context_card(max_recent_messages=1)),
    )


@scenario("card without llm")
def without_llm(w):
    """Transcript instead of a summary."""
    w.ignore_warnings = True
    thread = w.quiet().create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    w.step("empty thread", lambda: thread.get_context_card().content)
    orchard(thread)
    w.steps(
        {
            "default": lambda: thread.get_context_card(max_relevant_results=2).content,
            "fallback 1": lambda: (
                thread.get_context_card(fallback_message_count=1, max_relevant_results=0).content
            ),
            "fallback 2": lambda: (
                thread.get_context_card(fallback_message_count=2, max_relevant_results=0).content
            ),
            "fallback 0": lambda: thread.get_context_card(fallback_message_count=0).content,
            "recent and no results": lambda: (
                thread.get_context_card(max_recent_messages=1, max_relevant_results=0).content
            ),
            "no topics": lambda: thread.get_context_card().topics,
        }
    )


@scenario("card escaping")
def escaping(w):
    """Markup, quotes, line breaks and other scripts inside every part."""
    client = w.client(extract={"extract_memories": False})
    thread = client.create_thread(thread_id="t1", user_id="u<1>", agent_id="a&1")
    thread.add_messages(
        [
            user('is 1 < 2 & "so" > 0? bold\n</content>', id="m<1>", timestamp=MORNING.format(0)),
            {
                "role": "r&d",
                "content": "りんごが好きです",
                "id": "m2",
                "timestamp": MORNING.format(1),
            },
        ]
    )
    thread.add_memory(
        "<b>bold</b> & 'quoted'",
        memory_id="r&1",
        timestamp=MORNING.format(2),
        autonomous_linking=False,
    )
    thread.add_memory(
        "喜欢 苹果派 🍎 bold",
        memory_id="r2",
        memory_type="preference",
        timestamp=MORNING.format(3),
        autonomous_linking=False,
    )
    w.llm.script["summary"] = [
        {"summary": "line <one> & bold\n\n  line 'two' 苹果派", "topics": ["a<b & 日本語"]}
    ]
    w.steps(
        {
            "card": lambda: thread.get_context_card(max_recent_messages=2).content,
            "topics": lambda: list(thread.get_context_card().topics),
            "summary": lambda: thread.get_summary().content,
        }
    )


@scenario("card with invalid records")
def invalid(w):
    """Invalid memories stay in unless excluded."""
    client = w.client(extract={"extract_memories": False})
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    thread.add_messages([user("apple", id="m1", timestamp=MORNING.format(0))])
    thread.add_memory(
        "apple pie",
        memory_id="old",
        status=RecordStatus.INVALID,
        timestamp=MORNING.format(1),
        autonomous_linking=False,
    )
    thread.add_memory(
        "apple pie with cream",
        memory_id="new",
        timestamp=MORNING.format(2),
        autonomous_linking=False,
    )
    w.llm.script["summary"] = [{"summary": "apple", "topics": []}]
    w.steps(
        {
            "included": lambda: thread.get_context_card().content,
            "excluded": lambda: thread.get_context_card(include_invalid_results=False).content,
            "included on request": lambda: [
                result.id
                for result in thread.get_context_card(include_invalid_results=True).relevant_results
            ],
        }
    )


@scenario("card across threads")
def across(w):
    """Memories of the same user and agent come along, messages do not."""
    client = w.client(extract={"extract_memories": False})
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    for number, (user_id, agent_id) in enumerate([("u1", "a1"), ("u1", "a2"), ("u2", "a1")], 2):
        other = client.create_thread(thread_id=f"t{number}", user_id=user_id, agent_id=agent_id)
        other.add_memory(
            "apple pie" + " here" * number, memory_id=f"r{number}", autonomous_linking=False
        )
        other.add_messages([user("apple talk", id=f"o{number}")])
    thread.add_messages([user("apple", id="m1")])
    w.llm.script["summary"] = [{"summary": "apple", "topics": []}]
    w.step("ids", lambda: [result.id for result in thread.get_context_card().relevant_results])


@scenario("card objects")
def objects(w):
    """Cards built by hand."""
    message = Message(role="user", content="hi <you>", timestamp=MORNING.format(0), id="m1")
    w.steps(
        {
            "empty": lambda: OracleContextCard(summary="").content,
            "summary": lambda: OracleContextCard(summary="Short").content,
            "spaces": lambda: OracleContextCard(summary="  ").content,
            "topics": lambda: OracleContextCard(summary="", topics=["a", "b & c"]).content,
            "recent": lambda: OracleContextCard(summary="S", recent_messages=[message]).content,
            "no time": lambda: (
                OracleContextCard(
                    summary="S", recent_messages=[Message(role="user", content="x")]
                ).content
            ),
            "format": lambda: (
                OracleContextCard(
                    summary="S", recent_messages=[message], message_format="{role}: {content}"
                ).content
            ),
            "lines": lambda: OracleContextCard(summary="one\ntwo\n").content,
            "formatted": lambda: (
                OracleContextCard(summary="S").formatted_content
                == OracleContextCard(summary="S").content
            ),
            "str": lambda: (
                str(OracleContextCard(summary="S")) == OracleContextCard(summary="S").content
            ),
        }
    )
