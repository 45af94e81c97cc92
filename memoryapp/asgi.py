"""The same application for an ASGI server."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
application = get_asgi_application()

from memoryapp.memory import open_store  # noqa: E402

open_store()
