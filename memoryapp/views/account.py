"""A person's own account."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memoryapp.forms.account import AccountForm, PasswordForm
from memoryapp.services import account
from memoryapp.views.page import PageRequest, form_page, posted

SECTION = {"section": "account"}


@require_http_methods(["GET", "HEAD", "POST"])
def account_page(request: PageRequest) -> HttpResponse:
    """Time zone and keys."""
    form = AccountForm(posted(request), instance=request.user)
    if request.method == "POST" and form.is_valid():
        account.save(request.access, form, request.user.username, fields=form.changed_data)
        messages.success(request, "Account saved.")
        return redirect("account")
    context = {**SECTION, "zone": timezone.get_current_timezone_name()}
    return form_page(request, "memoryapp/account/page.html", context, form)


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def account_password(request: PageRequest) -> HttpResponse:
    """A new password; other browsers are signed out."""
    form = PasswordForm(request.user, posted(request))
    if request.method == "POST" and form.is_valid():
        account.save(request.access, form, request.user.username, fields=["password"])
        update_session_auth_hash(request, request.user)
        messages.success(request, "Password changed.")
        return redirect("account")
    return form_page(request, "memoryapp/account/password.html", SECTION, form)
