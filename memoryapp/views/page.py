"""What views share: the typed request, the way back, forms that call a service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from memoryapp.access import Access
from memoryapp.models import Person
from oracleagentmemory.errors import (
    ConflictError,
    DuplicateIdError,
    InvalidInputError,
    NotFoundError,
)

Result = TypeVar("Result")
SENT_TWICE = "This form was sent before and is stored. Send it again to store it once more."


class PageRequest(HttpRequest):
    """A request of a signed-in person, as the middleware makes it."""

    user: Person
    access: Access


def way_back(request: HttpRequest, url_name: str, *args: str) -> str:
    """Return where the person came from (``next``), if it is ours, else the named page."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    if url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return target
    return reverse(url_name, args=args)


def posted(request: HttpRequest) -> QueryDict | None:
    """Return what was sent, which may be nothing at all; None for a page that is only opened."""
    return request.POST if request.method == "POST" else None


def submitted(form: forms.Form, change: Callable[[dict[str, Any]], Result]) -> Result | None:
    """Call ``change`` with the form's data; None when the form or the service refuses it.

    A refusal is then among the form's errors. Conflicts are left to the caller.
    """
    if not form.is_valid():
        return None
    try:
        return change(form.cleaned_data)
    except ConflictError:
        raise
    except DuplicateIdError as error:
        sent_twice = form.data.get("once") and form.data["once"] in str(error)
        form.add_error(None, SENT_TWICE if sent_twice else str(error))
        return None
    except (InvalidInputError, NotFoundError) as error:
        form.add_error(None, str(error))
        return None


def form_page(
    request: HttpRequest, template: str, context: dict[str, Any], form: forms.BaseForm
) -> HttpResponse:
    """Show a form: 422 when it was sent and refused."""
    status = 422 if form.is_bound and form.errors else 200
    return render(request, template, {**context, "form": form}, status=status)


def note_running(job_ids: Sequence[str]) -> str:
    """Return what a person who deletes is told of jobs that still run on what is gone."""
    if not job_ids:
        return ""
    jobs = "A job that read it still runs" if len(job_ids) == 1 else "Jobs that read it still run"
    return f" {jobs}; nothing that comes of it is stored."
