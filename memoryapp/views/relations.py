"""Pages of relations between memories."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from memoryapp.forms.memories import ReasonForm
from memoryapp.forms.relations import EditRelationForm, NewRelationForm, RelationFilterForm
from memoryapp.services import memories, relations
from memoryapp.services.lookup import cursors
from memoryapp.services.metadata import own_metadata
from memoryapp.views.page import PageRequest, form_page, posted, submitted, way_back
from oracleagentmemory.errors import ConflictError, InvalidInputError, NotFoundError
from oracleagentmemory.inspection import RelationPage, RelationRow, Row

SECTION = {"section": "relation-list", "relation_types": relations.BUILT_IN_TYPES}


@require_safe
def relation_list(request: PageRequest) -> HttpResponse:
    """One page of relations by ``?memory= thread= type=``."""
    form = RelationFilterForm(request.GET)
    page = _page(request, form)
    context: dict[str, Any] = {**SECTION, "form": form, "page": page}
    if page is not None:
        context["count"] = relations.count(request.access, form.filters())
    status = 422 if page is None else 200
    return render(request, "memoryapp/relations/list.html", context, status=status)


def _page(request: PageRequest, form: RelationFilterForm) -> RelationPage | None:
    """Return the page, or None when a filter is refused."""
    if form.is_refused:
        return None
    try:
        where = cursors("relation", request.GET)
        return relations.list_page(request.access, form.filters(), **where)
    except InvalidInputError as error:
        form.add_error(None, str(error))
        return None


@require_safe
def relation_detail(request: PageRequest, relation_id: str) -> HttpResponse:
    """One relation with both its memories."""
    row = relations.get(request.access, relation_id)
    return render(request, "memoryapp/relations/detail.html", {**SECTION, "row": row})


@require_http_methods(["GET", "HEAD", "POST"])
def relation_new(request: PageRequest) -> HttpResponse:
    """Link two memories; ``?source_id= target_id= relation_type=`` fill the form in."""
    request.access.require_write()
    form = NewRelationForm(posted(request), initial=request.GET.dict())
    if request.method == "POST":
        new_id = submitted(form, lambda data: relations.add(request.access, **data))
        if new_id is not None:
            messages.success(request, "Relation added.")
            return redirect(way_back(request, "relation-detail", new_id))
    source_id = form["source_id"].value() or ""
    context = {
        **SECTION,
        "source": _find(request, source_id),
        "next": way_back(request, "relation-list"),
        # Without one the new relation is shown, not the page that Cancel leads to.
        "given_next": request.POST.get("next") or request.GET.get("next") or "",
    }
    return form_page(request, "memoryapp/relations/new.html", context, form)


def _find(request: PageRequest, memory_id: str) -> Row | None:
    """Return the memory that a form starts from, if there is such a one."""
    try:
        return memories.get(request.access, memory_id) if memory_id else None
    except (NotFoundError, InvalidInputError):
        return None


@require_http_methods(["GET", "HEAD", "POST"])
def relation_edit(request: PageRequest, relation_id: str) -> HttpResponse:
    """Relabel a relation; 409 with both versions when somebody else was faster."""
    request.access.require_write()
    row = relations.get(request.access, relation_id)
    form = EditRelationForm(posted(request), initial=_initial(row))
    back = way_back(request, "relation-detail", relation_id)
    context = {**SECTION, "row": row, "next": back}
    if request.method == "POST":
        try:
            changed = submitted(form, lambda data: _update(request, relation_id, data))
        except ConflictError:
            return _conflict(request, form, relation_id, context)
        if changed is not None:
            messages.success(request, "Relation saved.")
            return redirect(back)
    return form_page(request, "memoryapp/relations/edit.html", context, form)


def _update(request: PageRequest, relation_id: str, data: dict[str, Any]) -> RelationRow:
    return relations.update(
        request.access,
        relation_id,
        relation_type=data["relation_type"],
        opposite_relation_type=data["opposite_relation_type"],
        timestamp=data["timestamp"],
        metadata=data["metadata"],
        if_fingerprint=data["fingerprint"],
        reason=data["reason"],
    )


def _conflict(
    request: PageRequest, form: EditRelationForm, relation_id: str, context: dict[str, Any]
) -> HttpResponse:
    """Show theirs beside mine; sending the form again overwrites theirs."""
    theirs = relations.get(request.access, relation_id)
    sent = {**form.data.dict(), "fingerprint": theirs.fingerprint}  # type: ignore[attr-defined]
    mine = EditRelationForm(sent, initial=form.initial)
    context = {**context, "row": theirs, "theirs": theirs, "form": mine}
    return render(request, "memoryapp/relations/edit.html", context, status=409)


@require_http_methods(["GET", "HEAD", "POST"])
def relation_delete(request: PageRequest, relation_id: str) -> HttpResponse:
    """Ask, then remove the relation; its memories stay."""
    request.access.require_write()
    row = relations.get(request.access, relation_id)
    form = ReasonForm(posted(request), initial={"fingerprint": row.fingerprint})
    if request.method == "POST" and form.is_valid():
        relations.delete(
            request.access,
            relation_id,
            if_fingerprint=form.cleaned_data["fingerprint"] or None,
            reason=form.cleaned_data["reason"],
        )
        messages.success(request, "Relation removed.")
        return redirect(_after_delete(request, relation_id))
    context = {**SECTION, "row": row, "next": way_back(request, "relation-detail", relation_id)}
    return form_page(request, "memoryapp/relations/delete.html", context, form)


def _after_delete(request: PageRequest, relation_id: str) -> str:
    """Return where the person came from, but not the page that is gone."""
    back = way_back(request, "relation-list")
    gone = reverse("relation-detail", args=(relation_id,))
    return reverse("relation-list") if back.split("?")[0] == gone else back


def _initial(row: RelationRow) -> dict[str, Any]:
    return {
        "relation_type": row.relation.relation_type,
        "opposite_relation_type": row.relation.opposite_relation_type,
        "metadata": own_metadata(row.relation.metadata),
        "timestamp": row.relation.timestamp or "",
        "fingerprint": row.fingerprint,
    }
