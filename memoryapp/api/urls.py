"""``/api/``: one API a version; everything else below is a 404 problem."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path, re_path
from django.views.decorators.csrf import csrf_exempt

from memoryapp.api.problems import NO_SUCH_PATH, problem
from memoryapp.api.v1 import api


@csrf_exempt
def not_found(request: HttpRequest) -> HttpResponse:
    """Answer an unknown path; exempt, or a POST there would be a CSRF failure."""
    return problem(404, NO_SUCH_PATH)


urlpatterns = [path("v1/", api.urls), re_path(r"", not_found)]
