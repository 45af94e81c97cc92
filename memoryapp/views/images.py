"""Pages of images, and the pictures themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from memoryapp.access import Access
from memoryapp.forms.fields import is_time
from memoryapp.forms.images import EditImageForm, ImageFilterForm, NewImageForm
from memoryapp.forms.memories import ReasonForm
from memoryapp.pictures import known_picture, picture_response
from memoryapp.services import images
from memoryapp.services.lookup import cursors
from memoryapp.services.metadata import own_metadata
from memoryapp.views.page import PageRequest, form_page, posted, submitted, way_back
from oracleagentmemory.errors import ConflictError, InvalidInputError
from oracleagentmemory.inspection import Page, Row

SECTION = {"section": "image-list"}


@require_safe
def image_list(request: PageRequest) -> HttpResponse:
    """One page of images by ``?user= agent= thread= since= until= metadata=``."""
    form = ImageFilterForm(request.GET)
    page = _page(request, form)
    context: dict[str, Any] = {**SECTION, "form": form, "page": page}
    if page is not None:
        context["count"] = images.count(request.access, form.filters())
    status = 422 if page is None else 200
    return render(request, "memoryapp/images/list.html", context, status=status)


def _page(request: PageRequest, form: ImageFilterForm) -> Page | None:
    """Return the page, or None when a filter is refused."""
    if form.is_refused:
        return None
    try:
        return images.list_page(request.access, form.filters(), **cursors("image", request.GET))
    except InvalidInputError as error:
        form.add_error("metadata", str(error))
        return None


@require_safe
def image_detail(request: PageRequest, image_id: str) -> HttpResponse:
    """One image with all that is known of it."""
    row = images.get(request.access, image_id)
    return render(request, "memoryapp/images/detail.html", {**SECTION, "row": row})


@require_safe
def image_bytes(request: PageRequest, image_id: str) -> HttpResponseBase:
    """The picture as it was stored."""
    return _sent(request, image_id, images.picture)


@require_safe
def image_thumbnail(request: PageRequest, image_id: str) -> HttpResponseBase:
    """A small form of the picture."""
    return _sent(request, image_id, images.small_picture)


def _sent(
    request: PageRequest, image_id: str, read: Callable[[Access, str], images.Picture]
) -> HttpResponseBase:
    row = images.get(request.access, image_id)
    known = known_picture(request, images.etag(row))
    return known or picture_response(read(request.access, image_id), image_id)


@require_http_methods(["GET", "HEAD", "POST"])
def image_new(request: PageRequest) -> HttpResponse:
    """Add an image from a file; ``?user_id= agent_id= thread_id=`` fill the form in."""
    request.access.require_write()
    form = NewImageForm(posted(request), request.FILES or None, initial=request.GET.dict())
    if request.method == "POST":
        new_id = submitted(form, lambda data: images.add(request.access, **data))
        if new_id is not None:
            messages.success(request, "Image added.")
            return redirect("image-detail", new_id)
    context = {**SECTION, "next": way_back(request, "image-list")}
    return form_page(request, "memoryapp/images/new.html", context, form)


@require_http_methods(["GET", "HEAD", "POST"])
def image_edit(request: PageRequest, image_id: str) -> HttpResponse:
    """Edit what is said of an image; 409 with both versions when somebody else was faster."""
    request.access.require_write()
    row = images.get(request.access, image_id)
    form = EditImageForm(posted(request), initial=_initial(row))
    back = way_back(request, "image-detail", image_id)
    context = {**SECTION, "row": row, "next": back}
    if request.method == "POST":
        try:
            changed = submitted(form, lambda data: _update(request, image_id, data))
        except ConflictError:
            return _conflict(request, form, image_id, context)
        if changed is not None:
            messages.success(request, "Image saved.")
            return redirect(back)
    return form_page(request, "memoryapp/images/edit.html", context, form)


def _update(request: PageRequest, image_id: str, data: dict[str, Any]) -> Row:
    return images.update(
        request.access,
        image_id,
        description=data["description"],
        metadata=data["metadata"],
        timestamp=data["timestamp"],
        if_fingerprint=data["fingerprint"],
        reason=data["reason"],
    )


def _conflict(
    request: PageRequest, form: EditImageForm, image_id: str, context: dict[str, Any]
) -> HttpResponse:
    """Show theirs beside mine; sending the form again overwrites theirs."""
    theirs = images.get(request.access, image_id)
    sent = {**form.data.dict(), "fingerprint": theirs.fingerprint}  # type: ignore[attr-defined]
    mine = EditImageForm(sent, initial=form.initial)
    context = {**context, "row": theirs, "theirs": theirs, "form": mine}
    return render(request, "memoryapp/images/edit.html", context, status=409)


@require_http_methods(["GET", "HEAD", "POST"])
def image_delete(request: PageRequest, image_id: str) -> HttpResponse:
    """Ask, then delete; a part of a message can go with that alone, and the page says so."""
    request.access.require_write()
    row = images.get(request.access, image_id)
    form = ReasonForm(posted(request), initial={"fingerprint": row.fingerprint})
    if request.method == "POST":
        gone = submitted(form, lambda data: _delete(request, image_id, data))
        if gone is not None:
            messages.success(request, "Image deleted.")
            return redirect(_after_delete(request, image_id))
    context = {**SECTION, "row": row, "next": way_back(request, "image-detail", image_id)}
    return form_page(request, "memoryapp/images/delete.html", context, form)


def _delete(request: PageRequest, image_id: str, data: dict[str, Any]) -> bool:
    state = data["fingerprint"] or None
    images.delete(request.access, image_id, if_fingerprint=state, reason=data["reason"])
    return True


def _after_delete(request: PageRequest, image_id: str) -> str:
    """Return where the person came from, but not the page that is gone."""
    back = way_back(request, "image-list")
    gone = reverse("image-detail", args=(image_id,))
    return reverse("image-list") if back.split("?")[0] == gone else back


def _initial(row: Row) -> dict[str, Any]:
    shown = row.record.timestamp or ""
    # An image without a caller's time shows the time of its storing.
    is_given = not (row.effective_at == row.created_at and is_time(shown))
    return {
        "description": row.record.content,
        "metadata": own_metadata(row.record.metadata),
        "timestamp": shown if is_given else "",
        "fingerprint": row.fingerprint,
    }
