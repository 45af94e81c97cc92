"""Summaries: transcript, truncation, LLM answers, refresh."""

from oracleagentmemory.core import OracleSummary
from tests.contract.scenarios.kit import scenario, user

NOON = "2024-05-01T12:{:02d}:00+00:00"


@scenario("summary without llm")
def transcript(w):
    """The transcript stands in for a summary."""
    client = w.quiet()
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    w.step("empty", lambda: thread.get_summary().content)
    thread.add_messages(
        [
            user("first <b>", timestamp=NOON.format(1)),
            {"role": "assistant", "content": "second\nline", "timestamp": NOON.format(2)},
            {"role": "critic", "content": "三番目", "timestamp": NOON.format(3)},
        ]
    )
    long = client.create_thread(thread_id="t2", user_id="u1", agent_id="a1")
    long.add_messages(
        [
            user(f"{number:02d} " + "word " * 30, timestamp=NOON.format(number))
            for number in range(40)
        ]
    )

    def shape(text):
        return {"length": len(text), "head": text[:60], "tail": text[-30:]}

    w.steps(
        {
            "whole": lambda: thread.get_summary().content,
            "except 1": lambda: thread.get_summary(except_last=1).content,
            "except 2": lambda: thread.get_summary(except_last=2).content,
            "except 3": lambda: thread.get_summary(except_last=3).content,
            "except 9": lambda: thread.get_summary(except_last=9).content,
            "budget 5": lambda: thread.get_summary(token_budget=5).content,
            "budget 10": lambda: thread.get_summary(token_budget=10).content,
            "budget 1": lambda: thread.get_summary(token_budget=1).content,
            "budget 20": lambda: thread.get_summary(token_budget=20).content,
            "budget 0": lambda: thread.get_summary(token_budget=0).content,
            "budget negative": lambda: thread.get_summary(token_budget=-3).content,
            "long": lambda: shape(long.get_summary().content),
            "long, no budget": lambda: shape(long.get_summary(token_budget=0).content),
            "long, budget 2000": lambda: shape(long.get_summary(token_budget=2000).content),
            "long, budget 100": lambda: shape(long.get_summary(token_budget=100).content),
            "long, except 35": lambda: shape(long.get_summary(except_last=35).content),
        }
    )


@scenario("summary by llm")
def by_llm(w):
    """What becomes of the model's answers; one fresh thread each. Topics in any order and case."""
    w.ignore_warnings = True
    client = w.client(extract={"extract_memories": False})

    def ask(name, *answers):
        thread = client.create_thread(thread_id=name, user_id="u1", agent_id="a1")
        thread.add_messages([user("hello", timestamp=NOON.format(1))])
        w.llm.script["summary"] = list(answers)
        card = thread.get_context_card(max_relevant_results=0)
        return {
            "summary": card.summary,
            "topics": sorted(topic.lower() for topic in card.topics or []),
            "calls": w.llm.kinds(),
        }

    w.steps(
        {
            "good": lambda: ask("good", {"summary": "Greeting.", "topics": ["hello"]}),
            "topics cleaned": lambda: ask(
                "topics", {"summary": "S", "topics": ["  one ", "", " ", "ONE", "Two", "two "]}
            ),
            "plain text": lambda: ask("plain", "They greeted each other."),
            "no topics": lambda: ask("no topics", {"summary": "S"}),
            "empty text": lambda: ask("empty", ""),
            "empty summary": lambda: ask("empty summary", {"summary": "", "topics": ["x"]}),
            "error": lambda: ask("error", RuntimeError("down")),
        }
    )


@scenario("summary reuse")
def reuse(w):
    """When the saved summary is reused and when the model is asked again."""
    client = w.client(extract={"extract_memories": False})
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    thread.add_messages([user("one"), user("two")])
    w.llm.script["summary"] = [{"summary": f"S{number}", "topics": []} for number in range(9)]

    def ask(**options):
        return [thread.get_summary(**options).content, *w.llm.kinds()]

    w.steps(
        {
            "first": lambda: ask(),
            "again": lambda: ask(),
            "except 1": lambda: ask(except_last=1),
            "except 1 again": lambda: ask(except_last=1),
            "whole still": lambda: ask(),
            "except all": lambda: ask(except_last=2),
            "except negative": lambda: ask(except_last=-1),
            "new message": lambda: (thread.add_messages([user("three")]), ask())[1],
            "budget cuts": lambda: thread.get_summary(token_budget=1).content,
            "other handle": lambda: [client.get_thread("t1").get_summary().content, *w.llm.kinds()],
            "class": lambda: type(thread.get_summary()).__name__,
        }
    )


@scenario("summary objects")
def objects(w):
    """OracleSummary by hand."""
    w.steps(
        {
            "content": lambda: OracleSummary(content="Recap").content,
            "str": lambda: str(OracleSummary("Recap")),
            "formatted": lambda: OracleSummary("Recap").formatted_content,
            "no equality": lambda: OracleSummary("a") == OracleSummary("a"),
        }
    )
