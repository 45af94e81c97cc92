"""Fields that several forms share: ids, long text, metadata, local days."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from memoryapp.ids import MAX_ID_BYTES
from memoryapp.services import strict_json
from oracleagentmemory.inspection import MAX_TEXT_BYTES


def style(form: forms.BaseForm) -> None:
    """Give the fields of a form their class; boxes to tick keep their own look."""
    for field in form.fields.values():
        if not isinstance(field.widget, forms.CheckboxInput | forms.CheckboxSelectMultiple):
            given = field.widget.attrs.get("class", "")
            field.widget.attrs["class"] = f"field {given}".strip()


#: Filters that are said to be wrong; any other wrong filter counts as not given.
REFUSABLE = frozenset({"q", "user", "agent", "thread", "metadata"})


class PageForm(forms.Form):
    """A form of our pages: no colons after labels, the fields styled alike."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        style(self)


class FilterForm(PageForm):
    """The filters of a list, a day and metadata among those that are folded away."""

    @property
    def is_refused(self) -> bool:
        """Whether a filter is one that no record could have, so that nothing can be listed."""
        return not REFUSABLE.isdisjoint(self.errors)

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter is set."""
        return any(self.value(name) for name in self.fields)

    @property
    def is_more_used(self) -> bool:
        """Whether one of the filters that are folded away is in the address."""
        return any(name in self.data for name in ("since", "until", "metadata"))

    def value(self, name: str) -> Any:
        """A field's value; None when it is missing or wrong."""
        self.is_valid()
        return self.cleaned_data.get(name)


class IdField(forms.CharField):
    """An id of a caller: any characters, at most 128 bytes; an empty one is None."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}
        widget = kwargs.pop("widget", None) or forms.TextInput(attrs=attrs)
        super().__init__(**{"required": False, "strip": False, "widget": widget, **kwargs})

    def clean(self, value: Any) -> str | None:
        """Return the id or None."""
        record_id = super().clean(value)
        if len(record_id.encode()) > MAX_ID_BYTES:
            raise ValidationError("An id has at most 128 bytes of UTF-8.")
        return record_id or None


class LongTextField(forms.CharField):
    """Text that is stored as it was typed: not stripped, with plain line ends."""

    def __init__(self, **kwargs: Any) -> None:
        widget = kwargs.pop("widget", None) or forms.Textarea(attrs={"rows": 6})
        super().__init__(**{"strip": False, "widget": widget, **kwargs})

    def to_python(self, value: Any) -> str:
        """Undo the browser, which sends every line end of a text area as CR LF."""
        return (super().to_python(value) or "").replace("\r\n", "\n")

    def validate(self, value: Any) -> None:
        """Refuse text of white space only where text is required."""
        super().validate(value.strip() if isinstance(value, str) else value)


class _FreshInput(forms.HiddenInput):
    """Another value each time a page shows it."""

    def format_value(self, value: Any) -> str:
        """Return a new value, whatever was sent."""
        return str(uuid.uuid4())


class OnceField(forms.UUIDField):
    """The id of a new record for which none is typed: a form that is sent twice stores one."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=_FreshInput)

    def clean(self, value: Any) -> str | None:
        """Return the id; without one the record gets a new id when it is stored."""
        once = super().clean(value)
        return None if once is None else str(once)


class MetadataField(forms.CharField):
    """A JSON object, or nothing."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"rows": 3, "class": "mono short", "spellcheck": "false"}
        widget = kwargs.pop("widget", None) or forms.Textarea(attrs=attrs)
        super().__init__(**{"required": False, "widget": widget, **kwargs})

    def clean(self, value: Any) -> dict[str, Any] | None:
        """Return the object, or None for an empty field."""
        text = super().clean(value)
        if not text:
            return None
        try:
            parsed = strict_json.parse(text)
        except ValueError as exc:
            raise ValidationError(f"This is not JSON: {exc}") from exc
        if not isinstance(parsed, dict):
            raise ValidationError('Metadata is a JSON object, such as {"topic": "travel"}.')
        return parsed

    def prepare_value(self, value: Any) -> Any:
        """Show an object as indented JSON and what was typed as it was typed."""
        if isinstance(value, dict):
            return json.dumps(value, ensure_ascii=False, indent=2)
        return value


class LiveIdField(IdField):
    """An id as a filter: the list follows while it is typed."""

    def __init__(
        self, *, placeholder: str, attrs: dict[str, str] | None = None, **kwargs: Any
    ) -> None:
        given = {"class": "live", "placeholder": placeholder, "autocomplete": "off"}
        super().__init__(**kwargs, widget=forms.TextInput(attrs=given | (attrs or {})))


class LiveTextField(forms.CharField):
    """Words as a filter: the list follows while they are typed."""

    def __init__(self, *, placeholder: str, **kwargs: Any) -> None:
        attrs = {
            "class": "live",
            "type": "search",
            "placeholder": placeholder,
            "data-find": "",
            "autocomplete": "off",
        }
        super().__init__(**{"required": False, "widget": forms.TextInput(attrs=attrs), **kwargs})

    def clean(self, value: Any) -> str | None:
        """Return the words or None."""
        words = super().clean(value)
        if len(words.encode()) > MAX_TEXT_BYTES:
            raise ValidationError(f"A filter has at most {MAX_TEXT_BYTES} bytes of UTF-8.")
        return words or None


class PickField(forms.ChoiceField):
    """A choice as a filter."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.Select(attrs={"class": "pick"})
        super().__init__(**{"required": False, "widget": widget, **kwargs})


class DayField(forms.DateField):
    """A local day as a filter."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.DateInput(attrs={"type": "date", "class": "pick"}, format="%Y-%m-%d")
        super().__init__(**{"required": False, "widget": widget, **kwargs})


class MetadataFilterField(MetadataField):
    """A metadata filter on one line."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"placeholder": '{"topic": "travel"}', "class": "mono", "autocomplete": "off"}
        super().__init__(**{"widget": forms.TextInput(attrs=attrs), **kwargs})


def start_of(day: Any) -> datetime | None:
    """Midnight of a local day."""
    return None if day is None else timezone.make_aware(datetime.combine(day, time.min))


def end_of(day: Any) -> datetime | None:
    """Midnight after a local day."""
    try:
        return None if day is None else start_of(day + timedelta(days=1))
    except OverflowError:
        return None


def is_time(text: str) -> bool:
    """Say whether a text is an ISO 8601 time, so that a record is sorted by it."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
