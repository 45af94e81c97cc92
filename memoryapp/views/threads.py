"""Pages of threads: the list and the thread itself."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from memoryapp.forms.memories import ReasonForm
from memoryapp.forms.threads import (
    EditThreadForm,
    NewMessageForm,
    NewThreadForm,
    ThreadFilterForm,
)
from memoryapp.services import images, provenance, relations, threads
from memoryapp.services import messages as thread_messages
from memoryapp.services.images import ImageFilters
from memoryapp.services.lookup import cursors
from memoryapp.services.metadata import own_metadata
from memoryapp.services.relations import RelationFilters
from memoryapp.views.page import PageRequest, form_page, note_running, posted, submitted, way_back
from memoryapp.views.summaries import summary_context
from oracleagentmemory.errors import ConflictError, InvalidInputError
from oracleagentmemory.inspection import Row

SECTION = {"section": "thread-list"}
MESSAGES_PER_PAGE = 50
RELATIONS_SHOWN = 10
IMAGES_SHOWN = 10


@require_safe
def thread_list(request: PageRequest) -> HttpResponse:
    """One page of threads by ``?user= agent= since= until= metadata=``."""
    form = ThreadFilterForm(request.GET)
    page = _page(request, form)
    context = {**SECTION, "form": form, "page": page}
    status = 422 if page is None else 200
    return render(request, "memoryapp/threads/list.html", context, status=status)


def _page(request: PageRequest, form: ThreadFilterForm) -> threads.ThreadPage | None:
    """Return the page, or None when a filter is refused."""
    if form.is_refused:
        return None
    try:
        return threads.list_page(request.access, form.filters(), **cursors("thread", request.GET))
    except InvalidInputError as error:
        form.add_error("metadata", str(error))
        return None


@require_safe
def thread_detail(request: PageRequest, thread_id: str) -> HttpResponse:
    """The messages of a thread, oldest first; the page opens at its end, ``?before=`` goes up."""
    row = threads.get(request.access, thread_id)
    return render(request, "memoryapp/threads/detail.html", thread_context(request, thread_id, row))


def thread_context(
    request: PageRequest, thread_id: str, row: Row, form: NewMessageForm | None = None
) -> dict[str, object]:
    """The context of a thread's page."""
    page = thread_messages.list_page(
        request.access,
        thread_id,
        **cursors("message", request.GET),
        limit=MESSAGES_PER_PAGE,
    )
    shown = [row.record.id for row in page.rows]
    inside = RelationFilters(thread_id=thread_id)
    return {
        **SECTION,
        **summary_context(request, thread_id),
        "row": row,
        "digest": threads.digest(request.access, thread_id),
        "relations": relations.list_page(request.access, inside, limit=RELATIONS_SHOWN),
        "images": images.list_page(
            request.access, ImageFilters(thread_id=thread_id), limit=IMAGES_SHOWN
        ),
        "page": page,
        "rows": list(reversed(page.rows)),
        "taught": provenance.of_messages(request.access, shown),
        "form": form or NewMessageForm(),
    }


@require_http_methods(["GET", "HEAD", "POST"])
def thread_new(request: PageRequest) -> HttpResponse:
    """Create a thread; ``?user_id=`` fills the form in."""
    request.access.require_write()
    form = NewThreadForm(posted(request), initial=request.GET.dict())
    if request.method == "POST":
        new_id = submitted(form, lambda data: threads.create(request.access, **data))
        if new_id is not None:
            messages.success(request, "Thread created.")
            return redirect("thread-detail", new_id)
    return form_page(request, "memoryapp/threads/new.html", SECTION, form)


@require_http_methods(["GET", "HEAD", "POST"])
def thread_edit(request: PageRequest, thread_id: str) -> HttpResponse:
    """Edit a thread's metadata; 409 when somebody else was faster."""
    request.access.require_write()
    row = threads.get(request.access, thread_id)
    initial = {"metadata": own_metadata(row.record.metadata), "fingerprint": row.fingerprint}
    form = EditThreadForm(posted(request), initial=initial)
    context = {**SECTION, "row": row}
    if request.method == "POST":
        try:
            changed = submitted(
                form,
                lambda data: threads.update(
                    request.access,
                    thread_id,
                    data["metadata"],
                    if_fingerprint=data["fingerprint"],
                    reason=data["reason"],
                ),
            )
        except ConflictError:
            theirs = threads.get(request.access, thread_id)
            mine = EditThreadForm({**request.POST.dict(), "fingerprint": theirs.fingerprint})
            context = {**SECTION, "row": theirs, "theirs": theirs, "form": mine}
            return render(request, "memoryapp/threads/edit.html", context, status=409)
        if changed is not None:
            messages.success(request, "Thread saved.")
            return redirect("thread-detail", thread_id)
    return form_page(request, "memoryapp/threads/edit.html", context, form)


@require_http_methods(["GET", "HEAD", "POST"])
def thread_delete(request: PageRequest, thread_id: str) -> HttpResponse:
    """Ask, then delete the thread with all that is in it."""
    request.access.require_write()
    row = threads.get(request.access, thread_id)
    form = ReasonForm(posted(request), initial={"fingerprint": row.fingerprint})
    if request.method == "POST" and form.is_valid():
        running = threads.delete(
            request.access,
            thread_id,
            if_fingerprint=form.cleaned_data["fingerprint"] or None,
            reason=form.cleaned_data["reason"],
        )
        messages.success(request, f"Thread deleted.{note_running(running)}")
        return redirect("thread-list")
    context = {
        **SECTION,
        "row": row,
        "digest": threads.digest(request.access, thread_id),
        "image_count": images.count(request.access, ImageFilters(thread_id=thread_id)),
        "next": way_back(request, "thread-detail", thread_id),
    }
    return form_page(request, "memoryapp/threads/delete.html", context, form)


def end_of_thread(thread_id: str) -> str:
    """The address of a thread's newest message."""
    return reverse("thread-detail", args=(thread_id,)) + "#end"
