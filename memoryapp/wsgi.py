"""The web application, served by granian."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
application = get_wsgi_application()

# At start, never in a request: the first use of a store may have to create its tables.
from memoryapp.memory import open_store  # noqa: E402

open_store()
