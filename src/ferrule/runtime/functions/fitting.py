"""Fits a function to the definition it is bound to, and maps fields to parameters.

Every field needs a parameter, every required parameter needs a field that is always sent, and their types must
overlap. What a schema says beyond that is checked at every call anyway.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ferrule.errors import BindingError
from ferrule.model.hints import nearest
from ferrule.model.native_definition import LOGGER, entries_of
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.inject import is_config, map_parameters, to_python_name
from ferrule.runtime.functions.records import is_record, read_shape
from ferrule.runtime.functions.signature import ABSENT, FunctionParameter, strip_annotated
from ferrule.schema.references import SchemaReferences

_PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}


class Fit(NamedTuple):
    """The mapping from the fields of a tool to the parameters of its function."""

    renamed: dict[str, str]
    """Fields whose parameter has another name."""
    whole: str | None
    """The one parameter that gets everything: of a tool that takes a text instead of fields, or one marked `Arguments`."""
    known: frozenset[str] | None
    """The fields there are, where the schema allows more and the function does not; None when there is nothing to watch."""
    injected: dict[str, str] = {}  # noqa: RUF012  # never changed
    """Entries of the tool's `inject`, by the parameters that get them."""
    wraps: str = ""
    """The one member of the tool's result that the function returns bare: definitions of some formats give objects only."""


def fit(binding: Binding, tool: Tool) -> Fit:
    """Maps a tool's arguments to a function's parameters. Raises BindingError, which names both, when they do not
    fit."""
    if _takes_text_input(tool):
        return Fit({}, _find_only_parameter(binding, tool), None, _map_injected(binding, tool, {}))
    schema = msgspec.json.decode(tool.input_schema)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    fields: JsonObject = properties if isinstance(properties, dict) else {}
    required = schema.get("required", ()) if isinstance(schema, dict) else ()
    if binding.signature.whole is not None:
        return _fit_record(binding, tool, schema, binding.signature.whole)
    injected = _map_injected(binding, tool, fields)
    by_name = {each.name: each for each in binding.signature.parameters if each.name not in injected}
    renamed: dict[str, str] = {}
    for field, member in fields.items():
        parameter = _find_parameter(binding, tool, field, by_name)
        if parameter is not None:
            _refuse_other_type(binding, tool, field, member, parameter)
            if parameter.name != field:
                renamed[field] = parameter.name
    _refuse_unfed(binding, tool, fields, frozenset(required), renamed, injected)
    is_closed = isinstance(schema, dict) and schema.get("additionalProperties") is False
    known = None if is_closed or binding.signature.takes_more else frozenset(fields)
    return Fit(renamed, None, known, injected, _find_wrapper_member(binding, tool))


def _fit_record(binding: Binding, tool: Tool, schema: object, whole: str) -> Fit:
    """Fits a function that takes all fields as members of one record. Compares only plain schemas: a composed one may
    say more."""
    kind = strip_annotated(binding.signature.parameters[0].annotation)
    if is_record(kind) and isinstance(schema, dict) and _COMPOSING.isdisjoint(schema):
        fields, shape = schema.get("properties", {}), read_shape(kind)
        members = {each.name: each for each in shape.fields}
        for field, member in fields.items():
            if not isinstance(member, dict) or not _COMPOSING.isdisjoint(member):
                continue
            if field in members:
                _refuse_opposite_type(binding, tool, field, member, members[field].annotation)
            elif shape.rest is None:
                raise _misfit_error(binding, tool, f"{kind.__name__} has no member {field!r}; {_AGAIN}")
        for name, each in members.items():
            if each.is_required and name not in schema.get("required", ()):
                what = "may be left out" if name in fields else "is no field of the schema"
                raise _misfit_error(binding, tool, f"{kind.__name__} needs {name!r}, which {what}; {_AGAIN}")
    return Fit({}, whole, None, _map_injected(binding, tool, {}), "")


def _refuse_opposite_type(binding: Binding, tool: Tool, field: str, member: JsonObject, annotation: object) -> None:
    sent, taken = _list_types(member), _list_types(_make_schema(annotation))
    number = {"integer", "number"}
    if sent and taken and sent.isdisjoint(taken) and (sent.isdisjoint(number) or taken.isdisjoint(number)):
        raise _misfit_error(
            binding, tool, f"the field {field!r} is {' or '.join(sorted(sent))} and not {annotation}; {_AGAIN}"
        )


_COMPOSING = frozenset(
    [
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "dependentSchemas",
        "enum",
        "const",
    ]
)
_AGAIN = "run 'ferrule gen' again if it was generated"


def _find_wrapper_member(binding: Binding, tool: Tool) -> str:
    """Finds the one member of the output object that the function returns bare; empty when the function returns the
    object."""
    if binding.binds is None or tool.output_schema is None:
        return ""
    schema = msgspec.json.decode(tool.output_schema)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(properties) != 1 or schema.get("required") != list(properties):
        return ""
    returns = binding.signature.returns
    returned = frozenset() if returns is ABSENT else _list_types(_make_schema(returns))
    return next(iter(properties)) if "object" not in returned else ""


def _map_injected(binding: Binding, tool: Tool, fields: JsonObject) -> dict[str, str]:
    """Maps injected parameters to entries: by annotation, or by the names in the tool's `inject`."""
    entries, signature = entries_of(tool), binding.signature
    for name, entry in signature.injected.items():
        if entries is None and is_config(entry):
            raise _misfit_error(
                binding, tool, f"the parameter {name!r} wants {entry!r}, and only an ADL agent has a config"
            )
        parts = (*entries, LOGGER) if entries is not None else ()
        if entries is not None and not any(part == entry or part.startswith(f"{entry}.") for part in parts):
            what = f"the parameter {name!r} wants {entry!r}, which is not in the tool's `inject`"
            raise _misfit_error(binding, tool, f"{what}; add it there")
    if not entries:
        return signature.injected
    sent = {to_python_name(field) for field in fields} | fields.keys()
    names = map_parameters(entries)
    by_name = (parameter.name for parameter in signature.parameters if parameter.name not in sent)
    return signature.injected | {name: names[name] for name in by_name if name in names}


def _takes_text_input(tool: Tool) -> bool:
    payload = msgspec.json.decode(tool.payload)
    contract = payload.get("input_contract") if isinstance(payload, dict) else None
    return isinstance(contract, dict) and contract.get("argument_mode") == "text"


def _find_only_parameter(binding: Binding, tool: Tool) -> str:
    parameters = binding.signature.parameters
    needed = [parameter for parameter in parameters if parameter.default is ABSENT]
    if len(needed) > 1 or not parameters:
        raise _misfit_error(
            binding, tool, "the tool takes one text, so the function needs exactly one parameter for it"
        )
    return (needed or parameters)[0].name


def _find_parameter(
    binding: Binding, tool: Tool, field: str, by_name: dict[str, FunctionParameter]
) -> FunctionParameter | None:
    parameter = by_name.get(field) or by_name.get(to_python_name(field))
    if parameter is None and not binding.signature.takes_more:
        hint = nearest(field, by_name)
        what = f"the function has no parameter {to_python_name(field)!r} for the field {field!r}"
        raise _misfit_error(binding, tool, f"{what}; {hint or 'add one'}")
    return parameter


def _refuse_unfed(
    binding: Binding,
    tool: Tool,
    fields: JsonObject,
    required: frozenset[str],
    renamed: dict[str, str],
    injected: dict[str, str],
) -> None:
    fed = {renamed.get(field, field): field for field in fields}
    for parameter in binding.signature.parameters:
        if parameter.default is not ABSENT or parameter.name in injected:
            continue
        if parameter.name not in fed:
            what = f"the parameter {parameter.name!r} is no field of the schema"
            raise _misfit_error(
                binding, tool, f"{what}; {nearest(parameter.name, fields) or 'give it a default, or leave it out'}"
            )
        if fed[parameter.name] not in required:
            what = f"the field {fed[parameter.name]!r} may be left out, and the parameter {parameter.name!r} has no default"
            raise _misfit_error(binding, tool, f"{what}; give it one")


def _refuse_other_type(binding: Binding, tool: Tool, field: str, member: object, parameter: FunctionParameter) -> None:
    if parameter.annotation is ABSENT or not isinstance(member, dict):
        return
    sent, taken = _list_types(member), _list_types(_make_schema(parameter.annotation))
    # JSON Schema counts integers as numbers, so a float parameter takes them too.
    if "number" in taken:
        taken |= {"integer"}
    missing = sent - taken
    if sent and taken and missing:
        types = ", ".join(_PYTHON.get(word, "None") for word in sorted(missing))
        what = f"the field {field!r} may be {' or '.join(sorted(missing))}"
        raise _misfit_error(binding, tool, f"{what}, and the parameter {parameter.name!r} does not take {types}")


def _make_schema(annotation: object) -> JsonObject:
    """Makes the schema of a type; an empty one, which accepts anything, for a type without a JSON form."""
    try:
        (schema,), shared = msgspec.json.schema_components(
            [annotation], schema_hook=lambda _: {}, ref_template="#/{name}"
        )
    except (TypeError, ValueError, RecursionError):
        return {}
    return _expand_references(schema, SchemaReferences(shared))


def _expand_references(schema: JsonObject, references: SchemaReferences) -> JsonObject:
    if "$ref" in schema:
        return _expand_references(references.schema(schema["$ref"]) or {}, references)
    if "anyOf" in schema:
        return schema | {"anyOf": [_expand_references(form, references) for form in schema["anyOf"]]}
    return schema


def _list_types(schema: JsonObject) -> frozenset[str]:
    """Returns the JSON types a schema allows; empty when it does not say."""
    stated = schema.get("type")
    if isinstance(stated, str):
        return frozenset({stated})
    if isinstance(stated, list):
        return frozenset(word for word in stated if isinstance(word, str))
    forms = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(forms, list) and all(isinstance(form, dict) for form in forms):
        each = [_list_types(form) for form in forms]
        return frozenset().union(*each) if all(each) else frozenset()
    return frozenset()


def _misfit_error(binding: Binding, tool: Tool, what: str) -> BindingError:
    version = f"@{tool.version}" if tool.version else ""
    return BindingError(f"{binding.label} does not fit the tool {tool.tool_id}{version}: {what}")
