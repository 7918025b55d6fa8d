"""Explains invalid arguments to the model that sent them: which field, what is wrong with it, what to change.

Never names a sensitive value or an internal field. The wording is ours; the validator only says where and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ferrule.model.hints import nearest
from ferrule.model.value import JsonObject, Path, dig, format_path
from ferrule.runtime.redaction.sensitive_input import Mask
from ferrule.schema.internal_fields import InternalFields
from ferrule.schema.schema_view import SchemaView, json_type

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError


MAX_PROBLEMS = 5
"""The most problems in one message."""
_MAX_VALUES = 12
_MAX_CHARS = 60
_A = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_LIMITS = {
    "minimum": "must be {limit} or more",
    "maximum": "must be {limit} or less",
    "exclusiveMinimum": "must be more than {limit}",
    "exclusiveMaximum": "must be less than {limit}",
    "minLength": "must have at least {limit} characters",
    "maxLength": "must have at most {limit} characters",
    "minItems": "must have at least {limit} members",
    "maxItems": "must have at most {limit} members",
    "minProperties": "must have at least {limit} fields",
    "maxProperties": "must have at most {limit} fields",
    "multipleOf": "must be a multiple of {multiple_of}",
}
_PLAIN = {
    "uniqueItems": "must not have the same member twice",
    "contains": "lacks a member that has to be in it",
    "not": "has a form that is not allowed",
    "falseSchema": "is not allowed; leave it out",
    "propertyNames": "has a field whose name is not allowed",
}


class Complaint(NamedTuple):
    """One problem of the arguments."""

    path: Path
    """The path from the root of the arguments; of a missing field, where it would be."""
    text: str


class Complaints:
    """The explanations for the arguments of one tool."""

    __slots__ = ("_internal", "_mask", "_name", "_view")

    def __init__(self, name: str, view: SchemaView, mask: Mask | None, internal: InternalFields) -> None:
        self._name = name
        self._view = view
        self._mask = mask
        self._internal = internal

    def explain_whole(self, problem: str) -> str:
        """Builds the message for a problem of the arguments as a whole: a sentence part that begins with "they"."""
        return f"the arguments of {self._name!r} cannot be used: {problem}"

    def explain_errors(self, errors: Iterable[ValidationError]) -> str:
        """Builds one message from the first few of a validator's errors."""
        told: dict[str, None] = {}
        more = 0
        for error in errors:
            if len(told) >= MAX_PROBLEMS:
                more += 1
            else:
                told.update((complaint.text, None) for complaint in self._list_for_error(error))
        lines = list(told)[:MAX_PROBLEMS] or ["they do not fit"]
        if len(told) + more > MAX_PROBLEMS:
            lines.append(f"and {len(told) + more - MAX_PROBLEMS} more")
        head = f"the arguments of {self._name!r} do not fit its schema"
        return f"{head}: {lines[0]}" if len(lines) == 1 else "\n- ".join([f"{head}:", *lines])

    def list_complaints(self, errors: Iterable[ValidationError], most: int) -> list[Complaint]:
        """Lists the first of a validator's errors one by one, each with its path."""
        told: dict[Complaint, None] = {}
        for error in errors:
            told.update(dict.fromkeys(self._list_for_error(error)))
            if len(told) >= most:
                break
        return list(told)[:most]

    def explain_internal_field(self) -> str:
        """Builds the message for arguments with an internal field, without naming it (AT-56)."""
        known = self._list_known((self._view.root,))
        fields = f"the fields are {_format_values(known)}" if known else "it takes no fields"
        return self.explain_whole(f"they hold a field that is not part of the tool's schema; {fields}")

    def _list_for_error(self, error: ValidationError) -> list[Complaint]:
        path: Path = tuple(error.instance_path)
        kind = error.kind
        facts = kind.as_dict()
        if self._is_within_internal(path):
            what = "what the runtime filled in does not fit; the definition or a hook has to change, not the arguments"
            return [Complaint((), what)]
        match kind.name:
            case "required" | "dependentRequired":
                return (
                    []
                    if self._is_secret_name(path, facts["property"])
                    else [_complain_of_missing(path, facts["property"])]
                )
            case "additionalProperties" | "unevaluatedProperties":
                return [self._complain_of_unknown(path, name, error) for name in facts["unexpected"][:MAX_PROBLEMS]]
            case "anyOf" | "oneOf" if "context" in facts:
                return self._complain_of_forms(path, facts["context"], error)
        told = f"{self._describe_keyword(kind.name, facts, path)}{self._describe_sent(path, error.instance)}"
        return [Complaint(path, f"{_format_field(path)} {told}")]

    def _describe_keyword(self, keyword: str, facts: JsonObject, path: Path) -> str:
        if keyword == "type":
            return f"must be {_join_types(facts['types'])}"
        is_hidden = self._mask is not None and self._mask.hides(path)
        if keyword == "enum":
            return (
                "has to be one of its allowed values" if is_hidden else f"must be {_format_options(facts['options'])}"
            )
        if keyword == "const":
            return (
                "has to be its one allowed value" if is_hidden else f"must be {_format_value(facts['expected_value'])}"
            )
        if keyword == "pattern":
            pattern = str(facts["pattern"])
            return (
                f"must match the pattern {pattern}" if len(pattern) <= 2 * _MAX_CHARS else "does not match its pattern"
            )
        if keyword in _LIMITS:
            return _LIMITS[keyword].format(**facts)
        return _PLAIN.get(keyword, f"does not satisfy `{keyword}`")

    def _describe_sent(self, path: Path, value: object) -> str:
        """Describes the sent value; only its type when the tool has anything to hide, since values end up in wrong fields."""
        if self._mask is not None or self._internal or not isinstance(value, str | int | float | bool | None):
            return f"; it is {_A[json_type(value)]}"
        return f"; it is {_format_value(value)}"

    def _complain_of_unknown(self, path: Path, name: str, error: ValidationError) -> Complaint:
        around = dig(self._view.root, tuple(error.schema_path[:-1]))
        known = self._list_known((around,)) if isinstance(around, dict) else []
        hint = nearest(name, known)
        if hint is None:
            hint = f"the fields are {_format_values(known)}" if known else "leave it out"
        return Complaint((*path, name), f"{_format_field((*path, name))} is not a field of this tool; {hint}")

    def _complain_of_forms(
        self, path: Path, context: list[list[ValidationError]], error: ValidationError
    ) -> list[Complaint]:
        """Lists the problems of a value that fits none of several forms, against the nearest form."""
        if not context:
            return [Complaint(path, f"{_format_field(path)} fits more than one of its forms; make it fit one")]
        types = [_list_wanted_types(branch, path) for branch in context]
        if all(types):
            wanted = [word for branch in types for word in branch]
            return [
                Complaint(
                    path,
                    f"{_format_field(path)} must be {_join_types(wanted)}{self._describe_sent(path, error.instance)}",
                )
            ]
        near = [branch for branch, wanted in zip(context, types, strict=True) if not wanted and branch]
        if not near:
            none = f"{_format_field(path)} fits none of its allowed forms{self._describe_sent(path, error.instance)}"
            return [Complaint(path, none)]
        # A form whose constant differs is another form; among the rest, the fewest problems tell which was meant.
        best = min(near, key=lambda branch: (_has_other_constant(branch), len(branch)))
        return [complaint for one in best for complaint in self._list_for_error(one)]

    def _list_known(self, schemas: Iterable[object]) -> list[str]:
        """Lists the property names that the model may know."""
        names: dict[str, None] = {}
        for schema in self._view.about(schemas, negated=False):
            properties = schema.get("properties")
            if isinstance(properties, dict):
                names.update(dict.fromkeys(properties))
        return [name for name in names if not self._is_secret_name((), name)]

    def _is_within_internal(self, path: Path) -> bool:
        trail = tuple(step for step in path if isinstance(step, str))
        return any(self._internal.covers(trail[: end + 1]) for end in range(len(trail)))

    def _is_secret_name(self, path: Path, name: str) -> bool:
        return self._internal.covers((*(step for step in path if isinstance(step, str)), name))


def _format_field(path: Path) -> str:
    text = format_path(path)
    return repr(text if len(text) <= 2 * _MAX_CHARS else text[: 2 * _MAX_CHARS] + "…") if path else "the whole"


def _complain_of_missing(path: Path, name: str) -> Complaint:
    return Complaint((*path, name), f"{_format_field((*path, name))} is missing; add it")


def _join_types(types: Iterable[str]) -> str:
    words = list(dict.fromkeys(_A.get(word, word) for word in types))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _format_options(options: Sequence[object]) -> str:
    return (
        "one of " + _format_values(options) if len(options) > 1 else _format_value(options[0]) if options else "nothing"
    )


def _format_values(values: Sequence[object]) -> str:
    text = ", ".join(map(_format_value, values[:_MAX_VALUES]))
    return text if len(values) <= _MAX_VALUES else f"{text} and {len(values) - _MAX_VALUES} more"


def _format_value(value: object) -> str:
    """Formats a value as JSON, shortened."""
    match value:
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return repr(value if len(value) <= _MAX_CHARS else value[:_MAX_CHARS] + "…")
        case dict() | list():
            return _A[json_type(value)]
        case _:
            return str(value)[:_MAX_CHARS]


def _list_wanted_types(branch: list[ValidationError], path: Path) -> list[str]:
    """Lists the types a form asks for, when the type is the value's only problem."""
    if len(branch) == 1 and branch[0].kind.name == "type" and tuple(branch[0].instance_path) == path:
        return list(branch[0].kind.as_dict()["types"])
    return []


def _has_other_constant(branch: list[ValidationError]) -> bool:
    """Returns True when a constant identifies the form and the value has another one."""
    return any(error.kind.name in ("const", "enum") for error in branch)
