"""`ferrule call TOOL`: one governed call from the command line, through the same pipeline as every other.

Arguments come as JSON or as options, typed by the tool's schema: `--order-id 17 --tags '["a"]' --urgent`.
Exit codes: 0 it succeeded, 1 it ended with an error, 3 it waits for a person, 2 it could not be made at all, 130 whoever
followed it left, 143 the process was told to end and the tool did not stop.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import redirect_stdout
from typing import Any

import click
import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.cli.caller import (
    LEFT,
    TERMINATED,
    StoppedWatching,
    call_and_watch,
    caller_options,
    load_if_deferred,
    open_caller,
    parse_seconds,
    wait_for_background,
)
from ferrule.cli.loop import run_command
from ferrule.cli.options import tools_here
from ferrule.cli.show.outcome import print_outcome
from ferrule.cli.show.watching import choose_view
from ferrule.errors import WorkspaceError
from ferrule.model.hints import nearest
from ferrule.model.result import Pending, Result
from ferrule.model.value import JsonObject
from ferrule.schema.references import SchemaReferences, root_references

_JSON_TYPES = frozenset({"integer", "number", "boolean", "object", "array", "null"})
_MEANT = {"idempotency-key": "--key", "arguments": "--input", "args": "--input"}
"""What options of the command are called elsewhere."""
_FAR = 5
"""References that are followed, one inside the other; a schema that refers to itself has no end."""


def parse_arguments(words: list[str], schema: JsonObject) -> JsonObject:
    """Parses options into arguments. Raises UsageError for an option that is no field of the tool."""
    schema = root_references(schema)
    properties = schema.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    references = SchemaReferences(schema)
    shapes = {name: _resolve_shape(field, references) for name, field in fields.items()}
    arguments: dict[str, Any] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("--") or len(word) < 3:
            raise click.UsageError(f"{word!r} is no option; fields are written as --name value")
        name, has_value, value = word[2:].partition("=")
        field = _find_field(name, fields, schema)
        if not has_value:
            value = _take_value(left, shapes.get(field), name)
        given = _parse_value(value, shapes.get(field), field)
        if field in arguments and isinstance(arguments[field], list) and isinstance(given, list):
            arguments[field] += given
        else:
            arguments[field] = given
    return arguments


def _take_value(left: list[str], schema: object, name: str) -> str:
    """Takes the value after an option; a boolean field alone means true."""
    is_flag = "boolean" in _list_types(schema)
    if left and (not left[0].startswith("--")) and not (is_flag and left[0] not in ("true", "false")):
        return left.pop(0)
    if is_flag:
        return "true"
    raise click.UsageError(f"--{name} has no value")


def _find_field(name: str, fields: JsonObject, schema: JsonObject) -> str:
    for spelt in (name, name.replace("-", "_")):
        if spelt in fields:
            return spelt
    if schema.get("additionalProperties", True) is not False and not fields:
        return name
    option = _MEANT.get(name.replace("_", "-"))
    hint = f"did you mean the option {option}?" if option else nearest(name, fields)
    hint = hint or "its fields are: " + ", ".join(fields)
    raise click.UsageError(f"the tool has no field {name!r}; {hint}")


def _parse_value(value: str, schema: Any, field: str) -> Any:
    types = _list_types(schema)
    if not types or "string" in types:
        return value
    if types == {"array"} and not value.lstrip().startswith("["):
        return [_parse_value(value, schema.get("items"), field)]
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        wanted = " or ".join(sorted(types))
        raise click.UsageError(f"--{field} takes {wanted}, not {value!r}") from None


def _resolve_shape(field: object, references: SchemaReferences, depth: int = 0) -> Any:
    """Resolves a field's schema to one with a type, through references and alternatives."""
    if not isinstance(field, dict) or depth > _FAR:
        return field
    if "$ref" in field:
        return _resolve_shape(references.schema(field["$ref"]), references, depth + 1)
    if "type" in field:
        return {**field, "items": _resolve_shape(field["items"], references, depth + 1)} if "items" in field else field
    ways = [_resolve_shape(way, references, depth + 1) for way in field.get("anyOf") or field.get("oneOf") or ()]
    if not ways or not all(_list_types(way) for way in ways):
        return field
    return {**field, "type": sorted(set().union(*map(_list_types, ways)))}


def _list_types(schema: object) -> set[str]:
    found = schema.get("type") if isinstance(schema, dict) else None
    names = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return {name for name in names if name in _JSON_TYPES or name == "string"}


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("tool", shell_complete=tools_here)
@click.option("--input", "written", metavar="JSON", help="The arguments as JSON; @FILE reads a file, - standard input.")
@caller_options
@click.option("--key", help="Idempotency key: the same key and input give the first answer again.")
@click.option("--timeout", type=float, metavar="SECONDS", callback=parse_seconds, help="Give up after so many seconds.")
@click.option("--follow", is_flag=True, help="Show progress on standard error; Ctrl-C cancels the call.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON, for programs.")
@click.pass_context
def command(context: click.Context, /, tool: str, path: str, as_json: bool, **options: Any) -> int:
    """Call a tool. Give its arguments as JSON or as options of their own:

    \b
      ferrule call order_status --input '{"order_number": "BK-104233"}'
      ferrule call order_status --order-number BK-104233

    Everything is validated, decided by the policy and recorded: `ferrule explain last` tells the story. A call that
    needs an approval waits; `ferrule pending` shows it.

    With --follow a bar shows the progress of a long call, and its id, so that `ferrule follow` and `ferrule cancel` can be
    used from another terminal. Without a terminal it is a line for each record; with --json, JSON lines. All of that goes
    to standard error: the result stays the only thing on standard output.
    """
    with redirect_stdout(sys.stderr):  # what a tool prints is not its answer, and programs read the answer
        try:
            outcome = run_command(_call(path, _decode_word(tool), [*map(_decode_word, context.args)], options, as_json))
        except StoppedWatching:
            return LEFT
        except asyncio.CancelledError:  # nobody told this process to end: the tool cancelled the task that runs it
            click.echo("the call cancelled itself; its tool may have acted: ferrule explain last", err=True)
            return TERMINATED
        except KeyboardInterrupt:
            click.echo("\ninterrupted; if it had begun, its tool may have acted: ferrule explain last", err=True)
            return LEFT
    return print_outcome(outcome, as_json)


def _decode_word(word: str) -> str:
    """Decodes a word as it was typed, for locales without UTF-8."""
    return os.fsencode(word).decode(errors="replace")


async def _call(path: str, tool: str, extra: list[str], options: JsonObject, as_json: bool) -> Result | Pending:
    async with open_caller(path, options) as (app, surface):
        load_if_deferred(surface, tool)
        arguments = _read_arguments(surface, tool, options["written"], extra)
        given = {"idempotency_key": options["key"], "timeout_seconds": options["timeout"], "wait": options["wait"]}
        if options["follow"]:
            return await call_and_watch(app, surface, tool, arguments, choose_view(as_json), **given)
        return await wait_for_background(app, await surface.call(tool, arguments, **given))


def _read_arguments(surface: SurfaceHandle, tool: str, written: str | None, extra: list[str]) -> JsonObject | bytes:
    if written is not None and extra:
        raise click.UsageError(f"give the arguments with --input or as options of their own, not both: {extra[0]}")
    if written is not None:
        return _read(written)
    entry = surface.surface.find(tool)
    schema = msgspec.json.decode(entry.tool.input_schema) if entry is not None else {}
    return parse_arguments(extra, schema if isinstance(schema, dict) else {})


def _read(written: str) -> bytes:
    try:
        if written == "-":
            text = sys.stdin.buffer.read()
        elif written.startswith("@"):
            with open(written[1:], "rb") as file:
                text = file.read()
        else:
            text = os.fsencode(written)  # as it was typed, whatever the locale took it for
        msgspec.json.decode(text)
    except OSError as error:
        raise WorkspaceError(f"{written[1:]} cannot be read: {error.strerror}") from None
    except RecursionError:
        return text  # refused, and recorded, like every input that is nested too deep
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--input is not JSON: {'nothing was given' if not text.strip() else error}") from None
    return text
