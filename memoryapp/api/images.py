"""``/api/v1/images``."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query, Router, Status

from memoryapp.access import Access
from memoryapp.api.answers import ImageOut, ImagePageOut, count_out, image_out
from memoryapp.api.requests import (
    ApiRequest,
    if_match,
    next_cursor,
    own_agent,
    own_user,
    page_arguments,
    previous_cursor,
    set_etag,
)
from memoryapp.api.schemas import DeleteParameters, ImageIn, ImageParameters, ImagePatch
from memoryapp.pictures import known_picture, picture_response
from memoryapp.services import images
from memoryapp.services.images import NOT_SET, ImageFilters

router = Router(tags=["images"])

_FILE = {"schema": {"type": "string", "contentEncoding": "binary"}}
_BYTES = {
    "responses": {
        200: {
            "description": "The file as it was stored; send its ETag back as If-None-Match.",
            "content": dict.fromkeys(("image/png", "image/jpeg", "image/webp"), _FILE),
        }
    }
}


@router.post("", response={201: ImageOut}, operation_id="add_image")
def add_image(request: ApiRequest, body: ImageIn, response: HttpResponse) -> Status[ImageOut]:
    """Store an image of a user, an agent or a thread; its bytes stay as they are."""
    image_id = images.add(
        request.auth,
        data=body.bytes,
        mime_type=body.mime_type,
        description=body.description,
        **_owners(request.auth, body),
        timestamp=body.timestamp,
        metadata=body.metadata,
        image_id=body.id,
        ttl_days=body.ttl_days if "ttl_days" in body.model_fields_set else NOT_SET,
        reason=body.reason,
    )
    row = images.get(request.auth, image_id)
    set_etag(response, row)
    return Status(201, image_out(row))


def _owners(access: Access, body: ImageIn) -> dict[str, Any]:
    """A thread has its own user and agent; else those that a bound key stands for."""
    if body.thread_id is not None:
        return {
            "user_id": body.user_id,
            "agent_id": body.agent_id,
            "thread_id": body.thread_id,
        }
    return {
        "user_id": own_user(access, body.user_id),
        "agent_id": own_agent(access, body.agent_id),
    }


@router.get("", response=ImagePageOut, operation_id="list_images")
def list_images(request: ApiRequest, query: Query[ImageParameters]) -> ImagePageOut:
    """Return a page of images, newest first, those of messages among them."""
    filters = ImageFilters(
        user_id=query.user_id,
        agent_id=query.agent_id,
        thread_id=query.thread_id,
        since=query.since,
        until=query.until,
        metadata=query.metadata,
    )
    page = images.list_page(request.auth, filters, **page_arguments(query.cursor, query.limit))
    return ImagePageOut(
        images=[image_out(row) for row in page.rows],
        count=count_out(images.count(request.auth, filters)),
        next=next_cursor(page.older),
        previous=previous_cursor(page.newer),
    )


@router.get("/{id:image_id}", response=ImageOut, operation_id="get_image")
def get_image(request: ApiRequest, image_id: str, response: HttpResponse) -> ImageOut:
    """Return what is known of an image."""
    row = images.get(request.auth, image_id)
    set_etag(response, row)
    return image_out(row)


@router.get("/{id:image_id}/bytes", operation_id="get_image_bytes", openapi_extra=_BYTES)
def get_image_bytes(request: ApiRequest, image_id: str) -> HttpResponseBase:
    """Return the image itself."""
    row = images.get(request.auth, image_id)
    known = known_picture(request, images.etag(row))
    return known or picture_response(images.picture(request.auth, image_id), image_id)


@router.patch("/{id:image_id}", response=ImageOut, operation_id="update_image")
def update_image(
    request: ApiRequest, image_id: str, body: ImagePatch, response: HttpResponse
) -> ImageOut:
    """Change the fields that are sent; with If-Match only if it is still the one read."""
    changes = body.changes()
    if "bytes" in changes:
        changes["data"] = changes.pop("bytes")
    row = images.update(
        request.auth, image_id, **changes, if_fingerprint=if_match(request), reason=body.reason
    )
    set_etag(response, row)
    return image_out(row)


@router.delete("/{id:image_id}", response={204: None}, operation_id="delete_image")
def delete_image(
    request: ApiRequest, image_id: str, query: Query[DeleteParameters]
) -> Status[None]:
    """Delete an image; one of a message goes with that alone."""
    images.delete(request.auth, image_id, if_fingerprint=if_match(request), reason=query.reason)
    return Status(204, None)
