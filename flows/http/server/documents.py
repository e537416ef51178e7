"""Parts of an OpenAPI document: schemas of objects, operations, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Kinds: TypeAlias = Mapping[str, str | dict[str, Any]]
"""The members of an object, each with its kind as :func:`schema_of` reads it, or its schema."""

JSON = "application/json"


def schema_of(kind: str | dict[str, Any]) -> dict[str, Any]:
    """The schema of ``integer``, ``integer?`` (or null), ``Player`` (a component), ``[Player]`` (a list of them)
    or ``{number}`` (an object of them).
    """
    if isinstance(kind, dict):
        return kind
    if kind[0] == "[":
        return {"type": "array", "items": schema_of(kind[1:-1])}
    if kind[0] == "{":
        return {"type": "object", "additionalProperties": schema_of(kind[1:-1])}
    name = kind.removesuffix("?")
    if not name[0].isupper():
        return {"type": name if name == kind else [name, "null"]}
    reference = {"$ref": f"#/components/schemas/{name}"}
    return reference if name == kind else {"oneOf": [reference, {"type": "null"}]}


def object_of(description: str, members: Kinds, further: Kinds | None = None) -> dict[str, Any]:
    """An object; ``further`` members are not in every answer."""
    properties = {name: schema_of(kind) for name, kind in (dict(members) | dict(further or {})).items()}
    return {"type": "object", "description": description, "required": list(members), "properties": properties}


def in_path(name: str, values: Sequence[str] = ()) -> dict[str, Any]:
    """A variable of a path: any text, or one of ``values``."""
    schema = {"type": "string", "enum": list(values)} if values else {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def operation(
    name: tuple[str, str], summary: str, parameters: list[dict[str, Any]], answers: dict[str, Any]
) -> dict[str, Any]:
    """An operation; ``name`` is its name and its tag."""
    return {
        "operationId": name[0],
        "tags": [name[1]],
        "summary": summary,
        "parameters": parameters,
        "responses": answers,
    }


def answer(description: str, media: tuple[str, ...], schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """An answer in some media types; ``schema`` is that of its JSON, by default any object."""
    content = {kind: {"schema": (schema or {"type": "object"}) if kind == JSON else {}} for kind in media}
    return {"description": description, "content": content}


def reference(schema: str) -> dict[str, Any]:
    """A component of the document by its name."""
    return {"$ref": f"#/components/schemas/{schema}"}


def problem(description: str) -> dict[str, Any]:
    """An answer that is an error."""
    return {"description": description, "content": {"application/problem+json": {"schema": reference("Problem")}}}


PROBLEM: Kinds = {"type": "string", "title": "string", "status": "integer", "detail": "string"}
"""The members of every error (RFC 9457)."""
