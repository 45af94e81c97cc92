"""The web application, served by granian."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
_django = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer one request.

    Django takes a body without Content-Length for none at all, and what a client sent in chunks
    would be lost without a word. Such a body is read here, one byte beyond what is allowed, which
    is how Django then sees that it is too big.
    """
    if environ.get("HTTP_TRANSFER_ENCODING") and not environ.get("CONTENT_LENGTH"):
        body = environ["wsgi.input"].read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    answer: Iterable[bytes] = _django(environ, start_response)
    return answer


# At start, never in a request: the first use of a store may have to create its tables.
from memoryapp.memory import open_store  # noqa: E402

open_store()
