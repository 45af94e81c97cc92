"""Pages of users."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods, require_safe

from memoryapp.services import users
from memoryapp.views.page import PageRequest
from memoryapp.views.profiles import ProfilePages

PAGES = ProfilePages(
    noun="user",
    list_page=users.list_page,
    get=users.get,
    add_profile=users.add_profile,
    may_edit=lambda access: True,
)


@require_safe
def user_list(request: PageRequest) -> HttpResponse:
    """All users."""
    return PAGES.list(request)


@require_safe
def user_detail(request: PageRequest, user_id: str) -> HttpResponse:
    """One user with threads and memories."""
    return PAGES.detail(request, user_id)


@require_http_methods(["GET", "HEAD", "POST"])
def user_new(request: PageRequest) -> HttpResponse:
    """Add a profile."""
    return PAGES.new(request)


@require_http_methods(["GET", "HEAD", "POST"])
def user_profile(request: PageRequest, user_id: str) -> HttpResponse:
    """Edit a profile."""
    return PAGES.profile(request, user_id)
