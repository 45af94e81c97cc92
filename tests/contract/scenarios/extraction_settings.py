"""Settings at work: windows, instructions, shortening and summary refresh while messages arrive."""

from oracleagentmemory import core
from tests.contract.scenarios.kit import ScriptedLlm, prompt_text, scenario, user

Config = core.MemoryExtractionConfig


@scenario("configuration in use")
def used(w):
    """Saved values govern a reopened thread; overrides only the handle."""
    first = w.client(
        extract={
            "enable_context_summary": False,
            "memory_extraction_window": 2,
            "memory_extraction_custom_instructions": "[client]",
        }
    )
    second = w.client(
        extract={
            "enable_context_summary": False,
            "memory_extraction_window": 1,
            "extract_memories": False,
        }
    )
    first.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    mark = r"\[(\w+)\]"
    number = iter(range(100))

    def run(thread):
        w.llm.calls.clear()
        thread.add_messages([user(f"[m{next(number)}]")])
        return w.llm.seen(mark)

    other = ScriptedLlm("other")
    w.steps(
        {
            "created": lambda: run(first.get_thread("t1")),
            "reopened": lambda: run(first.get_thread("t1")),
            "by another client": lambda: run(second.get_thread("t1")),
            "override": lambda: run(
                first.get_thread("t1", memory_extraction_config=Config(memory_extraction_window=3))
            ),
            "override of instructions": lambda: run(
                first.get_thread(
                    "t1",
                    memory_extraction_config=Config(memory_extraction_custom_instructions="[call]"),
                )
            ),
            "override with None": lambda: run(
                first.get_thread(
                    "t1",
                    memory_extraction_config=Config(memory_extraction_custom_instructions=None),
                )
            ),
            "extraction off on the handle": lambda: run(
                first.get_thread("t1", memory_extraction_config=Config(extract_memories=False))
            ),
            "as before": lambda: run(first.get_thread("t1")),
            "other llm": lambda: (run(first.get_thread("t1", llm=other)), other.kinds()),
            "llm is not saved": lambda: len(run(first.get_thread("t1"))),
            "off by update": lambda: (
                first.update_thread("t1", memory_extraction_config=Config(extract_memories=False)),
                run(first.get_thread("t1")),
            )[1],
            "updated handle": lambda: run(
                first.update_thread("t1", memory_extraction_config=Config(extract_memories=True))
            ),
        }
    )


@scenario("long messages")
def shortening(w):
    """Over-long messages are shortened for the prompt only."""
    client = w.client(extract={"enable_context_summary": False})

    def words(count):
        return " ".join(["word"] * count)

    def run(name, text, **options):
        thread = client.create_thread(thread_id=name, user_id="u1", agent_id="a1", **options)
        w.llm.calls.clear()
        w.llm.script["text"] = ["[short]"]
        thread.add_messages([user(text, id=f"m-{name}")])
        prompt = next(
            prompt_text(prompt) for kind, prompt, _ in w.llm.calls if kind == "extraction"
        )
        return {
            "calls": w.llm.kinds(),
            "short": "[short]" in prompt,
            "whole": text in prompt,
            "stored whole": thread.get_message(f"m-{name}").content == text,
        }

    w.steps(
        {
            "fits": lambda: run("a", words(7), max_message_token_length=10),
            "too long": lambda: run("b", words(8), max_message_token_length=10),
            "off": lambda: run("c", words(8), max_message_token_length=0),
            "negative": lambda: run("d", words(8), max_message_token_length=-1),
            "default": lambda: run("e", words(10000)),
            "over default": lambda: run("f", words(11000)),
        }
    )


@scenario("summary refresh")
def refresh(w):
    """How often the summary is renewed while messages arrive."""

    def run(name, **extract):
        client = w.client(extract={"memory_extraction_window": -1, **extract})
        thread = client.create_thread(thread_id=name, user_id="u1", agent_id="a1")
        seen = []
        for number in range(5):
            thread.add_messages([user(f"q{number}")])
            seen.append(w.llm.kinds().count("summary"))
        return seen

    w.steps(
        {
            "default": lambda: run("default"),
            "frequency 0": lambda: run("zero", context_summary_update_frequency=0),
            "frequency 1": lambda: run("one", context_summary_update_frequency=1),
            "frequency 3": lambda: run("three", context_summary_update_frequency=3),
            "off": lambda: run("off", enable_context_summary=False),
            "extraction every second": lambda: run(
                "second", memory_extraction_frequency=2, context_summary_update_frequency=1
            ),
            "extraction off, summary on": lambda: run(
                "only", extract_memories=False, enable_context_summary=True
            ),
            "extraction off": lambda: run("none", extract_memories=False),
        }
    )
