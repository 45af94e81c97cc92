"""What a model answered when it was asked for a summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from oracleagentmemory.core.llms.answers import plain_text, read_json
from oracleagentmemory.core.markup import one_line
from oracleagentmemory.core.summaries.transcript import MAX_CHARACTERS

MAX_TOPICS = 50
MAX_TOPIC_CHARACTERS = 200
#: What the answer should be.
SUMMARY_SCHEMA = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "topics": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["summary", "topics"],
    "additionalProperties": False,
}

_WRAPPED = re.compile(r"\s*(?:[{\[]|```|~~~)")


def read_summary(raw: object) -> tuple[str, list[str]] | None:
    """Return text and topics of an answer, ``None`` when it holds no text.

    An answer that is no JSON is the text itself.
    """
    if not isinstance(raw, str):
        return None
    fields = _summary_fields(read_json(raw))
    if fields is not None:
        text, topics = fields.get("summary"), fields.get("topics")
    elif _WRAPPED.match(said := plain_text(raw)):
        return None  # JSON of another kind, or too broken to read
    else:
        text, topics = said, None
    text = one_line(text)[:MAX_CHARACTERS] if isinstance(text, str) else ""
    return (text, normal_topics(topics)) if text else None


def normal_topics(topics: object) -> list[str]:
    """Return topics stripped, in lower case, without blanks and repetitions, in their order."""
    if isinstance(topics, str):
        topics = topics.split(",")
    if not isinstance(topics, Iterable) or isinstance(topics, Mapping):
        return []
    texts = (one_line(one).lower()[:MAX_TOPIC_CHARACTERS] for one in topics if isinstance(one, str))
    return list(dict.fromkeys(text for text in texts if text))[:MAX_TOPICS]


def _summary_fields(value: object) -> Mapping[str, object] | None:
    if isinstance(value, list):
        found = (_summary_fields(one) for one in value)
        return next((fields for fields in found if fields is not None), None)
    if not isinstance(value, dict):
        return None
    fields = {str(key).strip().lower(): one for key, one in value.items()}
    return fields if "summary" in fields else None
