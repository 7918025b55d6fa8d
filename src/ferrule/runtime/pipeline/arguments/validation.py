"""Judges arguments by a tool's schema. Phase 2 uses it, and so does everything that changes an input later.

The common case is decode, validate, done. Only arguments that fail are repaired (`repair`), explained (`complaints`) and,
if they are hostile rather than wrong, refused (`hostile_json`). It does not know calls or hooks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from jsonschema_rs import ValidationError

from ferrule.model.tool import Tool, raw
from ferrule.model.value import is_deeper
from ferrule.runtime.pipeline.arguments.complaints import Complaint, Complaints
from ferrule.runtime.pipeline.arguments.hostile_json import (
    MAX_BYTES,
    MAX_DEPTH,
    TINY,
    holds_more,
    is_tame,
    what_is_wrong,
)
from ferrule.runtime.pipeline.arguments.repair import WHOLE, mend
from ferrule.runtime.redaction.sensitive_input import Mask
from ferrule.schema.internal_fields import InternalFields, find_internal, internal_fields, model_schema
from ferrule.schema.schema_view import SchemaView, types_of
from ferrule.schema.validation.validators import brief_schema, compile_schema, first_error

_EXPLAINED = 8192
"""Of longer arguments only the first problem is told: finding all of them takes time."""
_MANY = 1000
"""So it is of arguments with more values, and of alternatives only that none of them fits."""
_MENDED = 65_536
"""Longer arguments are not mended."""
_KEPT = 1024
_decode = msgspec.json.Decoder().decode


def _never(arguments: Any) -> bool:
    return False


class Change(msgspec.Struct, frozen=True, gc=False):
    """What was done to an input on the way (AT-79)."""

    source_type: Literal["adapter", "runtime"]
    source_ref: str
    changed_fields: tuple[str, ...]
    reason: str


class Parsed(msgspec.Struct, frozen=True, gc=False):
    """Arguments that fit."""

    arguments: Any
    """An object; a text where the tool takes text."""
    changes: tuple[Change, ...] = ()
    encoded: bytes = b""
    """The arguments as JSON, where they differ from what came in."""


class Problem(msgspec.Struct, frozen=True, gc=False):
    """Why arguments are refused."""

    message: str
    """For the model: what is wrong and what to change."""
    code: str | None = None


class _Judge:
    """One schema: whether arguments fit it, and what to say when they do not."""

    __slots__ = ("_made", "complaints", "is_valid", "validator", "view")

    def __init__(self, tool: Tool, schema: msgspec.Raw, mask: Mask | None, internal: InternalFields) -> None:
        self._made = (tool, mask, internal)
        self.view = SchemaView(msgspec.json.decode(schema))
        self.validator = compile_schema(bytes(schema))
        self.is_valid = self.validator.is_valid
        self.complaints = Complaints(tool.name, self.view, mask, internal)

    def complaint(self, raw: bytes, arguments: Any) -> str:
        """What is wrong with arguments that do not fit."""
        judge = self._fitting(arguments)
        return judge.complaints.of(judge.errors(raw, arguments))

    def complaints_of(self, raw: bytes, arguments: Any, most: int) -> list[Complaint]:
        """The same, each thing by itself and with its place."""
        judge = self._fitting(arguments)
        return judge.complaints.each(judge.errors(raw, arguments), most)

    def errors(self, raw: bytes, arguments: Any) -> Iterable[ValidationError]:
        """What the validator says, all of it only where that is soon said."""
        if len(raw) <= _EXPLAINED and not holds_more(arguments, _MANY):
            return self.validator.iter_errors(arguments)
        first = first_error(self.validator, arguments)
        return [] if first is None else [first]

    def _fitting(self, arguments: Any) -> _Judge:
        """Who is to speak about these arguments: of many values only one who is brief."""
        if not holds_more(arguments, _MANY):
            return self
        tool, mask, internal = self._made
        try:
            return _Judge(tool, raw(brief_schema(self.view.root)), mask, internal)
        except Exception:  # a schema that cannot be brief has nothing to say
            return _Judge(tool, raw({}), mask, internal)


class Arguments:
    """The arguments one tool takes, prepared once."""

    __slots__ = ("_contract", "_internal", "_limit", "_model", "_runtime", "_takes")

    def __init__(self, tool: Tool, max_bytes: int) -> None:
        mask, internal = Mask.of(tool), internal_fields(tool)
        runtime = tool.runtime_input_schema
        self._contract = _Contract.of(tool)
        self._limit = max_bytes
        self._internal = internal
        self._model = _Judge(tool, model_schema(tool, internal), mask, internal)
        self._runtime = _Judge(tool, tool.input_schema if runtime is None else runtime, mask, internal)
        is_plain = self._model.view.root.get("type") == "object" and not internal and self._contract == _USUAL
        # Where fitting the schema is all that is asked, the validator's yes is the answer; elsewhere nothing is so quick.
        self._takes = self._model.is_valid if is_plain else _never

    @classmethod
    def of(cls, tool: Tool, max_bytes: int = MAX_BYTES) -> Arguments:
        """The arguments of a tool. One whose schema cannot be used takes none: every call of it is refused."""
        known = _prepared.get((id(tool), max_bytes))
        if known is None:
            if len(_prepared) >= _KEPT:
                _prepared.clear()
            known = _prepared[id(tool), max_bytes] = (tool, cls._made(tool, max_bytes))
        return known[1]

    @classmethod
    def _made(cls, tool: Tool, max_bytes: int) -> Arguments:
        try:
            return cls(tool, max_bytes)
        except Exception as error:  # whatever is wrong with the schema, the answer is no
            return Unusable(tool, type(error).__name__)

    def parse(self, raw: bytes) -> Parsed | Problem:
        """What a model sent, judged by the model-facing schema, mended if need be, with the contract's defaults."""
        if len(raw) > self._limit:
            return self._nothing(raw) or self._too_long(raw)
        try:
            arguments = _decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self._nothing(raw) or self._unreadable(raw, error)
        # The first half is what `is_tame` would say of a short flat object, without asking.
        if self._takes(arguments) and (
            (len(raw) < TINY and raw.count(b":") == len(arguments)) or is_tame(raw, arguments)
        ):
            return Parsed(arguments)
        return self._carefully(raw, arguments)

    def parse_exact(self, raw: bytes) -> Parsed | Problem:
        """What a model sent, judged by the model-facing schema as it is: nothing is mended. The contract's defaults count."""
        arguments = self._decoded(raw)
        if isinstance(arguments, Problem):
            return arguments
        problem = self._hostility(raw, arguments)
        if problem is not None:
            return problem
        if self._contract.takes_text:
            return self._text(raw, arguments)
        return self._misfit(raw, arguments, self._model) or self._with_defaults(arguments, ())

    def parse_runtime(self, raw: bytes) -> Parsed | Problem:
        """An input that a hook or an approver changed, judged by the runtime schema (AT-81). Nothing is mended."""
        arguments = self._decoded(raw)
        if isinstance(arguments, Problem):
            return arguments
        problem = self._hostility(raw, arguments) or self._misfit(raw, arguments, self._runtime)
        return Parsed(arguments) if problem is None else problem

    def _decoded(self, raw: bytes) -> Any:
        """The JSON, or the Problem with it."""
        if len(raw) > self._limit:
            return self._too_long(raw)
        try:
            return _decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self._unreadable(raw, error)

    def misfits(self, raw: bytes, most: int) -> list[Complaint]:
        """Where arguments that `parse` refused do not fit. Empty where no place is to blame: its message tells all then."""
        try:
            arguments = _decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return []
        is_judged = isinstance(arguments, dict) and not self._contract.takes_text
        if len(raw) > self._limit or not is_judged or find_internal(arguments, self._internal):
            return []
        return [] if self._hostility(raw, arguments) else self._model.complaints_of(raw, arguments, most)

    def _carefully(self, raw: bytes, arguments: Any) -> Parsed | Problem:
        problem = self._hostility(raw, arguments)
        if problem is not None:
            return problem
        if self._contract.takes_text:
            return self._text(raw, arguments)
        if self._fits(arguments):
            return self._with_defaults(arguments, ())
        mended = self._mended(raw, arguments)
        return mended or self._misfit(raw, arguments, self._model) or self._no("they do not fit its schema")

    def _hostility(self, raw: bytes, arguments: Any) -> Problem | None:
        wrong = None if is_tame(raw, arguments) else what_is_wrong(raw, arguments)
        return None if wrong is None else self._no(wrong)

    def _fits(self, arguments: Any) -> bool:
        """Whether an object is one the model may send."""
        return (
            isinstance(arguments, dict)
            and not find_internal(arguments, self._internal)
            and self._model.is_valid(arguments)
        )

    def _misfit(self, raw: bytes, arguments: Any, judge: _Judge) -> Problem | None:
        """Why arguments do not fit; None when they do."""
        if not isinstance(arguments, str if self._contract.takes_text else dict):
            wanted = "a text" if self._contract.takes_text else "one object with the fields of the schema"
            return self._no(f"they must be {wanted}")
        if judge is self._model and find_internal(arguments, self._internal):
            return Problem(judge.complaints.internal(), "internal_field")
        if self._contract.takes_text or judge.is_valid(arguments):
            return None
        return Problem(judge.complaint(raw, arguments))

    def _no(self, reason: str, code: str | None = None) -> Problem:
        return Problem(self._model.complaints.about(reason), code)

    def _mended(self, raw: bytes, arguments: Any) -> Parsed | None:
        """The arguments as they were meant, if that can be told; None otherwise."""
        if not self._contract.lenient or len(raw) > _MENDED:
            return None
        mended = mend(self._model.view, arguments)
        value = mended.value
        if not mended.changed_fields or what_is_wrong(b"null", value) or not self._fits(value):
            return None
        fields = mended.changed_fields if mended.changed_fields[0] != WHOLE else (*value, WHOLE)
        return self._with_defaults(
            value, (Change("adapter", "lenient", fields, "sent in another form than asked for"),)
        )

    def _with_defaults(self, arguments: dict[str, Any], changes: tuple[Change, ...]) -> Parsed:
        """The contract's defaults where nothing was sent and the result still fits (AT-83)."""
        filled = dict(arguments)
        for name, value in self._contract.defaults.items():
            if name not in filled and self._runtime.is_valid(filled | {name: value}):
                filled[name] = value
        added = tuple(name for name in filled if name not in arguments)
        if added:
            changes += (Change("runtime", "defaults", added, "the tool's own defaults"),)
        return Parsed(filled, changes, msgspec.json.encode(filled)) if changes else Parsed(arguments)

    def _text(self, raw: bytes, value: Any) -> Parsed | Problem:
        """The text for a tool that takes one (AT-85): sent as such, or as the one field of an object."""
        admits = types_of(self._model.view.about([self._model.view.root], negated=False))
        if isinstance(value, str) and (self._model.is_valid(value) or (admits and "string" not in admits)):
            return Parsed(value)
        texts = list(value.items()) if isinstance(value, dict) else []
        if (
            len(texts) == 1
            and isinstance(texts[0][1], str)
            and (self._model.is_valid(value) or self._model.is_valid(texts[0][1]))
        ):
            name, text = texts[0]
            change = Change("adapter", "argument_mode", (name, WHOLE), "this tool takes one text")
            return Parsed(text, (change,), msgspec.json.encode(text))
        return self._misfit(raw, value, self._model) or self._no("they must be a text")

    def _nothing(self, raw: bytes) -> Parsed | None:
        """No text at all, which is how some models say "no arguments"."""
        if raw.strip() or self._contract.takes_text:
            return None
        return self._mended(raw, None)

    def _too_long(self, raw: bytes) -> Problem:
        size = f"they are {len(raw)} bytes long, and at most {self._limit} are taken; send less"
        return self._no(size, "arguments_too_large")

    def _unreadable(self, raw: bytes, error: Exception) -> Problem:
        # Whether the decoder gets to what is wrong further on, or ends for the depth, differs between interpreters.
        if isinstance(error, RecursionError) or is_deeper(raw, MAX_DEPTH):
            return self._no(f"they are nested more than {MAX_DEPTH} levels deep; send less nested ones")
        return self._no(f"they are not valid JSON ({error}); send one JSON object", "invalid_json")


class Unusable(Arguments):
    """The arguments of a tool whose schema cannot be used."""

    __slots__ = ("_problem",)

    def __init__(self, tool: Tool, reason: str) -> None:
        message = f"the schema of {tool.name!r} cannot be used ({reason}); ask its owner to run 'ferrule check' on it"
        self._problem = Problem(message, "unusable_schema")

    def parse(self, raw: bytes) -> Problem:
        """No."""
        return self._problem

    parse_exact = parse
    parse_runtime = parse

    def _decoded(self, raw: bytes) -> Any:
        """The JSON, or the Problem with it."""
        if len(raw) > self._limit:
            return self._too_long(raw)
        try:
            return _decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self._unreadable(raw, error)

    def misfits(self, raw: bytes, most: int) -> list[Complaint]:
        """Nothing: it is the schema."""
        return []


class _Contract(msgspec.Struct, frozen=True):
    """What a definition says about its arguments besides the schema."""

    takes_text: bool = False
    lenient: bool = True
    defaults: dict[str, Any] = {}

    @classmethod
    def of(cls, tool: Tool) -> _Contract:
        payload = msgspec.json.decode(tool.payload)
        contract = payload.get("input_contract") if isinstance(payload, dict) else None
        if not isinstance(contract, dict):
            return _USUAL
        defaults = contract.get("defaults")
        return cls(
            takes_text=contract.get("argument_mode") == "text",
            lenient=contract.get("lenient") is not False,
            defaults=defaults if isinstance(defaults, dict) else {},
        )


_prepared: dict[tuple[int, int], tuple[Tool, Arguments]] = {}
"""What was made of a tool before: every run of every caller takes the same. The tool is held, so that its id stays its own."""
_USUAL = _Contract()
