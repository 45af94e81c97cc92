"""Version 1 of the HTTP API."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

import memoryapp.ids  # noqa: F401 - registers the path converter that the routers use
from memoryapp.api import (
    images,
    jobs,
    memories,
    messages,
    provenance,
    relations,
    search,
    summaries,
    threads,
)
from memoryapp.api.auth import BearerKey
from memoryapp.api.errors import add_handlers
from memoryapp.api.openapi import MemoryAPI
from memoryapp.services import strict_json

DESCRIPTION = (
    "Threads, messages, memories, relations, images, search and jobs. "
    "Every error is application/problem+json. "
    "In a path an id travels plain when it is made of letters, digits and '_ . : @ -', does not "
    "start with one of '. : @ -' and is no word of our paths; any id may travel as ~ and the "
    "unpadded base64url of its UTF-8. In JSON and in query strings ids are always plain."
)


class StrictParser(Parser):
    """JSON in UTF-8 that can be read in one way only."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the body's value."""
        return strict_json.parse(request.body)


api = MemoryAPI(
    title="Memory inspector",
    version="1",
    description=DESCRIPTION,
    urls_namespace="api-v1",
    docs_url=None,
    auth=BearerKey(),
    parser=StrictParser(),
)
add_handlers(api)
api.add_router("/threads", threads.router)
api.add_router("/threads", messages.router)
api.add_router("/threads", summaries.router)
api.add_router("/memories", memories.router)
api.add_router("", provenance.router)
api.add_router("/relations", relations.router)
api.add_router("/images", images.router)
api.add_router("/search", search.router)
api.add_router("/jobs", jobs.router)
