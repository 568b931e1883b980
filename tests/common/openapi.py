"""GitHub's published description of its REST API: it checks our requests and gives example answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

HOME = "urn:github"


class Contract:
    """The description, read from its file."""

    def __init__(self, path: Path) -> None:
        self.text = json.loads(path.read_text())

    def problems(self, verb: str, url: str, body: str) -> list[str]:
        """Returns the problems of a request, a line each: unknown path, query or field, or a value of a wrong type."""
        parts = urlsplit(url)
        operation, template = self._operation(verb, parts.path)
        if operation is None:
            return [f"{verb} {parts.path}: not in GitHub's API"]
        found = list(self._query(operation, dict(parse_qsl(parts.query))))
        return [f"{verb} {template}: {each}" for each in (*found, *self._body(operation, body))]

    def examples(self, verb: str, template: str, status: str = "200") -> list[Any]:
        """Returns the published answers of one operation."""
        content = self._resolved(self.text["paths"][template][verb.lower()]["responses"][status])["content"]
        return [self._value(each) for each in content["application/json"]["examples"].values()]

    def _operation(self, verb: str, path: str) -> tuple[Any, str]:
        for pattern, template in self._templates:
            operation = self.text["paths"][template].get(verb.lower())
            if operation is not None and pattern.fullmatch(path):
                return operation, template
        return None, ""

    @cached_property
    def _templates(self) -> list[tuple[re.Pattern[str], str]]:
        """Templates with fewer parameters come first, so that `/app` does not match `/{x}`."""
        ordered = sorted(self.text["paths"], key=lambda template: template.count("{"))
        return [(re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(each))), each) for each in ordered]

    def _query(self, operation: Any, asked: dict[str, str]) -> Iterator[str]:
        known = {each["name"]: each for each in map(self._resolved, operation.get("parameters", []))}
        for name, value in asked.items():
            schema = self._resolved(known.get(name, {}).get("schema", {}))
            if name not in known or known[name]["in"] != "query":
                yield f"no query parameter {name}"
            elif schema.get("type") == "integer" and not value.isdecimal():
                yield f"{name}={value} is no number"
            elif "enum" in schema and value not in schema["enum"]:
                yield f"{name}={value} is none of {schema['enum']}"

    def _body(self, operation: Any, body: str) -> Iterator[str]:
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if schema is None:
            if body and body != "null":
                yield "takes no body"
            return
        if not body and not operation["requestBody"].get("required"):
            return
        sent = json.loads(body or "null")
        for error in Draft202012Validator(_translated(schema), registry=self._registry).iter_errors(sent):
            yield f"{error.json_path}: {error.message[:200]}"
        known = self._resolved(schema).get("properties")
        if known and isinstance(sent, dict):
            yield from (f"no field {name}" for name in sent if name not in known)

    def _value(self, example: Any) -> Any:
        value = self._resolved(example)["value"]
        return self._value(value) if isinstance(value, dict) and "$ref" in value else value

    def _resolved(self, value: Any) -> Any:
        while isinstance(value, dict) and "$ref" in value:
            found: Any = self.text
            for step in value["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            value = found
        return value

    @cached_property
    def _registry(self) -> Registry[Any]:
        content = {"components": {"schemas": _translated(self.text["components"]["schemas"])}}
        return Registry().with_resource(HOME, Resource(contents=content, specification=DRAFT202012))


def _translated(schema: Any) -> Any:
    """Returns OpenAPI 3.0's schemas as JSON Schema: `nullable` is rewritten, and references name their file."""
    if isinstance(schema, list):
        return [_translated(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: _translated(value) for name, value in schema.items()}
    if isinstance(inner.get("$ref"), str):
        inner["$ref"] = HOME + inner["$ref"]
    return {"anyOf": [inner, {"type": "null"}]} if schema.get("nullable") is True else inner
