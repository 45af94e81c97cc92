"""Every address of the product."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from memoryapp.views import health

urlpatterns = [
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path("admin/", admin.site.urls),
]
