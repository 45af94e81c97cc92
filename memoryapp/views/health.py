"""``/livez`` and ``/readyz``: for a load balancer, without a login."""

from __future__ import annotations

import logging

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memoryapp.services import health

logger = logging.getLogger(__name__)


@login_not_required
@never_cache
@require_safe
def livez(request: HttpRequest) -> JsonResponse:
    """The process answers; asks nothing else, so that a slow database restarts nobody."""
    return JsonResponse({"status": "ok"})


@login_not_required
@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """The process can serve: its database is migrated and its store answers."""
    problem = health.find_problem()
    if problem is None:
        return JsonResponse({"status": "ok"})
    return JsonResponse({"status": "not ready", "problem": problem}, status=503)
