"""Pages of the messages of a thread."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from memoryapp.forms.threads import DeleteMessageForm, EditMessageForm, NewMessageForm
from memoryapp.ids import encode_tilde
from memoryapp.services import messages as thread_messages
from memoryapp.services import provenance, threads
from memoryapp.services.metadata import own_metadata
from memoryapp.views.page import PageRequest, form_page, note_running, posted, submitted
from memoryapp.views.threads import SECTION, end_of_thread, thread_context
from oracleagentmemory.errors import ConflictError


@require_http_methods(["GET", "HEAD", "POST"])
def message_new(request: PageRequest, thread_id: str) -> HttpResponse:
    """Append a message to a thread."""
    request.access.require_write()
    row = threads.get(request.access, thread_id)
    if request.method != "POST":
        return redirect(end_of_thread(thread_id))
    form = NewMessageForm(request.POST)
    new_ids = submitted(form, lambda data: thread_messages.add(request.access, thread_id, [data]))
    if new_ids is None:
        context = thread_context(request, thread_id, row, form)
        return render(request, "memoryapp/threads/detail.html", context, status=422)
    messages.success(request, "Message added.")
    return redirect(end_of_thread(thread_id))


@require_safe
def message_detail(request: PageRequest, thread_id: str, message_id: str) -> HttpResponse:
    """Go to a message within its thread."""
    row = thread_messages.get(request.access, thread_id, message_id)
    after_it = thread_messages.cursor_after(row)
    url = reverse("thread-detail", args=(thread_id,))
    url += f"?before={after_it}#message-{encode_tilde(message_id)}"
    if "HX-Request" in request.headers:  # a fetch follows redirects, but forgets the fragment
        return HttpResponse(headers={"HX-Redirect": url})
    return redirect(url)


@require_http_methods(["GET", "HEAD", "POST"])
def message_edit(request: PageRequest, thread_id: str, message_id: str) -> HttpResponse:
    """Edit text and metadata of a message; 409 when somebody else was faster."""
    request.access.require_write()
    row = thread_messages.get(request.access, thread_id, message_id)
    initial = {
        "content": thread_messages.text_of(row.record),
        "metadata": own_metadata(row.record.metadata),
        "fingerprint": row.fingerprint,
    }
    form = EditMessageForm(posted(request), initial=initial)
    context = {**SECTION, "row": row, "thread_id": thread_id}
    if request.method == "POST":
        try:
            changed = submitted(
                form,
                lambda data: thread_messages.update(
                    request.access,
                    thread_id,
                    message_id,
                    content=thread_messages.with_text(row.record, data["content"]),
                    metadata=data["metadata"],
                    if_fingerprint=data["fingerprint"],
                    reason=data["reason"],
                ),
            )
        except ConflictError:
            theirs = thread_messages.get(request.access, thread_id, message_id)
            mine = EditMessageForm({**request.POST.dict(), "fingerprint": theirs.fingerprint})
            context = {**context, "row": theirs, "theirs": theirs, "form": mine}
            return render(request, "memoryapp/threads/message_edit.html", context, status=409)
        if changed is not None:
            messages.success(request, "Message saved.")
            return redirect("thread-detail", thread_id)
    return form_page(request, "memoryapp/threads/message_edit.html", context, form)


@require_http_methods(["GET", "HEAD", "POST"])
def message_delete(request: PageRequest, thread_id: str, message_id: str) -> HttpResponse:
    """Ask, then delete a message; what it alone taught stays, unless they choose otherwise."""
    request.access.require_write()
    row = thread_messages.get(request.access, thread_id, message_id)
    taught = provenance.taught_by(request.access, message_id)
    initial = {"fingerprint": row.fingerprint, "going": len(taught.going)}
    form = DeleteMessageForm(posted(request), initial=initial)
    if request.method == "POST" and form.is_valid():
        running = thread_messages.delete(
            request.access,
            thread_id,
            message_id,
            derived=form.cleaned_data["derived"] or "keep",
            expected=form.cleaned_data["going"],
            if_fingerprint=form.cleaned_data["fingerprint"] or None,
            reason=form.cleaned_data["reason"],
        )
        both = form.cleaned_data["derived"] == "delete" and taught.going
        done = "Message and what it taught deleted." if both else "Message deleted."
        messages.success(request, f"{done}{note_running(running)}")
        return redirect("thread-detail", thread_id)
    context = {
        **SECTION,
        "row": row,
        "thread_id": thread_id,
        "taught": taught,
        "may_go": taught.going and not taught.out_of_reach,
    }
    return form_page(request, "memoryapp/threads/message_delete.html", context, form)
