"""What the pages of users and agents share: lists, profiles and what belongs to an id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from memoryapp.access import Access
from memoryapp.forms.profiles import NewProfileForm, ProfileForm
from memoryapp.services import images, memories, profiles, threads
from memoryapp.services.lookup import cursors
from memoryapp.services.metadata import own_metadata
from memoryapp.views.page import PageRequest, form_page, posted, submitted
from oracleagentmemory.errors import ConflictError, InvalidInputError, NotFoundError
from oracleagentmemory.inspection import Actor, ActorPage

SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePages:
    """The pages of one noun over its service's functions."""

    noun: Literal["user", "agent"]
    list_page: Callable[..., ActorPage]
    get: Callable[[Access, str], Actor]
    add_profile: Callable[..., None]
    may_edit: Callable[[Access], bool]

    def list(self, request: PageRequest) -> HttpResponse:
        """Every id that a record carries, in the order of ids; ``?id=`` goes to one of them."""
        wanted = request.GET.get("id", "")
        if wanted and self._is_known(request, wanted):
            return redirect(f"{self.noun}-detail", wanted)
        page = self.list_page(request.access, **cursors(self.noun, request.GET))
        may_add = request.access.may_write and self.may_edit(request.access)
        return self._render(request, "list", {"page": page, "may_add": may_add, "wanted": wanted})

    def detail(self, request: PageRequest, record_id: str) -> HttpResponse:
        """Profile, newest threads and newest memories of one id."""
        scope: dict[str, Any] = {f"{self.noun}_id": record_id}
        context = {
            "actor": self.get(request.access, record_id),
            "image_count": images.count(request.access, images.ImageFilters(**scope)),
            "list_query": urlencode([(self.noun, record_id)]),
            "may_edit_profile": request.access.may_write and self.may_edit(request.access),
            "threads": threads.list_page(
                request.access, threads.ThreadFilters(**scope), limit=SHOWN
            ),
            "memories": memories.list_page(
                request.access, memories.MemoryFilters(**scope), limit=SHOWN
            ),
        }
        return self._render(request, "detail", context)

    def new(self, request: PageRequest) -> HttpResponse:
        """Add a profile for an id that has none."""
        request.access.require_write()
        form = NewProfileForm(posted(request))
        if request.method == "POST" and form.is_valid():
            record_id = form.cleaned_data["record_id"]
            if self._has_profile(request, record_id):
                form.add_error("record_id", f"This {self.noun} has a profile; edit that one.")
            elif self._stored(request, form, record_id):
                return redirect(f"{self.noun}-detail", record_id)
        return form_page(request, "memoryapp/profiles/new.html", self._context(), form)

    def profile(self, request: PageRequest, record_id: str) -> HttpResponse:
        """Add or edit the profile of an id; 409 when somebody else was faster."""
        request.access.require_write()
        actor = self.get(request.access, record_id)
        form = ProfileForm(posted(request), initial=self._initial(actor))
        context = {**self._context(), "actor": actor}
        try:
            if request.method == "POST" and self._stored(request, form, record_id):
                return redirect(f"{self.noun}-detail", record_id)
        except ConflictError:
            theirs = self.get(request.access, record_id)
            stored = profiles.fingerprint(self.noun, record_id)
            mine = ProfileForm({**request.POST.dict(), "fingerprint": stored})
            context |= {"actor": theirs, "theirs": theirs.profile, "form": mine}
            return render(request, "memoryapp/profiles/edit.html", context, status=409)
        return form_page(request, "memoryapp/profiles/edit.html", context, form)

    def _is_known(self, request: PageRequest, record_id: str) -> bool:
        try:
            self.get(request.access, record_id)
        except (NotFoundError, InvalidInputError):
            return False
        return True

    def _has_profile(self, request: PageRequest, record_id: str) -> bool:
        try:
            return self.get(request.access, record_id).profile is not None
        except NotFoundError:
            return False

    def _stored(self, request: PageRequest, form: ProfileForm, record_id: str) -> bool:
        is_new = isinstance(form, NewProfileForm)
        state = profiles.NO_PROFILE if is_new else form.data.get("fingerprint")

        def change(data: dict[str, Any]) -> bool:
            self.add_profile(
                request.access,
                record_id,
                data["information"],
                metadata=data["metadata"],
                if_fingerprint=state,
                reason=data["reason"],
            )
            return True

        stored = submitted(form, change) is True
        if stored:
            messages.success(request, "Profile saved.")
        return stored

    def _initial(self, actor: Actor) -> dict[str, Any]:
        if actor.profile is None:
            return {}
        return {
            "information": actor.profile.content,
            "metadata": own_metadata(actor.profile.metadata),
            "fingerprint": profiles.fingerprint(self.noun, actor.id),
        }

    def _context(self) -> dict[str, Any]:
        names = ("list", "detail", "new", "profile")
        return {
            "section": f"{self.noun}-list",
            "noun": self.noun,
            "urls": {name: f"{self.noun}-{name}" for name in names},
        }

    def _render(self, request: PageRequest, name: str, context: dict[str, Any]) -> HttpResponse:
        return render(request, f"memoryapp/profiles/{name}.html", {**self._context(), **context})
