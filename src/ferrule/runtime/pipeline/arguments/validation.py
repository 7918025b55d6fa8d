"""Validates arguments against a tool's schema: in phase 2, and whenever something changes an input later.

The common case is decode, validate, done. Only arguments that fail are repaired (`repair`), explained (`complaints`)
or, when they are hostile rather than wrong, refused (`hostile_json`). It does not know calls or hooks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from jsonschema_rs import ValidationError

from ferrule.model.tool import Tool, raw
from ferrule.model.value import JsonObject, is_deeper
from ferrule.runtime.pipeline.arguments.complaints import Complaint, Complaints
from ferrule.runtime.pipeline.arguments.hostile_json import (
    MAX_BYTES,
    MAX_DEPTH,
    TINY,
    has_more_values,
    is_tame,
    why_hostile,
)
from ferrule.runtime.pipeline.arguments.repair import WHOLE, repair_input
from ferrule.runtime.redaction.sensitive_input import Mask
from ferrule.schema.internal_fields import InternalFields, find_internal, internal_fields, model_schema
from ferrule.schema.schema_view import SchemaView, types_of
from ferrule.schema.validation.validators import brief_schema, compile_schema, first_error

_MAX_EXPLAINED_BYTES = 8192
"""Longer arguments get only their first problem explained: finding all of them takes too long."""
_MAX_VALUES = 1000
"""So do arguments with more values; of alternatives, the message then says only that none fits."""
_MAX_REPAIRED_BYTES = 65_536
"""Longer arguments are not repaired."""
_MAX_CACHED = 1024
_decode = msgspec.json.Decoder().decode


def _is_never_valid(arguments: object) -> bool:
    return False


class ArgumentChange(msgspec.Struct, frozen=True, gc=False):
    """One recorded change of an input on its way (AT-79)."""

    source_type: Literal["adapter", "runtime"]
    source_ref: str
    changed_fields: tuple[str, ...]
    reason: str


class ParsedArguments(msgspec.Struct, frozen=True, gc=False):
    """Valid arguments."""

    arguments: Any
    """An object; a text where the tool takes text."""
    changes: tuple[ArgumentChange, ...] = ()
    encoded: bytes = b""
    """The arguments as JSON, where they differ from the input."""


class ArgumentProblem(msgspec.Struct, frozen=True, gc=False):
    """The refusal of invalid arguments."""

    message: str
    """The explanation for the model: what is wrong and what to change."""
    code: str | None = None


class _SchemaJudge:
    """The validator of one schema, with the explanations for what it rejects."""

    __slots__ = ("_source", "complaints", "is_valid", "validator", "view")

    def __init__(self, tool: Tool, schema: msgspec.Raw, mask: Mask | None, internal: InternalFields) -> None:
        self._source = (tool, mask, internal)
        self.view = SchemaView(msgspec.json.decode(schema))
        self.validator = compile_schema(bytes(schema))
        self.is_valid = self.validator.is_valid
        self.complaints = Complaints(tool.name, self.view, mask, internal)

    def explain_misfit(self, raw: bytes, arguments: object) -> str:
        """Explains why arguments are invalid."""
        judge = self._choose_judge(arguments)
        return judge.complaints.explain_errors(judge.iter_errors(raw, arguments))

    def list_complaints(self, raw: bytes, arguments: object, most: int) -> list[Complaint]:
        """Lists the problems of invalid arguments, each with its path."""
        judge = self._choose_judge(arguments)
        return judge.complaints.list_complaints(judge.iter_errors(raw, arguments), most)

    def iter_errors(self, raw: bytes, arguments: object) -> Iterable[ValidationError]:
        """Returns the validator's errors: all of them for small arguments, only the first for large ones."""
        if len(raw) <= _MAX_EXPLAINED_BYTES and not has_more_values(arguments, _MAX_VALUES):
            return self.validator.iter_errors(arguments)
        first = first_error(self.validator, arguments)
        return [] if first is None else [first]

    def _choose_judge(self, arguments: object) -> _SchemaJudge:
        """Returns the judge that explains these arguments: one with a shortened schema when they have many values."""
        if not has_more_values(arguments, _MAX_VALUES):
            return self
        tool, mask, internal = self._source
        try:
            return _SchemaJudge(tool, raw(brief_schema(self.view.root)), mask, internal)
        except Exception:  # a schema that cannot be shortened: explain against the empty one
            return _SchemaJudge(tool, raw({}), mask, internal)


class Arguments:
    """The arguments one tool takes, prepared once."""

    __slots__ = ("_contract", "_internal", "_limit", "_model", "_runtime", "_takes")

    def __init__(self, tool: Tool, max_bytes: int) -> None:
        mask, internal = Mask.of(tool), internal_fields(tool)
        runtime = tool.runtime_input_schema
        self._contract = _InputContract.of(tool)
        self._limit = max_bytes
        self._internal = internal
        self._model = _SchemaJudge(tool, model_schema(tool, internal), mask, internal)
        self._runtime = _SchemaJudge(tool, tool.input_schema if runtime is None else runtime, mask, internal)
        is_plain = self._model.view.root.get("type") == "object" and not internal and self._contract == _NO_CONTRACT
        # The quick path: when the schema is the only condition, the validator alone decides.
        self._takes = self._model.is_valid if is_plain else _is_never_valid

    @classmethod
    def of(cls, tool: Tool, max_bytes: int = MAX_BYTES) -> Arguments:
        """Returns the prepared arguments of a tool. A tool with an unusable schema refuses every call."""
        known = _prepared.get((id(tool), max_bytes))
        if known is None:
            if len(_prepared) >= _MAX_CACHED:
                _prepared.clear()
            # The tool is kept beside its arguments: once it were gone, another object could have its id.
            known = _prepared[id(tool), max_bytes] = (tool, cls._prepare(tool, max_bytes))
        return known[1]

    @classmethod
    def _prepare(cls, tool: Tool, max_bytes: int) -> Arguments:
        try:
            return cls(tool, max_bytes)
        except Exception as error:  # fail closed: a tool with a broken schema takes no calls
            return UnusableArguments(tool, type(error).__name__)

    def parse(self, raw: bytes) -> ParsedArguments | ArgumentProblem:
        """Parses model input by the model-facing schema; repairs it where needed, and fills in the contract's defaults."""
        if len(raw) > self._limit:
            return self._parse_empty(raw) or self._refuse_too_long(raw)
        try:
            arguments = _decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self._parse_empty(raw) or self._refuse_unreadable(raw, error)
        # The first half is what `is_tame` computes for a short flat object, inlined: this line runs in every call.
        if self._takes(arguments) and (
            (len(raw) < TINY and raw.count(b":") == len(arguments)) or is_tame(raw, arguments)
        ):
            return ParsedArguments(arguments)
        return self._parse_carefully(raw, arguments)

    def parse_exact(self, raw: bytes) -> ParsedArguments | ArgumentProblem:
        """Parses model input by the model-facing schema without repairs; still fills in the contract's defaults."""
        arguments = self._decode_raw(raw)
        if isinstance(arguments, ArgumentProblem):
            return arguments
        problem = self._why_hostile(raw, arguments)
        if problem is not None:
            return problem
        if self._contract.takes_text:
            return self._parse_text(raw, arguments)
        return self._why_misfit(raw, arguments, self._model) or self._fill_defaults(arguments, ())

    def parse_runtime(self, raw: bytes) -> ParsedArguments | ArgumentProblem:
        """Parses an input that a hook or an approver changed, by the runtime schema (AT-81), without repairs."""
        arguments = self._decode_raw(raw)
        if isinstance(arguments, ArgumentProblem):
            return arguments
        problem = self._why_hostile(raw, arguments) or self._why_misfit(raw, arguments, self._runtime)
        return ParsedArguments(arguments) if problem is None else problem

    def _decode_raw(self, raw: bytes) -> Any:
        """Decodes JSON; returns an ArgumentProblem when that fails."""
        if len(raw) > self._limit:
            return self._refuse_too_long(raw)
        try:
            return _decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self._refuse_unreadable(raw, error)

    def list_misfits(self, raw: bytes, most: int) -> list[Complaint]:
        """Lists where arguments that `parse` refused are invalid; empty when its message already says everything."""
        try:
            arguments = _decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return []
        is_judged = isinstance(arguments, dict) and not self._contract.takes_text
        if len(raw) > self._limit or not is_judged or find_internal(arguments, self._internal):
            return []
        return [] if self._why_hostile(raw, arguments) else self._model.list_complaints(raw, arguments, most)

    def _parse_carefully(self, raw: bytes, arguments: Any) -> ParsedArguments | ArgumentProblem:
        problem = self._why_hostile(raw, arguments)
        if problem is not None:
            return problem
        if self._contract.takes_text:
            return self._parse_text(raw, arguments)
        if self._is_valid(arguments):
            return self._fill_defaults(arguments, ())
        mended = self._repair(raw, arguments)
        return mended or self._why_misfit(raw, arguments, self._model) or self._refuse("they do not fit its schema")

    def _why_hostile(self, raw: bytes, arguments: object) -> ArgumentProblem | None:
        wrong = None if is_tame(raw, arguments) else why_hostile(raw, arguments)
        return None if wrong is None else self._refuse(wrong)

    def _is_valid(self, arguments: object) -> bool:
        """Returns True for an object that the model may send."""
        return (
            isinstance(arguments, dict)
            and not find_internal(arguments, self._internal)
            and self._model.is_valid(arguments)
        )

    def _why_misfit(self, raw: bytes, arguments: object, judge: _SchemaJudge) -> ArgumentProblem | None:
        """Explains why arguments are invalid; None when they are valid."""
        if not isinstance(arguments, str if self._contract.takes_text else dict):
            wanted = "a text" if self._contract.takes_text else "one object with the fields of the schema"
            return self._refuse(f"they must be {wanted}")
        if judge is self._model and find_internal(arguments, self._internal):
            return ArgumentProblem(judge.complaints.explain_internal_field(), "internal_field")
        if self._contract.takes_text or judge.is_valid(arguments):
            return None
        return ArgumentProblem(judge.explain_misfit(raw, arguments))

    def _refuse(self, reason: str, code: str | None = None) -> ArgumentProblem:
        return ArgumentProblem(self._model.complaints.explain_whole(reason), code)

    def _repair(self, raw: bytes, arguments: object) -> ParsedArguments | None:
        """Returns the repaired arguments; None when they cannot be repaired."""
        if not self._contract.lenient or len(raw) > _MAX_REPAIRED_BYTES:
            return None
        mended = repair_input(self._model.view, arguments)
        value = mended.value
        if not mended.changed_fields or why_hostile(b"null", value) or not self._is_valid(value):
            return None
        fields = mended.changed_fields if mended.changed_fields[0] != WHOLE else (*value, WHOLE)
        return self._fill_defaults(
            value, (ArgumentChange("adapter", "lenient", fields, "sent in another form than asked for"),)
        )

    def _fill_defaults(self, arguments: JsonObject, changes: tuple[ArgumentChange, ...]) -> ParsedArguments:
        """Fills in the contract's defaults for missing fields where the result stays valid (AT-83)."""
        filled = dict(arguments)
        for name, value in self._contract.defaults.items():
            if name not in filled and self._runtime.is_valid(filled | {name: value}):
                filled[name] = value
        added = tuple(name for name in filled if name not in arguments)
        if added:
            changes += (ArgumentChange("runtime", "defaults", added, "the tool's own defaults"),)
        return ParsedArguments(filled, changes, msgspec.json.encode(filled)) if changes else ParsedArguments(arguments)

    def _parse_text(self, raw: bytes, value: object) -> ParsedArguments | ArgumentProblem:
        """Parses the text for a tool that takes one (AT-85): sent as such, or as the only field of an object."""
        admits = types_of(self._model.view.about([self._model.view.root], negated=False))
        if isinstance(value, str) and (self._model.is_valid(value) or (admits and "string" not in admits)):
            return ParsedArguments(value)
        texts = list(value.items()) if isinstance(value, dict) else []
        if (
            len(texts) == 1
            and isinstance(texts[0][1], str)
            and (self._model.is_valid(value) or self._model.is_valid(texts[0][1]))
        ):
            name, text = texts[0]
            change = ArgumentChange("adapter", "argument_mode", (name, WHOLE), "this tool takes one text")
            return ParsedArguments(text, (change,), msgspec.json.encode(text))
        return self._why_misfit(raw, value, self._model) or self._refuse("they must be a text")

    def _parse_empty(self, raw: bytes) -> ParsedArguments | None:
        """Parses empty input, by which some models mean "no arguments"."""
        if raw.strip() or self._contract.takes_text:
            return None
        return self._repair(raw, None)

    def _refuse_too_long(self, raw: bytes) -> ArgumentProblem:
        size = f"they are {len(raw)} bytes long, and at most {self._limit} are taken; send less"
        return self._refuse(size, "arguments_too_large")

    def _refuse_unreadable(self, raw: bytes, error: Exception) -> ArgumentProblem:
        # Interpreters differ in whether the decoder reaches a later error or gives up for the depth first.
        if isinstance(error, RecursionError) or is_deeper(raw, MAX_DEPTH):
            return self._refuse(f"they are nested more than {MAX_DEPTH} levels deep; send less nested ones")
        return self._refuse(f"they are not valid JSON ({error}); send one JSON object", "invalid_json")


class UnusableArguments(Arguments):
    """The arguments of a tool with an unusable schema: every call is refused."""

    __slots__ = ("_problem",)

    def __init__(self, tool: Tool, reason: str) -> None:
        message = f"the schema of {tool.name!r} cannot be used ({reason}); ask its owner to run 'ferrule check' on it"
        self._problem = ArgumentProblem(message, "unusable_schema")

    def parse(self, raw: bytes) -> ArgumentProblem:
        """Returns the problem with the schema."""
        return self._problem

    parse_exact = parse
    parse_runtime = parse

    def list_misfits(self, raw: bytes, most: int) -> list[Complaint]:
        """Returns nothing: the schema is the problem, not the arguments."""
        return []


class _InputContract(msgspec.Struct, frozen=True):
    """The input contract of a definition, besides the schema."""

    takes_text: bool = False
    lenient: bool = True
    defaults: JsonObject = {}

    @classmethod
    def of(cls, tool: Tool) -> _InputContract:
        payload = msgspec.json.decode(tool.payload)
        contract = payload.get("input_contract") if isinstance(payload, dict) else None
        if not isinstance(contract, dict):
            return _NO_CONTRACT
        defaults = contract.get("defaults")
        return cls(
            takes_text=contract.get("argument_mode") == "text",
            lenient=contract.get("lenient") is not False,
            defaults=defaults if isinstance(defaults, dict) else {},
        )


_prepared: dict[tuple[int, int], tuple[Tool, Arguments]] = {}
"""The prepared arguments per tool, shared by all runs and callers. Holding the tool keeps its id from being reused."""
_NO_CONTRACT = _InputContract()
