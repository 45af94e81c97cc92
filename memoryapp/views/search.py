"""The search page."""

from __future__ import annotations

import time

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryapp.forms.search import COMPARES, SearchForm
from memoryapp.services import search
from memoryapp.views.page import PageRequest
from oracleagentmemory.errors import AccessDeniedError, InvalidInputError
from oracleagentmemory.inspection import ANY

SECTION = {"section": "search"}


@require_safe
def search_page(request: PageRequest) -> HttpResponse:
    """Search by ``?q= user= agent= thread= by= types= k= invalid=``.

    Without ``q`` there is only the form.
    """
    if "q" not in request.GET:
        initial = {"types": search.RECORD_TYPES, "k": 10, "user": _only_user(request)}
        context = {**SECTION, "form": SearchForm(initial=initial)}
        return render(request, "memoryapp/search/page.html", context)
    given = request.GET.copy()
    given.setdefault("k", "10")
    if "types" not in given:
        given.setlist("types", list(search.RECORD_TYPES))
    form = SearchForm(given)
    started = time.perf_counter()
    answer = _answer(request, form)
    took_ms = (time.perf_counter() - started) * 1000
    context = {**SECTION, "form": form, "took_ms": took_ms}
    if answer is not None:
        context |= {"found": answer.found, "stages": answer.stages}
        context["compared"] = COMPARES[answer.strategy].lower()
    status = 422 if answer is None else 200
    return render(request, "memoryapp/search/page.html", context, status=status)


def _answer(request: PageRequest, form: SearchForm) -> search.Answer | None:
    """Return what was found, or None when form or service refuse the query."""
    if not form.is_valid():
        return None
    data = form.cleaned_data
    try:
        return search.search(
            request.access,
            data["q"],
            user_id=data["user"] or _only_user(request) or ANY,
            agent_id=data["agent"] or ANY,
            thread_id=data["thread"] or ANY,
            record_types=data["types"],
            max_results=data["k"] or 10,
            include_invalid=data["invalid"],
            strategy=data["by"] or None,
            explain=True,
        )
    except (InvalidInputError, AccessDeniedError) as error:
        form.add_error("user" if isinstance(error, AccessDeniedError) else None, str(error))
        return None


def _only_user(request: PageRequest) -> str | None:
    """The user of a person who may see just one."""
    visible = request.access.user_ids
    return next(iter(visible)) if visible is not None and len(visible) == 1 else None
