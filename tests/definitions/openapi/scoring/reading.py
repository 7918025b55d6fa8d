"""What a document asks of a request, operation by operation. One shape for Swagger 2 and OpenAPI 3; made for the checks alone.

Nothing here is shared with the importer: two readings of the specification that agree are worth more than one.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import UnknownType, best_match  # type: ignore[import-untyped]
from referencing.exceptions import Unresolvable

from tests.definitions.openapi.scoring.documents import METHODS

_PLACE = re.compile(r"\{([^{}]+)\}")
_COLLECTIONS = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}


class Operation(NamedTuple):
    """One operation, references followed."""

    method: str
    template: str
    bases: tuple[str, ...]
    """The paths of its servers."""
    parameters: list[dict[str, Any]]
    body: dict[str, Any] | None
    responses: dict[str, Any]
    security: list[dict[str, Any]]

    @property
    def label(self) -> str:
        return f"{self.method} {self.template}"

    def matched(self, path: str) -> dict[str, str] | None:
        """What stands in the places of the path, not decoded; None for another path."""
        for base in self.bases:
            wanted, given = f"{base}{self.template}".split("/"), path.split("/")
            if len(wanted) != len(given):
                continue
            found: dict[str, str] = {}
            for piece, text in zip(wanted, given, strict=True):
                if not _match_segment(piece, text, found):
                    break
            else:
                return found
        return None


class Reading:
    """A document, and how its schemas judge values."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.is_swagger = str(document.get("swagger", "")) == "2.0"
        self.document = document
        whole = copy.deepcopy(document)
        self._requests = _judged(whole, document, hidden="readOnly")
        self._responses = _judged(whole, document, hidden="writeOnly")
        self._validators: dict[tuple[str, bool], Any] = {}
        self.operations = sorted(self._read(), key=lambda operation: operation.template.count("{"))
        components = document.get("components") or {}
        schemes = document.get("securityDefinitions") or components.get("securitySchemes") or {}
        self.schemes: dict[str, Any] = schemes if isinstance(schemes, dict) else {}

    def resolve(self, ref: str) -> Any:
        return _pointed(self.document, ref)

    def resolve_answer(self, ref: str) -> Any:
        """The same in what is judged: for samples of answers."""
        return _pointed(self._responses, ref)

    def judged(self, schema: Any) -> Any:
        """A schema as samples of answers are made from it."""
        return _judged(copy.deepcopy(schema), self.document, hidden="writeOnly")

    def followed(self, value: Any) -> Any:
        """An object, behind its references."""
        for _ in range(50):
            if not (isinstance(value, dict) and isinstance(value.get("$ref"), str)):
                return value
            rest = {key: inner for key, inner in value.items() if key in ("description", "summary")}
            target = self.resolve(value["$ref"])
            value = {**target, **rest} if isinstance(target, dict) else target
        return value

    def flat(self, schema: Any) -> dict[str, Any]:
        """A schema without references and `allOf` at its top."""
        found = self.followed(schema)
        if not isinstance(found, dict):
            return {}
        if "allOf" not in found:
            return found
        made = {key: value for key, value in found.items() if key != "allOf"}
        for part in found["allOf"]:
            inner = self.flat(part)
            made = {
                **inner,
                **made,
                "properties": {**(inner.get("properties") or {}), **(made.get("properties") or {})},
            }
        return made if made["properties"] else {key: value for key, value in made.items() if key != "properties"}

    def fits(self, value: Any, schema: Any) -> bool:
        return self.fault(value, schema) is None

    def fault(self, value: Any, schema: Any, *, is_answer: bool = False) -> str | None:
        """Why a value does not fit a schema of the document."""
        key = (repr(schema), is_answer)
        if key not in self._validators:
            root = self._responses if is_answer else self._requests
            own = _judged(copy.deepcopy(schema), self.document, hidden="writeOnly" if is_answer else "readOnly")
            whole = {**{name: inner for name, inner in root.items() if name in _HOMES}, "allOf": [own]}
            self._validators[key] = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
        try:
            error = best_match(self._validators[key].iter_errors(value))
        except (Unresolvable, UnknownType, RecursionError, TypeError) as problem:  # of a broken document
            return f"the schema cannot be used: {type(problem).__name__}"
        return None if error is None else f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"

    def _read(self) -> Iterator[Operation]:
        paths = self.document.get("paths")
        for template, written in (paths if isinstance(paths, dict) else {}).items():
            try:
                item = self.followed(written)
            except (KeyError, TypeError, ValueError):
                continue
            if not isinstance(item, dict) or not template.startswith("/"):
                continue
            found = {method: item[method] for method in METHODS if isinstance(item.get(method), dict)}
            found |= item.get("additionalOperations") or {}
            for method, operation in found.items():
                try:
                    yield self._operation(method.upper(), template, item, operation)
                except (KeyError, TypeError, ValueError, AttributeError):  # of a broken document: nobody can call it
                    continue

    def _operation(self, method: str, template: str, item: dict[str, Any], operation: dict[str, Any]) -> Operation:
        parameters: dict[tuple[str, str], dict[str, Any]] = {}
        for each in (*(item.get("parameters") or ()), *(operation.get("parameters") or ())):
            found = self.followed(each)
            if isinstance(found, dict) and "name" in found and "in" in found:
                parameters[found["name"], found["in"]] = found
        body = self.followed(operation.get("requestBody"))
        listed = list(parameters.values())
        if self.is_swagger:
            listed, body = self._swagger(listed, operation)
        security = operation.get("security", self.document.get("security", []))
        return Operation(
            method,
            template,
            self._bases(item, operation),
            listed,
            body if isinstance(body, dict) else None,
            operation.get("responses") or {},
            security if isinstance(security, list) else [],
        )

    def _bases(self, item: dict[str, Any], operation: dict[str, Any]) -> tuple[str, ...]:
        if self.is_swagger:
            return (str(self.document.get("basePath") or "").rstrip("/"),)
        servers = operation.get("servers") or item.get("servers") or self.document.get("servers") or [{"url": "/"}]
        servers = servers if isinstance(servers, list) else [{"url": "/"}]
        urls = [_filled(server["url"], server.get("variables") or {}) for server in servers]
        return tuple(dict.fromkeys(urlsplit(url).path.rstrip("/") for url in urls))

    def _swagger(
        self, parameters: list[dict[str, Any]], operation: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Parameters and body of Swagger 2 as OpenAPI 3 has them."""
        consumes = operation.get("consumes") or self.document.get("consumes") or []
        plain: list[dict[str, Any]] = []
        form: dict[str, dict[str, Any]] = {}
        body: dict[str, Any] | None = None
        for each in parameters:
            if each["in"] == "body":
                media = consumes or ["application/json"]
                content = {kind: {"schema": each.get("schema", {})} for kind in media}
                body = {"required": each.get("required", False), "content": content}
            elif each["in"] == "formData":
                form[each["name"]] = each
            else:
                plain.append(_with_schema(each))
        if form:
            body = _form(form, consumes)
        return plain, body


_HOMES = ("components", "definitions", "paths", "parameters", "responses", "$defs")


def _filled(url: str, variables: dict[str, Any]) -> str:
    """An address with the defaults of its variables."""
    for name in _PLACE.findall(url):
        url = url.replace(f"{{{name}}}", str((variables.get(name) or {}).get("default", "")))
    return url


def _with_schema(parameter: dict[str, Any]) -> dict[str, Any]:
    style, explode = _COLLECTIONS.get(parameter.get("collectionFormat", "csv"), ("form", False))
    more = (
        {"style": style, "explode": explode} if parameter["in"] == "query" and parameter.get("type") == "array" else {}
    )
    schema = {key: value for key, value in parameter.items() if key not in ("name", "in", "required", "description")}
    return {**{key: parameter[key] for key in ("name", "in", "required") if key in parameter}, "schema": schema, **more}


def _form(form: dict[str, dict[str, Any]], consumes: list[str]) -> dict[str, Any]:
    has_file = any(each.get("type") == "file" for each in form.values())
    kinds = [kind for kind in consumes if kind in ("multipart/form-data", "application/x-www-form-urlencoded")]
    media = ["multipart/form-data"] if has_file else kinds or ["application/x-www-form-urlencoded"]
    made = {name: _with_schema({**each, "in": "query"}) for name, each in form.items()}
    schema = {
        "type": "object",
        "properties": {
            name: {"type": "string", "format": "binary"} if form[name].get("type") == "file" else each["schema"]
            for name, each in made.items()
        },
        "required": [name for name, each in form.items() if each.get("required")],
    }
    encoding = {
        name: {key: each[key] for key in ("style", "explode")} for name, each in made.items() if "style" in each
    }
    return {
        "required": bool(schema["required"]),
        "content": {kind: {"schema": schema, "encoding": encoding} for kind in media},
    }


def _match_segment(piece: str, text: str, found: dict[str, str]) -> bool:
    names = _PLACE.findall(piece)
    if not names:
        return unquote(piece) == unquote(text)
    literals = _PLACE.split(piece)[::2]
    pattern = re.escape(literals[0]) + "".join(f"(.+?){re.escape(literal)}" for literal in literals[1:])
    match = re.fullmatch(pattern, text)
    if match is None:
        return False
    found.update(zip(names, match.groups(), strict=True))
    return True


def _pointed(value: Any, ref: str) -> Any:
    if not ref.startswith("#"):
        raise KeyError(ref)
    for step in filter(None, ref[1:].split("/")):
        step = unquote(step).replace("~1", "/").replace("~0", "~")
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def _judged(value: Any, document: dict[str, Any], *, hidden: str) -> Any:
    """Schemas as JSON Schema has them: `nullable` and discriminators in its words, and without what the other side alone
    writes."""
    if isinstance(value, list):
        return [_judged(inner, document, hidden=hidden) for inner in value]
    if not isinstance(value, dict):
        return value
    made = {key: _judged(inner, document, hidden=hidden) for key, inner in value.items()}
    is_old = not str(document.get("openapi", "")).startswith(("3.1", "3.2"))
    if is_old and isinstance(made.get("$ref"), str):
        return {"$ref": made["$ref"]}
    for low, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if made.get(low) is True and bound in made:
            made[low] = made.pop(bound)
        elif isinstance(made.get(low), bool):
            del made[low]
    made = _with_discriminator(made, document)
    properties = made.get("properties")
    if isinstance(properties, dict):
        secret = [name for name, inner in properties.items() if isinstance(inner, dict) and inner.get(hidden) is True]
        made["properties"] = {**properties, **dict.fromkeys(secret, False)}
        if secret and isinstance(made.get("required"), list):
            made["required"] = [name for name in made["required"] if name not in secret]
    if is_old and (made.get("nullable") is True or made.get("x-nullable") is True):
        made = {key: inner for key, inner in made.items() if key not in ("nullable", "x-nullable")}
        return {"anyOf": [{"type": "null"}, made]}
    return made


def _with_discriminator(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    said = schema.get("discriminator")
    word = next((word for word in ("oneOf", "anyOf") if isinstance(schema.get(word), list)), None)
    if not isinstance(said, dict) or "propertyName" not in said or word is None:
        return schema
    branches = []
    for branch in schema[word]:
        ref = branch.get("$ref", "")
        mapped = said.get("mapping") or {}
        names = [name for name, target in mapped.items() if ref in (target, f"#/components/schemas/{target}")]
        fixed = {"properties": {said["propertyName"]: {"enum": names or [ref.rpartition("/")[2]]}}}
        branches.append({"allOf": [branch, {**fixed, "required": [said["propertyName"]]}]})
    return {**schema, word: branches}
