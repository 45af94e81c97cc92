"""The OpenAPI document is valid, complete, and the one that the documentation speaks of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

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
from memoryapp.api.v1 import api as ninja_api
from tests.app.api.conftest import Api

METHODS = {"get", "post", "patch", "delete"}


@pytest.fixture
def document(db: None) -> dict[str, Any]:
    """The document as a caller without a key reads it."""
    answer = Api(None).get("/openapi.json")
    assert answer.status_code == 200
    return answer.json()


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (path, method): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_every_schema_is_valid_json_schema_of_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate({"$defs": document["components"]["schemas"], **schema})


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    names = set(re.findall(r"#/components/schemas/(\w+)", repr(document)))
    assert names
    assert names <= set(document["components"]["schemas"])


def test_every_operation_is_named_after_its_function(document: dict[str, Any]) -> None:
    functions = {
        operation.view_func.__name__
        for module in (
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
        for view in module.router.path_operations.values()
        for operation in view.operations
    }
    named = [operation["operationId"] for operation in operations(document).values()]
    assert sorted(named) == sorted(functions)


def test_every_operation_needs_the_key_and_documents_its_problems(
    document: dict[str, Any],
) -> None:
    scheme = document["components"]["securitySchemes"]["BearerKey"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    for (path, method), operation in operations(document).items():
        assert method in METHODS
        assert operation["security"] == [{"BearerKey": []}]
        errors = {s: r for s, r in operation["responses"].items() if not s.startswith("2")}
        assert {"401", "422", "default"} <= set(errors)
        assert ("404" in errors) == ("{" in path)
        for answer in errors.values():
            assert list(answer["content"]) == ["application/problem+json"]


def test_documentation_names_every_path(document: dict[str, Any]) -> None:
    text = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    for path in document["paths"]:
        assert f"`{path.removeprefix('/api/v1')}`" in text


def test_two_documents_in_a_row_are_equal() -> None:
    assert ninja_api.get_openapi_schema() == ninja_api.get_openapi_schema()
