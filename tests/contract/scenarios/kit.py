"""What the scenarios share: deterministic models, one fresh world each, and answers as JSON."""

import dataclasses
import datetime
import enum
import hashlib
import json
import re
import struct
import warnings
import zlib

import numpy

import oracleagentmemory.core as core
from oracleagentmemory.apis import (
    IEmbedder,
    ILlm,
    ImageContent,
    LlmResponse,
    Message,
    MessageContent,
    MessageRecord,
    TextContent,
)

SCENARIOS = {}
DIMENSION = 256
KINDS = (
    NotImplementedError,
    ValueError,
    KeyError,
    TypeError,
    TimeoutError,
    RuntimeError,
    AttributeError,
)
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
RELEVANCE = re.compile(r"(<estimated_relevance>)([\d.]+)")
INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")


def scenario(name):
    """Register a function that takes a World under `name`."""

    def register(function):
        if name in SCENARIOS:
            raise ValueError(f"two scenarios are called {name!r}")
        SCENARIOS[name] = function
        return function

    return register


class WordEmbedder(IEmbedder):
    """Bag of hashed words (digits first are no word), unit length; `word^3` weighs a word."""

    embedding_dimension = DIMENSION

    def embed(self, texts, *, is_query=False):
        """Return one row a text."""
        rows = numpy.zeros((len(texts), DIMENSION), dtype=numpy.float32)
        for row, text in zip(rows, texts, strict=True):
            for word, weight in re.findall(r"\b([^\W\d]\w*)(?:\^(\d+))?", text.lower()):
                row[int(hashlib.sha256(word.encode()).hexdigest(), 16) % DIMENSION] += int(
                    weight or 1
                )
            row[0] += 1e-3
            row /= numpy.linalg.norm(row)
        return rows

    async def embed_async(self, texts, *, is_query=False):
        """Return one row a text."""
        return self.embed(texts, is_query=is_query)


def parts(prompt):
    """Yield (role, part) over a prompt, a part being a str or a content object."""
    if isinstance(prompt, str):
        yield "user", prompt
        return
    for message in prompt:
        get = (
            message.get
            if isinstance(message, dict)
            else lambda key, owner=message: getattr(owner, key)
        )
        content = get("content")
        for part in [content] if isinstance(content, str) else content:
            yield get("role"), part


def text_of(part):
    """The text of a part, empty for an image."""
    if isinstance(part, str):
        return part
    return part.get("text", "") if isinstance(part, dict) else getattr(part, "text", "")


def prompt_text(prompt):
    """All text of a prompt."""
    return "\n".join(text_of(part) for _, part in parts(prompt))


def images_in(prompt):
    """How many image parts a prompt has."""
    return sum(
        isinstance(part, ImageContent) or (isinstance(part, dict) and part.get("type") != "text")
        for _, part in parts(prompt)
    )


def resolve(schema, root):
    """Follow a `$ref` inside one JSON schema."""
    return root["$defs"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


def call_kind(prompt, schema):
    """Name an LLM call by the properties of the answer it asks for."""
    properties = (schema or {}).get("properties", {})
    if "memories" in properties:
        item = resolve(properties["memories"]["items"], schema)
        return "extraction with links" if "links" in item["properties"] else "extraction"
    for key, kind in (
        ("source_resolutions", "links"),
        ("summary", "summary"),
        ("decision", "prune"),
    ):
        if key in properties:
            return kind
    return "caption" if images_in(prompt) else "text"


def found(text, record_type="memory", **more):
    """One extracted memory as the extraction schema wants it."""
    return {
        "id": None,
        "text": text,
        "record_type": record_type,
        "scope": None,
        "entities": None,
        "timestamp": None,
        "valid_to": None,
        "importance": None,
        **more,
    }


def extraction(*memories):
    """An extraction answer."""
    return {"thoughts": None, "memories": list(memories)}


def asked(schema):
    """The new memory ids a link request asks about."""
    resolutions = resolve(schema["properties"]["source_resolutions"], schema)
    return list(resolutions["properties"])


class ScriptedLlm(ILlm):
    """Answers by kind of call, from a queue or with a harmless default; keeps every call.

    `script[kind]` is a list of answers used one a call; an answer is a str, a JSON value, an
    exception to raise, or a function of (prompt, schema) that gives one of these.
    """

    def __init__(self, name="llm"):
        self.name = name
        self.calls = []
        self.script = {}

    @property
    def supports_vision(self):
        """Images are understood."""
        return True

    def default(self, kind, schema):
        """An answer with nothing in it."""
        return {
            "extraction": extraction(),
            "extraction with links": extraction(),
            "links": {"source_resolutions": dict.fromkeys(asked(schema))}
            if kind == "links"
            else None,
            "summary": {"summary": "Small talk.", "topics": ["weather"]},
            "prune": {"decision": "keep"},
            "caption": "A grey square.",
            "text": "Shortened.",
        }[kind]

    def generate(self, prompt, *, response_json_schema=None, **kwargs):
        """Give the next answer of this kind."""
        kind = call_kind(prompt, response_json_schema)
        self.calls.append((kind, prompt, response_json_schema))
        queue = self.script.get(kind)
        answer = queue.pop(0) if queue else self.default(kind, response_json_schema)
        if callable(answer):
            answer = answer(prompt, response_json_schema)
        if isinstance(answer, Exception):
            raise answer
        return LlmResponse(answer if isinstance(answer, str) else json.dumps(answer))

    async def generate_async(self, prompt, *, response_json_schema=None, **kwargs):
        """Give the next answer of this kind."""
        return self.generate(prompt, response_json_schema=response_json_schema, **kwargs)

    def kinds(self):
        """Names of the calls since the last time, in order."""
        names = [kind for kind, _, _ in self.calls]
        self.calls.clear()
        return names

    def seen(self, pattern, kind="extraction"):
        """Sorted distinct matches of `pattern` in each prompt of that kind since the last time."""
        found_in = [
            sorted(set(re.findall(pattern, prompt_text(prompt))))
            for name, prompt, _ in self.calls
            if name.startswith(kind)
        ]
        self.calls.clear()
        return found_in


def png(shade=128):
    """A valid 2x2 grey PNG."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = zlib.compress(bytes([0, shade, shade]) * 2)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", rows)
        + chunk(b"IEND", b"")
    )


class Normaliser:
    """Turns results into JSON: generated ids by order of appearance, present times as <now>."""

    def __init__(self):
        self.ids = {}

    def text(self, value):
        """Replace generated ids and times within one day of now."""
        value = UUID.sub(
            lambda match: self.ids.setdefault(match[0], f"<id{len(self.ids) + 1}>"), value
        )
        value = RELEVANCE.sub(lambda match: f"{match[1]}{float(match[2]):.3f}", value)
        return INSTANT.sub(self.instant, value)

    @staticmethod
    def instant(match):
        """`<now>` for a time near the present."""
        try:
            when = datetime.datetime.fromisoformat(match[0].replace("Z", "+00:00"))
        except ValueError:
            return match[0]
        if when.tzinfo is None:
            when = when.replace(tzinfo=datetime.UTC)
        age = abs((datetime.datetime.now(datetime.UTC) - when).total_seconds())
        return "<now>" if age < 86400 else match[0]

    def plain(self, value):
        """A JSON value that stands for `value`."""
        if value is None or (isinstance(value, bool | int) and not isinstance(value, enum.Enum)):
            return value
        if isinstance(value, enum.Enum):
            return f"{type(value).__name__}.{value.name}"
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, float):
            return round(value, 3)
        if isinstance(value, bytes):
            return f"<{len(value)} bytes>"
        if isinstance(value, dict):
            return {self.text(str(key)): self.plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(item) for item in value]
        if isinstance(value, set | frozenset):
            return sorted(self.plain(item) for item in value)
        if isinstance(value, core.OracleThread):
            return {
                "class": "thread",
                "thread_id": self.plain(value.thread_id),
                "user_id": self.plain(value.user_id),
                "agent_id": self.plain(value.agent_id),
                "metadata": self.plain(value.metadata),
            }
        if hasattr(value, "format_content"):
            return {
                "class": "result",
                "id": self.plain(value.id),
                "distance": self.plain(float(value.distance)),
                "record": self.plain(value.record),
            }
        if isinstance(value, MessageContent):
            return self.part(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [
                field.name for field in dataclasses.fields(value) if not field.name.startswith("_")
            ]
            body = {
                name: self.plain(getattr(value, name))
                for name in names
                if name not in ("seq_no", "record_type")
            }
            if isinstance(value, Message | MessageRecord) and not isinstance(value.content, str):
                body["content"] = self.content(value.content)
            return {"class": type(value).__name__, **body}
        return f"<{type(value).__name__}>"

    def part(self, value):
        """A content part without its generated id."""
        if isinstance(value, TextContent):
            return {"text": self.plain(value.text)}
        return {
            "image": value.mime_type.value,
            "description": self.plain(value.description),
            "bytes": self.plain(value.bytes),
        }

    def content(self, content):
        """Message content; one text part is the same as its text."""
        if len(content) == 1 and isinstance(content[0], TextContent):
            return self.plain(content[0].text)
        return [self.part(part) for part in content]


class World:
    """One scenario's fresh store, models and answers."""

    def __init__(self, path):
        self.path = path
        self.embedder = WordEmbedder()
        self.llm = ScriptedLlm()
        self.store = core.SQLiteMemoryStore(
            path, embedder=self.embedder, schema_policy="create_if_necessary"
        )
        self.normal = Normaliser()
        self.answers = {}
        self.clients = []
        self.ignore_warnings = (
            False  # where the pages ask for no warning and the reference gives one
        )

    def client(self, *, llm=True, extract=None, **options):
        """A client on this store; `extract` holds the configuration, INLINE by default."""
        if extract is None:
            extract = {} if llm else {"extract_memories": False}
        extract.setdefault("extraction_mode", core.MemoryExtractionMode.INLINE)
        options.setdefault("memory_extraction_config", core.MemoryExtractionConfig(**extract))
        if llm:
            options.setdefault("llm", self.llm)
        client = core.OracleAgentMemory(store=self.store, **options)
        self.clients.append(client)
        return client

    def opened(self, name="t1", thread_options=None, **extract):
        """A client and a thread of u1 and a1 whose context summary is off unless asked for."""
        client = self.client(extract={"enable_context_summary": False, **extract})
        return client, client.create_thread(
            thread_id=name, user_id="u1", agent_id="a1", **thread_options or {}
        )

    def quiet(self):
        """A client without LLM and without extraction."""
        return self.client(llm=False)

    def step(self, name, call):
        """Run `call`, record its answer under `name`, give back what it returned or None."""
        if name in self.answers:
            raise ValueError(f"two steps are called {name!r}")
        answer, result = {}, None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = call()
                answer["is"] = self.normal.plain(result)
            except Exception as problem:  # noqa: BLE001 - the class is the answer
                kind = next(
                    (kind.__name__ for kind in KINDS if isinstance(problem, kind)),
                    "another exception",
                )
                answer["raises"] = kind
        categories = sorted(
            {item.category.__name__ for item in caught}
            & {"DeprecationWarning", "UserWarning", "RuntimeWarning", "FutureWarning"}
        )
        if categories and not self.ignore_warnings:
            answer["warns"] = categories
        self.answers[name] = answer
        return result

    def steps(self, calls):
        """Record a table of {name: call}."""
        for name, call in calls.items():
            self.step(name, call)

    def close(self):
        """Close every client of this world."""
        for client in self.clients:
            client.close(timeout=5)


def stored(records):
    """Extracted memories by content, without what is generated."""
    rows = []
    for record in sorted(records, key=lambda record: record.content):
        metadata = dict(record.metadata or {})
        reserved = metadata.pop("$agent_memory", {})
        rows.append(
            {
                "content": record.content,
                "class": type(record).__name__,
                "metadata": metadata,
                "timestamp": record.timestamp,
                "status": record.status,
                "scope": [record.thread_id, record.user_id, record.agent_id],
                "reserved": {
                    key: reserved[key]
                    for key in ("scope", "valid_to", "importance", "entities")
                    if key in reserved
                },
            }
        )
    return rows


def user(text, **more):
    """A user message as a mapping."""
    return {"role": "user", "content": text, **more}
