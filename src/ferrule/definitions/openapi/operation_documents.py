"""Turns an operation of any version into a 3.1 document of its own: the operation, and the schemas and schemes it needs."""

from __future__ import annotations

from typing import Any

from ferrule.definitions.openapi.read import METHODS, OpenApi
from ferrule.definitions.openapi.references import Broken, list_references
from ferrule.definitions.openapi.shape import Body, Media, Operation, OperationParameter, OperationResponse, read_object
from ferrule.model.value import JsonObject, Path
from ferrule.schema.merging import bounds_in_numbers
from ferrule.schema.pointers import escape_in_reference, unescape_step
from ferrule.schema.walk import map_members

VERSION = "3.1.1"
PREFIX = "#/components/schemas/"
_MOST_SCHEMAS = 150
"""More than these are left out; every tool carries a document of its own."""
_USUAL_STYLE = {"query": "form", "cookie": "form"}


def locate_operation(path: str, method: str) -> Path:
    """Returns the path of an operation in a document."""
    if method.lower() in (*METHODS, "query"):
        return ("paths", path, method.lower())
    return ("paths", path, "additionalOperations", method)


def insert_operation(item: JsonObject, method: str, operation: JsonObject) -> None:
    """Puts an operation into a path item."""
    if method.lower() in (*METHODS, "query"):
        item[method.lower()] = operation
    else:
        item.setdefault("additionalOperations", {})[method] = operation


def choose_version(method: str, operation: JsonObject) -> str:
    """Returns the version of OpenAPI that an operation needs: 3.1, unless it uses features of 3.2."""
    parameters = operation.get("parameters", ())
    is_newer = method.lower() not in METHODS or any(each.get("in") == "querystring" for each in parameters)
    return "3.2.0" if is_newer else VERSION


class ModernWriter:
    """Writes operations of one document in the words of 3.1."""

    def __init__(self, document: OpenApi) -> None:
        self._document = document
        self._is_old = document.version in ("2.0", "3.0")
        self._names: dict[str, str] = {}
        self._schemas: JsonObject = {}
        self._needs: dict[str, tuple[str, ...]] = {}
        self._within: tuple[str, ...] = ()

    def write_document(self, operation: Operation, server: str, schemes: tuple[str, ...]) -> JsonObject:
        """Returns a document with only this operation."""
        heading = operation.heading
        own = f"#/paths/{escape_in_reference(heading.template)}/{heading.method.lower()}"
        self._within = () if self._is_old else (f"{own}/requestBody/", f"{own}/responses/")
        written = self._write_operation(operation)
        made: JsonObject = {"openapi": choose_version(heading.method, written)}
        info = {"title": self._document.title or "API", "version": self._document.api_version or "1.0.0"}
        made["info"] = info
        if server:
            made["servers"] = [{"url": server}]
        item: JsonObject = {}
        insert_operation(item, heading.method, written)
        made["paths"] = {heading.template: item}
        components: JsonObject = {}
        schemas = self._collect_schemas(written)
        if schemas:
            components["schemas"] = schemas
        known, _ = self._document.security_schemes
        security = {name: self._write_scheme(known[name]) for name in schemes if isinstance(known.get(name), dict)}
        if security:
            components["securitySchemes"] = security
        if components:
            made["components"] = components
        return made

    def _write_operation(self, operation: Operation) -> JsonObject:
        heading = operation.heading
        made: JsonObject = {}
        for key, value in (
            ("operationId", heading.operation_id),
            ("summary", operation.summary),
            ("description", operation.description),
            ("tags", list(heading.tags)),
        ):
            if value:
                made[key] = value
        if operation.is_deprecated:
            made["deprecated"] = True
        if operation.docs_url:
            made["externalDocs"] = {"url": operation.docs_url}
        if operation.parameters:
            made["parameters"] = [self._write_parameter(each) for each in operation.parameters]
        if operation.body is not None:
            made["requestBody"] = self._write_body(operation.body)
        made["responses"] = {answer.status: self._write_answer(answer) for answer in operation.answers} or {
            "default": {"description": "What the service answers."}
        }
        if operation.security is not None:
            made["security"] = [dict(each) for each in operation.security]
        made |= {key: value for key, value in heading.value.items() if str(key).startswith("x-") and key != "x-ferrule"}
        return made

    def _write_parameter(self, parameter: OperationParameter) -> JsonObject:
        made: JsonObject = {"name": parameter.name, "in": parameter.place}
        if parameter.is_required:
            made["required"] = True
        if parameter.description:
            made["description"] = parameter.description
        if parameter.is_deprecated:
            made["deprecated"] = True
        if parameter.media_type:
            made["content"] = {parameter.media_type: {"schema": self.write_schema(parameter.schema)}}
            return made
        if parameter.style != _USUAL_STYLE.get(parameter.place, "simple") and parameter.style != "tabDelimited":
            made["style"] = parameter.style
        if parameter.explode != (parameter.style == "form"):
            made["explode"] = parameter.explode
        if parameter.is_reserved:
            made["allowReserved"] = True
        made["schema"] = self.write_schema(parameter.schema)
        if parameter.examples:
            made["example"] = parameter.examples[0]
        return made

    def _write_body(self, body: Body) -> JsonObject:
        made: JsonObject = {"description": body.description} if body.description else {}
        made["content"] = {media.media_type: self._write_media(media) for media in body.media}
        return {**made, "required": True} if body.is_required else made

    def _write_media(self, media: Media) -> JsonObject:
        made: JsonObject = {}
        if media.schema is not None:
            made["schema"] = self.write_schema(
                {"type": "array", "items": media.schema} if media.is_sequence else media.schema
            )
        if media.encoding:
            made["encoding"] = media.encoding
        if media.examples:
            made["example"] = media.examples[0]
        return made

    def _write_answer(self, answer: OperationResponse) -> JsonObject:
        made: JsonObject = {"description": answer.description or "The answer."}
        if answer.media:
            made["content"] = {media.media_type: self._write_media(media) for media in answer.media}
        if answer.headers:
            made["headers"] = {name: {"schema": {"type": "string"}} for name in answer.headers}
        return made

    def _write_scheme(self, scheme: JsonObject) -> JsonObject:
        if scheme.get("type") == "basic":
            return {"type": "http", "scheme": "basic"}
        if scheme.get("type") == "oauth2" and "flow" in scheme:
            flow = {"accessCode": "authorizationCode", "application": "clientCredentials"}.get(
                str(scheme["flow"]), str(scheme["flow"])
            )
            urls = {key: scheme[key] for key in ("authorizationUrl", "tokenUrl") if key in scheme}
            return {"type": "oauth2", "flows": {flow: {**urls, "scopes": read_object(scheme, "scopes")}}}
        return scheme

    def _collect_schemas(self, written: object) -> JsonObject:
        """Returns the schemas that a value refers to, and those they refer to."""
        wanted = [ref.removeprefix(PREFIX) for ref in list_references(written)]
        found: JsonObject = {}
        for name in wanted:  # grows while it is walked
            plain = unescape_step(name)
            if plain in found or plain not in self._schemas:
                continue
            if len(found) >= _MOST_SCHEMAS:
                found[plain] = {"description": "Left out here: there would be too many."}
                continue
            found[plain] = self._schemas[plain]
            wanted += self._needs[plain]
        return dict(sorted(found.items()))

    def write_schema(self, written: object) -> object:
        """Converts a schema to 3.1, with references to components only."""
        if not isinstance(written, dict):
            return written if isinstance(written, bool) else {}
        made: JsonObject = {}
        for key, value in written.items():
            if key == "$ref":
                made["$ref"] = self._write_reference(value)
            elif key == "discriminator":
                made[key] = self._write_discriminator(value)
            else:
                made[key] = map_members(key, value, lambda member, _: self.write_schema(member))
        if made.get("$ref") == "":
            del made["$ref"]
        return _modernize(made) if self._is_old else made

    def _write_discriminator(self, value: Any) -> Any:
        if isinstance(value, str):
            return {"propertyName": value}
        known = read_object(value, "mapping") if isinstance(value, dict) else {}
        if not known:
            return value
        written = {
            word: self._write_reference(ref) if isinstance(ref, str) and "/" in ref else ref
            for word, ref in known.items()
        }
        return {**value, "mapping": written}

    def _write_reference(self, ref: object) -> str:
        """Returns a reference to a component, or within the operation; nothing for one without a target."""
        if isinstance(ref, str) and ref.startswith(self._within):
            return ref
        try:
            target = self._document.references.follow(ref, ())
        except Broken:
            return ""
        name = self._names.get(target.key)
        if name is None:
            name, number = target.name or "Schema", 1
            while name in self._schemas:
                number += 1
                name = f"{target.name}{number}"
            self._names[target.key] = name
            # Registered before it is written: a recursive schema finds its own name here instead of recursing.
            self._schemas[name] = {}
            self._schemas[name] = made = self.write_schema(target.value)
            self._needs[name] = tuple(each.removeprefix(PREFIX) for each in list_references(made))
        return PREFIX + escape_in_reference(name)


def _modernize(schema: JsonObject) -> JsonObject:
    """Replaces keywords of 3.0 and 2.0 by those of 3.1."""
    is_nullable = schema.pop("nullable", False) is True or schema.pop("x-nullable", False) is True
    bounds_in_numbers(schema)
    if "example" in schema and "examples" not in schema:
        schema["examples"] = [schema.pop("example")]
    if schema.get("type") == "file":
        schema["type"], schema["format"] = "string", "binary"
    if not is_nullable:
        return schema
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
        return schema
    return {"anyOf": [schema, {"type": "null"}]}
