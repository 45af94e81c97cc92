"""The OpenAPI 3.1 document: ninja's, with every problem that an operation can answer."""

from __future__ import annotations

from typing import Any

from ninja import NinjaAPI
from pydantic import BaseModel, Field

from memoryapp.api.problems import MEDIA_TYPE

_METHODS = ("get", "post", "patch", "delete")
_DESCRIPTIONS = {
    "400": "The body is not valid JSON.",
    "401": "The key is missing, unknown, revoked or expired.",
    "403": "The key may not do this.",
    "404": "There is no such record in the key's scope.",
    "409": "A record with this id exists already, or the record is in no state for this.",
    "412": "The record has changed since it was read (If-Match).",
    "413": "The body is too large.",
    "422": "The input is not acceptable; `errors` names the fields.",
    "default": "Any other error.",
}
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The ETag of the record as read; it must still be the same.",
}
#: Operations that read one thing that has no fingerprint, since nobody edits it.
_WITHOUT_ETAG = {"get_job"}
_ETAG = {"ETag": {"description": "The record's fingerprint.", "schema": {"type": "string"}}}


class FieldProblem(BaseModel):
    """One field at fault."""

    in_: str = Field(alias="in", description="body, query or path")
    field: str
    message: str


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str = Field(description="Stable across releases.")
    errors: list[FieldProblem] = []


class MemoryAPI(NinjaAPI):
    """An API whose document names its problems, their media type, and the ETag headers."""

    def get_openapi_schema(self, **kwargs: Any) -> Any:
        """Return the document."""
        document = super().get_openapi_schema(**kwargs)
        schemas = document["components"]["schemas"]
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(problem.pop("$defs"))
        schemas["Problem"] = problem
        for path, methods in document["paths"].items():
            for method in _METHODS:
                if method in methods:
                    _complete(methods[method], method, path)
        return document


def _complete(operation: dict[str, Any], method: str, path: str) -> None:
    one_record = path.endswith("_id}")
    if one_record and method in ("patch", "delete"):
        operation["parameters"].append(_IF_MATCH)
    # ninja's keys are numbers: the same status as text would stand beside them.
    responses = {str(status): answer for status, answer in operation["responses"].items()}
    if one_record and method in ("get", "patch") and operation["operationId"] not in _WITHOUT_ETAG:
        responses["200"]["headers"] = _ETAG
    for status in _statuses(operation, method, path):
        responses[status] = {
            "description": _DESCRIPTIONS[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    operation["responses"] = responses


def _statuses(operation: dict[str, Any], method: str, path: str) -> list[str]:
    statuses = ["401", "422", "default"]
    if "{" in path:
        statuses.append("404")
    if method != "get":
        statuses.append("403")
    if "requestBody" in operation:
        statuses += ["400", "413"]
    if method == "post" and not path.endswith("/search"):
        statuses.append("409")
    if method in ("patch", "delete"):
        statuses.append("412")
    return statuses
