"""Tags and filters of the pages."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import template
from django.forms import BoundField
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memoryapp.ids import encode_tilde
from memoryapp.models import Person
from memoryapp.services.images import parts_of
from memoryapp.services.messages import text_of
from memoryapp.services.metadata import own_metadata
from memoryapp.templatetags.hidden_characters import shown
from oracleagentmemory.apis.message import ImageMimeType, MessageContent, TextContent
from oracleagentmemory.apis.records import ImageRecord, MessageRecord, Record, ThreadRecord

register = template.Library()
register.filter("own_metadata", own_metadata)
register.filter("shown", shown)
register.filter("image_parts", parts_of)

TYPE_BADGES = {"fact": "info", "preference": "violet", "guideline": "teal"}
FORMAT_NAMES = {
    ImageMimeType.PNG: "PNG",
    ImageMimeType.JPEG: "JPEG",
    ImageMimeType.WEBP: "WebP",
}
PLAIN_LINK = '<a href="{}">{}{}</a>'


@register.simple_tag
@functools.cache
def icon(name: str) -> SafeString:
    """An icon of the sprite, hidden from readers: the text beside it says the same."""
    return format_html(
        '<svg class="i" aria-hidden="true"><use href="{}#{}"/></svg>',
        static("memoryapp/icons.svg"),
        name,
    )


@register.simple_tag(takes_context=True)
def nav_link(context: template.Context, url_name: str, icon_name: str, text: str) -> SafeString:
    """A link of the main navigation, marked when its section is open."""
    link = (
        '<a href="{}" aria-current="page">{}{}</a>' if _is_open(context, url_name) else PLAIN_LINK
    )
    return format_html(link, reverse(url_name), icon(icon_name), text)


def _is_open(context: template.Context, url_name: str) -> bool:
    return bool(context.get("section") == url_name)


@register.filter
def initials(person: Person) -> str:
    """Two letters for a person."""
    name = person.get_full_name() or person.get_username()
    words = name.split()
    letters = words[0][:1] + words[-1][:1] if len(words) > 1 else name[:2]
    return letters.upper()


@register.filter
def html_id(record_id: str) -> str:
    """An id as part of an HTML id."""
    return encode_tilde(record_id)


@register.filter
def type_badge(record_type: str) -> str:
    """The colour of a memory type."""
    return TYPE_BADGES.get(record_type, "")


@register.filter
def when(moment: datetime | None) -> SafeString | str:
    """A time as a short text, with the full one in the zone of the person as its title."""
    if moment is None:
        return ""
    local = timezone.localtime(moment)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        f"{local:%d %B %Y, %H:%M:%S} {local.tzname()}",
        _short(local, timezone.localtime()),
    )


@register.filter
def moment(value: datetime | None) -> SafeString | str:
    """A time in full, in the zone of the person."""
    if value is None:
        return ""
    local = timezone.localtime(value)
    return format_html(
        '<time datetime="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        f"{local.day} {local:%b %Y, %H:%M} {local.tzname()}",
    )


def _short(local: datetime, now: datetime) -> str:
    age = now - local
    if timedelta(0) <= age < timedelta(minutes=1):
        return "just now"
    if timedelta(0) <= age < timedelta(hours=1):
        return f"{int(age.total_seconds() // 60)} min ago"
    if timedelta(0) <= age and local.date() == now.date():
        return f"{local:%H:%M}"
    return f"{local.day} {local:%b}" if local.year == now.year else f"{local.day} {local:%b %Y}"


@register.filter
def local_day(value: datetime) -> str:
    """The day of a time, in the zone of the person."""
    local = timezone.localtime(value)
    return f"{local:%A}, {local.day} {local:%B %Y}"


@register.filter
def of(mapping: Mapping[str, object], key: str) -> object:
    """What a mapping holds for a key that is a variable."""
    return mapping.get(key)


@register.simple_tag
def querystring_of(**parameters: str | None) -> str:
    """A query string of just these parameters; those without a value are left out."""
    return urlencode({name: value for name, value in parameters.items() if value is not None})


@register.simple_tag(takes_context=True)
def filtered(context: template.Context, name: str, value: str | None) -> str:
    """This list with a filter set, or removed by None; its first page, nothing opened."""
    query = context["request"].GET.copy()
    for other in ("before", "after", "m", name):
        query.pop(other, None)
    if value is not None:
        query[name] = value
    return f"?{query.urlencode()}"


@register.filter
def as_json(value: object) -> str:
    """A value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2)


@register.filter
def percent(fraction: float) -> str:
    """A fraction as a whole percentage, without the sign."""
    return f"{fraction * 100:.0f}"


@register.filter
def svg(number: float) -> str:
    """A number as SVG reads it, whatever the language."""
    return f"{number:g}"


@register.filter
def thousands(number: int) -> str:
    """A whole number in groups of three digits."""
    return f"{number:,}"


@register.filter
def record_text(record: Record) -> str:
    """The text of a record of any kind."""
    return text_of(record)


@register.filter
def parts(record: MessageRecord) -> Sequence[MessageContent]:
    """The parts of a message in their order; a text alone is one part."""
    content = record.content
    return [TextContent(content)] if isinstance(content, str) else content


@register.filter
def format_name(mime_type: ImageMimeType) -> str:
    """A format as a person says it."""
    return FORMAT_NAMES[mime_type]


@register.simple_tag
def record_url(record: Record) -> str:
    """Where a record is shown: a message in its thread, others on their page.

    Empty for a message without a thread, which has no page.
    """
    if isinstance(record, ThreadRecord):
        return reverse("thread-detail", args=(record.id,))
    if isinstance(record, ImageRecord):
        return reverse("image-detail", args=(record.id,))
    if not isinstance(record, MessageRecord):
        return reverse("memory-detail", args=(record.id,))
    if record.thread_id is None:
        return ""
    return reverse("message-detail", args=(record.thread_id, record.id))


@register.inclusion_tag("memoryapp/_field.html")
def field(bound: BoundField) -> dict[str, Any]:
    """A form field with label, help and errors."""
    return {"field": bound}
