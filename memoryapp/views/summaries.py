"""The summary and the context card of a thread's page."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from memoryapp.services import summaries
from memoryapp.views.page import PageRequest
from oracleagentmemory.errors import AccessDeniedError, AgentMemoryError, ConflictError, StateError


def summary_context(request: PageRequest, thread_id: str) -> dict[str, Any]:
    """What the page of a thread shows beside its newest messages.

    ``?card=on`` draws the card, which searches; where that fails, the page says why.
    """
    if request.GET.get("before") or request.GET.get("after"):
        return {}
    try:
        found: dict[str, Any] = {"summary": summaries.get(request.access, thread_id)}
    except AccessDeniedError:
        return {}
    if request.GET.get("card") == "on":
        try:
            found["card"] = summaries.context_card(request.access, thread_id)
        except AgentMemoryError as error:
            found["card_problem"] = str(error)
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def thread_summary(request: PageRequest, thread_id: str) -> HttpResponse:
    """Make the summary of a thread anew."""
    request.access.require_write()
    if request.method == "POST":
        try:
            summaries.refresh(request.access, thread_id)
        except (StateError, ConflictError) as error:
            messages.error(request, str(error).capitalize())
        else:
            messages.success(request, "Summary refreshed.")
    return redirect(reverse("thread-detail", args=(thread_id,)) + "#summary")
