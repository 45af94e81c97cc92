"""Pages of changes."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryapp.services import change_list
from memoryapp.services.lookup import Kind, cursors
from memoryapp.views.page import PageRequest

SECTION = {"section": "change-list"}
KINDS = {"memory": "Memories", "message": "Messages", "thread": "Threads", "image": "Images"}


@require_safe
def changes_page(request: PageRequest) -> HttpResponse:
    """What was written through the product or its SDK, newest first."""
    page = change_list.list_page(request.access, **cursors("change", request.GET))
    return render(request, "memoryapp/changes/list.html", {**SECTION, "page": page})


@require_safe
def outside_page(request: PageRequest) -> HttpResponse:
    """What something else wrote, by ``?kind=``; compared in parts that ``before`` goes through."""
    asked = request.GET.get("kind")
    kind: Kind = next((one for one in change_list.KINDS if one == asked), "memory")
    before = cursors(kind, request.GET).get("before")
    page = change_list.outside_page(request.access, kind, before=before)
    context = {**SECTION, "page": page, "kind": kind, "kinds": KINDS.items()}
    return render(request, "memoryapp/changes/outside.html", context)
