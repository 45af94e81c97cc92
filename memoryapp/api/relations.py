"""``/api/v1/relations``."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router, Status

from memoryapp.api.answers import RelationOut, RelationPageOut, count_out, relation_out
from memoryapp.api.requests import (
    ApiRequest,
    if_match,
    next_cursor,
    page_arguments,
    previous_cursor,
    set_etag,
)
from memoryapp.api.schemas import DeleteParameters, RelationIn, RelationParameters, RelationPatch
from memoryapp.services import relations
from memoryapp.services.relations import RelationFilters

router = Router(tags=["relations"])


@router.post("", response={201: RelationOut}, operation_id="add_relation")
def add_relation(
    request: ApiRequest, body: RelationIn, response: HttpResponse
) -> Status[RelationOut]:
    """Link two memories; `supersedes`, `refines` and `duplicates` make the target invalid."""
    relation_id = relations.add(
        request.auth,
        source_id=body.source_record_id,
        target_id=body.target_record_id,
        relation_type=body.relation_type,
        opposite_relation_type=body.opposite_relation_type,
        timestamp=body.timestamp,
        metadata=body.metadata,
        relation_id=body.id,
        reason=body.reason,
    )
    row = relations.get(request.auth, relation_id)
    set_etag(response, row)
    return Status(201, relation_out(row))


@router.get("", response=RelationPageOut, operation_id="list_relations")
def list_relations(request: ApiRequest, query: Query[RelationParameters]) -> RelationPageOut:
    """Return a page of relations, newest first; both memories are in the key's scope."""
    filters = RelationFilters(
        memory_id=query.memory_id, thread_id=query.thread_id, relation_type=query.relation_type
    )
    page = relations.list_page(request.auth, filters, **page_arguments(query.cursor, query.limit))
    return RelationPageOut(
        relations=[relation_out(row) for row in page.rows],
        count=count_out(relations.count(request.auth, filters)),
        next=next_cursor(page.older),
        previous=previous_cursor(page.newer),
    )


@router.get("/{id:relation_id}", response=RelationOut, operation_id="get_relation")
def get_relation(request: ApiRequest, relation_id: str, response: HttpResponse) -> RelationOut:
    """Return one relation."""
    row = relations.get(request.auth, relation_id)
    set_etag(response, row)
    return relation_out(row)


@router.patch("/{id:relation_id}", response=RelationOut, operation_id="update_relation")
def update_relation(
    request: ApiRequest, relation_id: str, body: RelationPatch, response: HttpResponse
) -> RelationOut:
    """Change the fields that are sent; with If-Match only if it is still the one read."""
    row = relations.update(
        request.auth,
        relation_id,
        **body.changes(),
        if_fingerprint=if_match(request),
        reason=body.reason,
    )
    set_etag(response, row)
    return relation_out(row)


@router.delete("/{id:relation_id}", response={204: None}, operation_id="delete_relation")
def delete_relation(
    request: ApiRequest, relation_id: str, query: Query[DeleteParameters]
) -> Status[None]:
    """Remove a relation; a memory that nothing else makes invalid is valid again."""
    relations.delete(
        request.auth, relation_id, if_fingerprint=if_match(request), reason=query.reason
    )
    return Status(204, None)
