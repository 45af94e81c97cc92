"""The first page."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from memoryapp.services import overview
from memoryapp.views import charts
from memoryapp.views.page import PageRequest


@require_safe
def overview_page(request: PageRequest) -> HttpResponse:
    """Counts, activity by day, storage and the newest memories."""
    numbers = overview.get(request.access, now=timezone.now(), zone=timezone.get_current_timezone())
    figures = numbers.figures
    context = {
        "section": "overview",
        "zone": timezone.get_current_timezone_name(),
        "last_week": {
            "memories": sum(day.count for day in figures.memories_by_day[-7:]),
            "messages": sum(day.count for day in figures.messages_by_day[-7:]),
        },
        "overview": numbers,
        "memory_chart": charts.by_day(figures.memories_by_day),
        "message_chart": charts.by_day(figures.messages_by_day),
    }
    return render(request, "memoryapp/overview/page.html", context)
