"""What the API reads and answers. Unknown fields and parameters are refused, never dropped."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from django.http import QueryDict
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from memoryapp.services import strict_json
from memoryapp.services.provenance import Derived
from oracleagentmemory.apis.validation import (
    ROLE_MAX_BYTES,
    TIMESTAMP_MAX_BYTES,
    check_id,
    check_metadata,
    check_text,
)
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import MAX_TEXT_BYTES

MemoryType = Literal["memory", "fact", "guideline", "preference"]
RecordType = Literal["memory", "fact", "guideline", "preference", "message", "image"]
MimeType = Literal["image/png", "image/jpeg", "image/webp"]
Status = Literal["valid", "invalid"]
Strategy = Literal["vector", "keyword", "hybrid"]


def _checked(check: Callable[[Any], Any]) -> AfterValidator:
    """Make an SDK check name its field in the answer's ``errors``."""

    def validate(value: Any) -> Any:
        try:
            check(value)
        except InvalidInputError as error:
            raise PydanticCustomError("not_storable", "{why}", {"why": str(error)}) from None
        return value

    return AfterValidator(validate)


Text = Annotated[str, _checked(lambda value: check_text(value, "the text"))]
Id = Annotated[str, _checked(lambda value: check_id(value, "the id"))]
Label = Annotated[str, _checked(lambda value: check_id(value, "the label"))]
RoleName = Annotated[
    str, _checked(lambda value: check_id(value, "the role", max_bytes=ROLE_MAX_BYTES))
]
Timestamp = Annotated[
    str, _checked(lambda value: check_text(value, "the text", max_bytes=TIMESTAMP_MAX_BYTES))
]
Words = Annotated[
    str, _checked(lambda value: check_text(value, "the text", max_bytes=MAX_TEXT_BYTES))
]
Metadata = Annotated[dict[str, Any], _checked(check_metadata)]


class Body(BaseModel):
    """A request body."""

    model_config = ConfigDict(extra="forbid")

    reason: Text = Field("", max_length=500, description="Why; kept in the audit entry.")


class PatchBody(Body):
    """A change; only the fields that are sent change."""

    @model_validator(mode="after")
    def _names_a_field(self) -> PatchBody:
        if not self.model_fields_set - {"reason"}:
            raise PydanticCustomError("nothing_to_change", "Send at least one field to change")
        return self

    def changes(self) -> dict[str, Any]:
        """Return the fields that were sent, without the reason."""
        return {name: getattr(self, name) for name in self.model_fields_set - {"reason"}}


class Parameters(BaseModel):
    """A query string."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, values: Any, info: ValidationInfo) -> Any:
        request = (info.context or {}).get("request")
        sent = request.GET if request is not None else QueryDict()
        unknown = sorted(set(sent) - set(cls.model_fields))
        if unknown:
            raise PydanticCustomError(
                "unknown_parameter", "Unknown query parameter {name}; known are {allowed}",
                {"name": repr(unknown[0]), "allowed": ", ".join(cls.model_fields)},
            )  # fmt: skip
        for name, field in cls.model_fields.items():
            if len(sent.getlist(name)) > 1 and not isinstance(field.default, list):
                raise PydanticCustomError(
                    "repeated_parameter", "Query parameter {name} is given twice", {"name": name}
                )
        return values


class PageParameters(Parameters):
    """Which page of a list."""

    cursor: str | None = Field(
        None, max_length=400, description="`next` or `previous` of an earlier answer."
    )
    limit: int = Field(50, ge=1, le=200)


class DeleteParameters(Parameters):
    """What a delete may say."""

    reason: Text = Field("", max_length=500, description="Why; kept in the audit entry.")


class MessageDeleteParameters(DeleteParameters):
    """What the delete of a message may say beside that."""

    derived: Derived = Field(
        "keep", description="Whether memories that no other message taught go with it."
    )


def _moment(value: Any) -> Any:
    """Read ISO 8601 only; pydantic would take numbers for seconds of 1970."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise PydanticCustomError(
            "not_iso_8601", "Input should be ISO 8601, such as 2026-03-01T09:30:00Z"
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _metadata_of_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return strict_json.parse(value)
    except ValueError:
        raise PydanticCustomError("bad_json", "Input should be a JSON object") from None


Moment = Annotated[datetime, BeforeValidator(_moment)]
MetadataText = Annotated[Metadata, BeforeValidator(_metadata_of_text, json_schema_input_type=str)]


def _bytes_of_base64(value: Any) -> Any:
    """Read the one way to write bytes: the standard alphabet, padded, no line breaks."""
    if not isinstance(value, str):
        raise PydanticCustomError("not_base64", "Input should be base64 as a string")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise PydanticCustomError(
            "not_base64", "Input should be base64 in its standard alphabet, with padding"
        ) from None


Base64 = Annotated[
    bytes,
    BeforeValidator(_bytes_of_base64, json_schema_input_type=str),
    WithJsonSchema({"type": "string", "contentEncoding": "base64", "minLength": 4}),
]

LeastByType = Annotated[
    dict[RecordType, int], BeforeValidator(_metadata_of_text, json_schema_input_type=str)
]


class ThreadParameters(PageParameters):
    """Filters of the list of threads."""

    user_id: Id | None = None
    agent_id: Id | None = None
    since: Moment | None = Field(None, description="Effective time, ISO 8601; UTC if no zone.")
    until: Moment | None = None
    metadata: MetadataText | None = Field(None, description="A metadata filter as JSON.")


class MemoryParameters(ThreadParameters):
    """Filters of the list of memories."""

    memory_type: list[MemoryType] = Field([], description="Repeat it for several types.")
    thread_id: Id | None = None
    status: Status | Literal["any"] = "valid"
    text: Words | None = Field(None, description="Words that must all occur in the memory.")


class SummaryParameters(Parameters):
    """What of a thread is summed up."""

    except_last: int = Field(0, ge=0, description="Newest messages to leave out.")
    token_budget: int = Field(1000, description="Estimated tokens at most; 0: no bound.")


class CardParameters(Parameters):
    """What a context card holds."""

    fallback_message_count: int = Field(5, description="Messages that stand for a summary.")
    max_relevant_results: int = Field(5, description="Relevant records at most.")
    max_recent_messages: int = Field(0, description="Newest messages to show.")
    except_last_messages: int = Field(0, description="Newest messages to leave out elsewhere.")
    min_relevant_results_by_type: LeastByType | None = Field(
        None, description="How many records of a type come first, as JSON."
    )
    metadata_filter: MetadataText | None = Field(None, description="A metadata filter as JSON.")
    include_invalid: bool = False
    token_budget: int | None = Field(None, description="Estimated tokens of relevant records.")
    soft_token_budget: int | None = Field(None, description="After so many no record is added.")


class RelationParameters(PageParameters):
    """Filters of the list of relations."""

    memory_id: Id | None = Field(None, description="Relations that start or end at this memory.")
    thread_id: Id | None = Field(None, description="Relations with an end in this thread.")
    relation_type: Label | None = None


class ImageParameters(ThreadParameters):
    """Filters of the list of images."""

    thread_id: Id | None = None


class ThreadIn(Body):
    """A new thread."""

    id: Id | None = Field(None, description="Made by the server when left out.")
    user_id: Id | None = Field(None, description="May be left out by a key of one user.")
    agent_id: Id | None = None
    metadata: Metadata | None = None


class ThreadPatch(PatchBody):
    """A change of a thread; `metadata` replaces what was there."""

    metadata: Metadata | None = None


class TextPartIn(BaseModel):
    """A part of a message that is text."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["text"]
    text: Text


class ImagePartIn(BaseModel):
    """A part of a message that is an image."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["image"]
    mime_type: MimeType
    bytes: Base64 | None = Field(
        None, description="May be left out where `id` names an image that the message has."
    )
    description: Text | None = Field(None, description="By these words a search finds it.")
    id: Id | None = Field(None, description="Of the image; made by the server when left out.")


def _tag_of_part(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else getattr(part, "type", None)
    return "(image)" if kind == "image" else "(text)"


def _known_part(part: Any) -> Any:
    """Refuse what is neither kind before one is picked, whose fields would then be asked for."""
    if not isinstance(part, dict | TextPartIn | ImagePartIn):
        raise PydanticCustomError("part", "Input should be an object: a text or an image part")
    kind = part.get("type") if isinstance(part, dict) else part.type
    if kind not in ("text", "image"):
        raise PydanticCustomError("part_type", "type should be 'text' or 'image'")
    return part


def _tag_of_content(content: Any) -> str:
    return "(parts)" if isinstance(content, list) else "(string)"


def _text_or_parts(content: Any) -> Any:
    if not isinstance(content, str | list):
        raise PydanticCustomError("content", "Input should be a string or a list of parts")
    return content


# Tags in brackets are left out of the names that errors give to fields.
Part = Annotated[
    Annotated[TextPartIn, Tag("(text)")] | Annotated[ImagePartIn, Tag("(image)")],
    Discriminator(_tag_of_part),
    BeforeValidator(_known_part),
]
Content = Annotated[
    Annotated[Text, Tag("(string)")]
    | Annotated[list[Part], Field(min_length=1, max_length=1000), Tag("(parts)")],
    Discriminator(_tag_of_content),
    BeforeValidator(_text_or_parts),
]


class MessageIn(BaseModel):
    """A new message."""

    model_config = ConfigDict(extra="forbid")

    role: RoleName = Field(description="`user`, `assistant` or another name; at most 30 bytes.")
    content: Content = Field(description="A text, or parts: texts and images in their order.")
    id: Id | None = Field(None, description="In one request either all messages have one or none.")
    timestamp: Timestamp | None = Field(None, description="The caller's time, best as ISO 8601.")
    metadata: Metadata | None = None


class MessagesIn(Body):
    """Messages to append to a thread, in order."""

    messages: list[MessageIn] = Field(min_length=1, max_length=1000)


class MessagePatch(PatchBody):
    """A change of a message; its role and time are history and stay."""

    content: Content = Field("", description="All of it: an image that it leaves out is deleted.")
    metadata: Metadata | None = None

    def changes(self) -> dict[str, Any]:
        """Return the fields that were sent, parts as the SDK takes them."""
        changes = super().changes()
        if isinstance(self.content, list) and "content" in changes:
            changes["content"] = [part.model_dump(exclude_none=True) for part in self.content]
        return changes


class MemoryIn(Body):
    """A new memory."""

    content: Text
    memory_type: MemoryType = "memory"
    id: Id | None = Field(None, description="Made by the server when left out.")
    user_id: Id | None = Field(None, description="May be left out by a key of one user.")
    agent_id: Id | None = None
    thread_id: Id | None = None
    timestamp: Timestamp | None = Field(None, description="The caller's time, best as ISO 8601.")
    metadata: Metadata | None = None
    ttl_days: int | None = Field(None, ge=1, description="Days until it expires; null means never.")


class MemoryPatch(PatchBody):
    """A change of a memory; `metadata` replaces what was there."""

    content: Text = ""
    metadata: Metadata | None = None
    timestamp: Timestamp | None = None
    status: Status = "valid"


class ImageIn(Body):
    """A new image; at least one of `user_id`, `agent_id` and `thread_id` owns it."""

    bytes: Base64 = Field(description="The file: PNG, JPEG or WebP, not animated.")
    mime_type: MimeType | None = Field(None, description="Found out when left out.")
    description: Text | None = Field(
        "", description="By these words a search finds it; null: the model describes it, by a job."
    )
    id: Id | None = Field(None, description="Made by the server when left out.")
    user_id: Id | None = Field(None, description="May be left out by a key of one user.")
    agent_id: Id | None = None
    thread_id: Id | None = Field(None, description="Its user and agent then own the image.")
    timestamp: Timestamp | None = Field(None, description="The caller's time, best as ISO 8601.")
    metadata: Metadata | None = None
    ttl_days: int | None = Field(None, ge=1, description="Days until it expires; null means never.")


class ImagePatch(PatchBody):
    """A change of an image; `metadata` replaces what was there."""

    description: Text | None = Field("", description="null: the model describes it anew, by a job.")
    metadata: Metadata | None = None
    timestamp: Timestamp | None = None
    bytes: Base64 = b""
    mime_type: MimeType | None = Field(None, description="Of new `bytes`; found out when left out.")

    @model_validator(mode="after")
    def _format_comes_with_bytes(self) -> ImagePatch:
        if "mime_type" in self.model_fields_set and "bytes" not in self.model_fields_set:
            raise PydanticCustomError(
                "format_alone", "mime_type says what new bytes are; send bytes with it"
            )
        return self


class RelationIn(Body):
    """A new relation."""

    source_record_id: Id = Field(description="The memory that it starts from.")
    target_record_id: Id = Field(description="The memory that it points to.")
    relation_type: Label = Field(
        description="`supersedes`, `contradicts`, `refines`, `supports`, `duplicates`, or your own."
    )
    opposite_relation_type: Label | None = Field(
        None, description="How a type of your own reads from the target; the same when left out."
    )
    id: Id | None = Field(None, description="Made by the server when left out.")
    timestamp: Timestamp | None = Field(None, description="The caller's time, best as ISO 8601.")
    metadata: Metadata | None = None


class RelationPatch(PatchBody):
    """A change of a relation; `metadata` replaces what was there."""

    relation_type: Label = ""
    opposite_relation_type: Label = ""
    timestamp: Timestamp | None = None
    metadata: Metadata | None = None


class SearchIn(BaseModel):
    """A search by meaning, by words or by both."""

    model_config = ConfigDict(extra="forbid")

    query: Text = Field(max_length=100_000)
    user_id: Id | None = Field(
        None, description="Left out: the key's one user, or all; null: records of no user."
    )
    agent_id: Id | None = Field(None, description="Left out: any; null: records of no agent.")
    thread_id: Id | None = Field(None, description="Left out: any; null: records of no thread.")
    record_types: list[RecordType] = Field([], description="Empty: all of them.")
    max_results: int = Field(10, ge=1, le=100)
    metadata_filter: Metadata | None = None
    include_invalid: bool = False
    strategy: Strategy | None = Field(None, description="Left out: that of the settings.")
    explain: bool = Field(False, description="Tell each stage's rank and score of every hit.")


class SearchParameters(Parameters):
    """The same search as a query string."""

    # A longer one may not fit into an address; POST takes 100,000.
    q: Text = Field(max_length=2_000)
    user_id: Id | None = None
    agent_id: Id | None = None
    thread_id: Id | None = None
    record_types: list[RecordType] = []
    max_results: int = Field(10, ge=1, le=100)
    metadata_filter: MetadataText | None = Field(None, description="A metadata filter as JSON.")
    include_invalid: bool = False
    strategy: Strategy | None = None
    explain: bool = False
