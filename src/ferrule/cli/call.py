"""`ferrule call TOOL`: one governed call from the command line, through the same pipeline as every other.

Exit codes: 0 it succeeded, 1 it ended with an error, 3 it waits for a person, 2 it could not be made at all.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
from contextlib import redirect_stdout
from typing import Any

import click
import msgspec

from ferrule.access import Access
from ferrule.assembly import is_stale, open_app
from ferrule.cli.fields import arguments_from
from ferrule.cli.json_text import json_text
from ferrule.errors import WorkspaceError
from ferrule.model.result import Pending, Result
from ferrule.model.timestamps import iso
from ferrule.reporters.excerpt import cleaned
from ferrule.surface_handle import SurfaceHandle
from ferrule.workspace import Workspace

SUCCEEDED, ENDED_WITH_ERROR, WAITS = 0, 1, 3


def _seconds(context: click.Context, parameter: click.Parameter, seconds: float | None) -> float | None:
    if seconds is None or 0 <= seconds < math.inf:
        return seconds
    raise click.UsageError(f"--{parameter.name} takes a number of seconds from 0 on, not {seconds:g}")


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("tool")
@click.option("--input", "written", metavar="JSON", help="The arguments as JSON; @FILE reads a file, - standard input.")
@click.option("--agent", help="Call as this agent of the catalog; by default every tool can be called.")
@click.option("--principal", help="On whose behalf; by default the holder of the agents' token.")
@click.option("--run", "run_id", help="The piece of work this call belongs to; limits count per run.")
@click.option("--key", help="Idempotency key: the same key and input give the first answer again.")
@click.option("--timeout", type=float, metavar="SECONDS", callback=_seconds, help="Give up after so many seconds.")
@click.option(
    "--wait",
    type=float,
    metavar="SECONDS",
    callback=_seconds,
    help="Wait so long for somebody to approve, where that is asked.",
)
@click.option("--non-interactive", is_flag=True, help="Nobody can be asked: what would wait for a person is refused.")
@click.option(
    "--build", "is_built", is_flag=True, help="Build the catalog first, with the definitions as they are now."
)
@click.option("--workspace", "path", default=".", type=click.Path(), help="Use the workspace around this path.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON, for programs.")
@click.pass_context
def command(context: click.Context, /, tool: str, path: str, as_json: bool, **options: Any) -> int:
    """Call a tool. Give its arguments as JSON or as options of their own:

    \b
      ferrule call find-order --input '{"order_number": "TC-104233"}'
      ferrule call find-order --order-number TC-104233

    Everything is validated, decided by the policy and recorded: `ferrule explain last` tells the story. A call that
    needs an approval waits; `ferrule pending` shows it.
    """
    with redirect_stdout(sys.stderr):  # what a tool prints is not its answer, and programs read the answer
        outcome = asyncio.run(_call(path, _as_typed(tool), [*map(_as_typed, context.args)], options))
    return _print(outcome, as_json)


def _as_typed(word: str) -> str:
    """A word as it was typed: Python takes it for something else where the locale knows no UTF-8."""
    return os.fsencode(word).decode(errors="replace")


async def _call(path: str, tool: str, extra: list[str], options: dict[str, Any]) -> Result | Pending:
    if not options["is_built"] and is_stale(Workspace.open(path)):
        click.echo(
            "note: definitions changed since the catalog was built; --build calls them as they are now", err=True
        )
    async with open_app(path, tends=False, build="always" if options["is_built"] else "missing") as app:
        caller = Access(app.root).local_agent()
        surface = app.surface(
            agent=options["agent"],
            principal=options["principal"] or caller.principal,
            channel=caller.channel,
            run_id=options["run_id"],
            is_interactive=not options["non_interactive"],
        )
        _load_if_deferred(surface, tool)
        return await surface.call(
            tool,
            _arguments(surface, tool, options["written"], extra),
            idempotency_key=options["key"],
            timeout_seconds=options["timeout"],
            wait=options["wait"],
        )


def _load_if_deferred(surface: SurfaceHandle, tool: str) -> None:
    """Whoever types a tool's name has found it already."""
    entry = surface.surface.find(tool)
    if entry is not None and entry.standing == "deferred":
        surface.select([tool])


def _arguments(surface: SurfaceHandle, tool: str, written: str | None, extra: list[str]) -> dict[str, Any] | bytes:
    if written is not None and extra:
        raise click.UsageError(f"give the arguments with --input or as options of their own, not both: {extra[0]}")
    if written is not None:
        return _read(written)
    entry = surface.surface.find(tool)
    schema = msgspec.json.decode(entry.tool.input_schema) if entry is not None else {}
    return arguments_from(extra, schema if isinstance(schema, dict) else {})


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


def _print(outcome: Result | Pending, as_json: bool) -> int:
    if isinstance(outcome, Pending):
        return _print_pending(outcome, as_json)
    if as_json:
        click.echo(json_text(outcome.to_record()))
    elif outcome.error is None:
        click.echo(_readable(outcome))
    else:
        error = outcome.error
        click.echo(f"{outcome.status}: " + "\n  ".join(map(cleaned, error.message.splitlines())), err=True)
        finer = f" ({error.error_code})" if error.error_code != error.error_class else ""
        click.echo(f"  {error.error_class}{finer}: {_advice(outcome)}", err=True)
        click.echo(f"  the whole story: ferrule explain {outcome.invocation_id}", err=True)
    return ENDED_WITH_ERROR if outcome.is_error else SUCCEEDED


def _print_pending(pending: Pending, as_json: bool) -> int:
    if as_json:
        record = {**msgspec.to_builtins(pending), "is_pending": True}
        if pending.expires_at is not None:
            record["expires_at"] = iso(pending.expires_at)
        click.echo(json_text(record))
    else:
        click.echo(f"waiting: {cleaned(pending.message)}", err=True)
        click.echo(
            f"  what it would do: ferrule pending; what became of it: ferrule explain {pending.invocation_id}", err=True
        )
    return WAITS


def _readable(result: Result) -> str:
    if result.structured_content is not None:
        return json_text(result.structured_content)
    return result.text


def _advice(result: Result) -> str:
    assert result.error is not None
    words = {
        "retry": "it can be tried again",
        "retry_later": "it can be tried again later",
        "change_arguments": "change the arguments and try again",
        "change_arguments_or_policy": "change the arguments, or ask for another policy",
        "discover_first": "find the tool first",
        "request_approval": "it has to be asked for again",
        "complete_setup": "the tool has to be set up first",
        "not_recoverable": "trying again does not help",
    }
    return words.get(result.error.recoverability, result.error.recoverability)
