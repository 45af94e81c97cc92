"""Every address of the product. Literal words stand before ids: "new" is a page, not an id."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as auth_views
from django.urls import include, path

import memoryapp.ids  # noqa: F401  # registers the converter before any route uses it
from memoryapp.views import (
    account,
    agents,
    changes,
    health,
    images,
    jobs,
    memories,
    messages,
    overview,
    relations,
    search,
    summaries,
    threads,
    users,
)

urlpatterns = [
    path("", overview.overview_page, name="overview"),
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    # --- signing in, the person's own account
    path("login/", auth_views.LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("account/", account.account_page, name="account"),
    path("account/password/", account.account_password, name="account-password"),
    # --- memories
    path("memories/", memories.memory_list, name="memory-list"),
    path("memories/new/", memories.memory_new, name="memory-new"),
    path("memories/<id:memory_id>/", memories.memory_detail, name="memory-detail"),
    path("memories/<id:memory_id>/edit/", memories.memory_edit, name="memory-edit"),
    path("memories/<id:memory_id>/status/", memories.memory_status, name="memory-status"),
    path("memories/<id:memory_id>/delete/", memories.memory_delete, name="memory-delete"),
    # --- threads and their messages
    path("threads/", threads.thread_list, name="thread-list"),
    path("threads/new/", threads.thread_new, name="thread-new"),
    path("threads/<id:thread_id>/", threads.thread_detail, name="thread-detail"),
    path("threads/<id:thread_id>/edit/", threads.thread_edit, name="thread-edit"),
    path("threads/<id:thread_id>/delete/", threads.thread_delete, name="thread-delete"),
    path("threads/<id:thread_id>/summary/", summaries.thread_summary, name="thread-summary"),
    path("threads/<id:thread_id>/messages/", messages.message_new, name="message-new"),
    path(
        "threads/<id:thread_id>/messages/<id:message_id>/",
        messages.message_detail,
        name="message-detail",
    ),
    path(
        "threads/<id:thread_id>/messages/<id:message_id>/edit/",
        messages.message_edit,
        name="message-edit",
    ),
    path(
        "threads/<id:thread_id>/messages/<id:message_id>/delete/",
        messages.message_delete,
        name="message-delete",
    ),
    # --- relations between memories
    path("relations/", relations.relation_list, name="relation-list"),
    path("relations/new/", relations.relation_new, name="relation-new"),
    path("relations/<id:relation_id>/", relations.relation_detail, name="relation-detail"),
    path("relations/<id:relation_id>/edit/", relations.relation_edit, name="relation-edit"),
    path("relations/<id:relation_id>/delete/", relations.relation_delete, name="relation-delete"),
    # --- images of users, agents, threads and messages
    path("images/", images.image_list, name="image-list"),
    path("images/new/", images.image_new, name="image-new"),
    path("images/<id:image_id>/", images.image_detail, name="image-detail"),
    path("images/<id:image_id>/bytes/", images.image_bytes, name="image-bytes"),
    path("images/<id:image_id>/thumbnail/", images.image_thumbnail, name="image-thumbnail"),
    path("images/<id:image_id>/edit/", images.image_edit, name="image-edit"),
    path("images/<id:image_id>/delete/", images.image_delete, name="image-delete"),
    # --- users and agents
    path("users/", users.user_list, name="user-list"),
    path("users/new/", users.user_new, name="user-new"),
    path("users/<id:user_id>/", users.user_detail, name="user-detail"),
    path("users/<id:user_id>/profile/", users.user_profile, name="user-profile"),
    path("agents/", agents.agent_list, name="agent-list"),
    path("agents/new/", agents.agent_new, name="agent-new"),
    path("agents/<id:agent_id>/", agents.agent_detail, name="agent-detail"),
    path("agents/<id:agent_id>/profile/", agents.agent_profile, name="agent-profile"),
    # --- search
    path("search/", search.search_page, name="search"),
    # --- background work, and the model that does it
    path("jobs/", jobs.job_list, name="job-list"),
    path("jobs/progress/", jobs.job_list_progress, name="job-list-progress"),
    path("jobs/llm/", jobs.llm_try, name="llm-try"),
    path("jobs/<id:job_id>/", jobs.job_detail, name="job-detail"),
    path("jobs/<id:job_id>/progress/", jobs.job_progress, name="job-progress"),
    path("jobs/<id:job_id>/retry/", jobs.job_retry, name="job-retry"),
    path("jobs/<id:job_id>/cancel/", jobs.job_cancel, name="job-cancel"),
    # --- what was changed
    path("changes/", changes.changes_page, name="change-list"),
    path("changes/outside/", changes.outside_page, name="change-outside"),
    # --- machines and operators
    path("api/", include("memoryapp.api.urls")),
    path("admin/", admin.site.urls),
]
