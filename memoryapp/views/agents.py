"""Pages of agents."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods, require_safe

from memoryapp.services import agents
from memoryapp.views.page import PageRequest
from memoryapp.views.profiles import ProfilePages

PAGES = ProfilePages(
    noun="agent",
    list_page=agents.list_page,
    get=agents.get,
    add_profile=agents.add_profile,
    may_edit=lambda access: access.user_ids is None,
)


@require_safe
def agent_list(request: PageRequest) -> HttpResponse:
    """All agents."""
    return PAGES.list(request)


@require_safe
def agent_detail(request: PageRequest, agent_id: str) -> HttpResponse:
    """One agent with threads and memories."""
    return PAGES.detail(request, agent_id)


@require_http_methods(["GET", "HEAD", "POST"])
def agent_new(request: PageRequest) -> HttpResponse:
    """Add a profile."""
    return PAGES.new(request)


@require_http_methods(["GET", "HEAD", "POST"])
def agent_profile(request: PageRequest, agent_id: str) -> HttpResponse:
    """Edit a profile."""
    return PAGES.profile(request, agent_id)
