"""Pages of memories."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from memoryapp.forms.fields import is_time
from memoryapp.forms.memories import (
    EditMemoryForm,
    MemoryFilterForm,
    NewMemoryForm,
    ReasonForm,
    StatusForm,
)
from memoryapp.forms.relations import NewRelationForm
from memoryapp.services import memories, provenance, relations
from memoryapp.services.lookup import cursors
from memoryapp.services.metadata import own_metadata
from memoryapp.views import facets
from memoryapp.views.page import PageRequest, form_page, posted, submitted, way_back
from memoryapp.views.threads import IMAGES_SHOWN
from oracleagentmemory.errors import ConflictError, InvalidInputError, NotFoundError
from oracleagentmemory.inspection import Row

SECTION = {"section": "memory-list"}
RELATIONS_SHOWN = 20
SOURCES_SHOWN = 20


@require_safe
def memory_list(request: PageRequest) -> HttpResponse:
    """One page of memories by ``?q= user= type= agent= thread= since= until= metadata= status=``;

    ``?m=`` opens one of them in the drawer.
    """
    form = MemoryFilterForm(request.GET)
    page = _page(request, form)
    context: dict[str, Any] = {
        **SECTION,
        "form": form,
        "page": page,
        "drawer": _drawer(request),
    }
    if page is not None:
        context["facets"] = facets.of_memories(
            form, memories.facets(request.access, form.filters())
        )
    status = 422 if page is None else 200
    return render(request, "memoryapp/memories/list.html", context, status=status)


def _page(request: PageRequest, form: MemoryFilterForm) -> memories.MemoryPage | None:
    """Return the page, or None when a filter is refused."""
    if form.is_refused:
        return None
    try:
        return memories.list_page(request.access, form.filters(), **cursors("memory", request.GET))
    except InvalidInputError as error:
        # A store without a text index refuses the words.
        form.add_error("q" if str(error).startswith("text ") else "metadata", str(error))
        return None


def _drawer(request: PageRequest) -> Row | None:
    """Return the memory of ``?m=``; one that is gone leaves the drawer closed."""
    memory_id = request.GET.get("m")
    if not memory_id:
        return None
    try:
        return memories.get(request.access, memory_id)
    except (NotFoundError, InvalidInputError):
        return None


@require_safe
def memory_detail(request: PageRequest, memory_id: str) -> HttpResponse:
    """One memory with the messages that taught it, their images, and its relations."""
    row = memories.get(request.access, memory_id)
    origin = provenance.of_memory(request.access, row, limit=SOURCES_SHOWN)
    of_it = relations.RelationFilters(memory_id=memory_id)
    page = relations.list_page(request.access, of_it, limit=RELATIONS_SHOWN)
    context = {
        **SECTION,
        "row": row,
        "origin": origin,
        "images": provenance.images_of(request.access, row, origin, limit=IMAGES_SHOWN),
        "sees_all": request.access.user_ids is None,
        "relations": relations.seen_from(memory_id, page.rows),
        "more_relations": page.older is not None,
        "relation_types": relations.BUILT_IN_TYPES,
        "link_form": NewRelationForm(),
    }
    return render(request, "memoryapp/memories/detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def memory_new(request: PageRequest) -> HttpResponse:
    """Add a memory; ``?user_id= agent_id= thread_id=`` fill the form in."""
    request.access.require_write()
    form = NewMemoryForm(posted(request), initial=request.GET.dict())
    if request.method == "POST":
        new_id = submitted(form, lambda data: memories.add(request.access, **_stored(data)))
        if new_id is not None:
            messages.success(request, "Memory added.")
            return redirect("memory-detail", new_id)
    return form_page(request, "memoryapp/memories/new.html", SECTION, form)


@require_http_methods(["GET", "HEAD", "POST"])
def memory_edit(request: PageRequest, memory_id: str) -> HttpResponse:
    """Edit a memory; 409 with both versions when somebody else was faster."""
    request.access.require_write()
    row = memories.get(request.access, memory_id)
    form = EditMemoryForm(posted(request), initial=_initial(row))
    back = way_back(request, "memory-detail", memory_id)
    context = {**SECTION, "row": row, "next": back}
    if request.method == "POST":
        try:
            changed = submitted(form, lambda data: _update(request, memory_id, data))
        except ConflictError:
            return _conflict(request, form, memory_id, context)
        if changed is not None:
            messages.success(request, "Memory saved.")
            return redirect(back)
    return form_page(request, "memoryapp/memories/edit.html", context, form)


def _update(request: PageRequest, memory_id: str, data: dict[str, Any]) -> Row:
    return memories.update(
        request.access,
        memory_id,
        content=data["content"],
        metadata=data["metadata"],
        timestamp=data["timestamp"] or None,
        if_fingerprint=data["fingerprint"],
        reason=data["reason"],
    )


def _conflict(
    request: PageRequest, form: EditMemoryForm, memory_id: str, context: dict[str, Any]
) -> HttpResponse:
    """Show theirs beside mine; sending the form again overwrites theirs."""
    theirs = memories.get(request.access, memory_id)
    sent = {**form.data.dict(), "fingerprint": theirs.fingerprint}  # type: ignore[attr-defined]
    mine = EditMemoryForm(sent, initial=form.initial)
    context = {**context, "row": theirs, "theirs": theirs, "form": mine}
    return render(request, "memoryapp/memories/edit.html", context, status=409)


@require_http_methods(["GET", "HEAD", "POST"])
def memory_status(request: PageRequest, memory_id: str) -> HttpResponse:
    """Make a memory valid or invalid by hand."""
    request.access.require_write()
    row = memories.get(request.access, memory_id)
    if request.method != "POST":
        return redirect("memory-detail", memory_id)
    form = StatusForm(request.POST)
    if not form.is_valid():
        context = {**SECTION, "reason": "The status is valid or invalid."}
        return render(request, "422.html", context, status=422)
    status = form.cleaned_data["status"]
    memories.set_status(
        request.access,
        row.record.id,
        status,
        if_fingerprint=form.cleaned_data["fingerprint"] or None,
        reason=form.cleaned_data["reason"],
    )
    messages.success(request, f"Memory is {status} now.")
    return redirect(way_back(request, "memory-detail", memory_id))


@require_http_methods(["GET", "HEAD", "POST"])
def memory_delete(request: PageRequest, memory_id: str) -> HttpResponse:
    """Ask, then delete."""
    request.access.require_write()
    row = memories.get(request.access, memory_id)
    form = ReasonForm(posted(request), initial={"fingerprint": row.fingerprint})
    if request.method == "POST" and form.is_valid():
        memories.delete(
            request.access,
            memory_id,
            if_fingerprint=form.cleaned_data["fingerprint"] or None,
            reason=form.cleaned_data["reason"],
        )
        messages.success(request, "Memory deleted.")
        return redirect(_list_url(request))
    context = {**SECTION, "row": row, "next": way_back(request, "memory-detail", memory_id)}
    return form_page(request, "memoryapp/memories/delete.html", context, form)


def _list_url(request: PageRequest) -> str:
    """Return the list the person came from, else the plain one: the detail page is gone."""
    listed = reverse("memory-list")
    back = way_back(request, "memory-list")
    return back if back.split("?")[0] != request.path.removesuffix("delete/") else listed


def _initial(row: Row) -> dict[str, Any]:
    return {
        "content": row.record.content,
        "metadata": own_metadata(row.record.metadata),
        "timestamp": _given_timestamp(row),
        "fingerprint": row.fingerprint,
    }


def _given_timestamp(row: Row) -> str:
    """The time that a caller gave; a record without one shows the time of its storing."""
    shown = row.record.timestamp or ""
    return "" if row.effective_at == row.created_at and is_time(shown) else shown


def _stored(data: dict[str, Any]) -> dict[str, Any]:
    """The form's data as the service takes it: an empty time is none."""
    return {**data, "timestamp": data["timestamp"] or None}
