"""`ferrule audit`: proves that the ledger is what was written, and looks after its file."""

from __future__ import annotations

import asyncio
import getpass
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from ferrule.app.custody.check import verify_file, verify_ledger
from ferrule.app.custody.copies import RestoreOutcome, back_up, restore
from ferrule.app.custody.erase import Erasure, erase_call, erase_principal
from ferrule.app.custody.exports import export_calls, export_rows
from ferrule.app.custody.paths import LedgerPaths, ledger_paths, load_public_keys
from ferrule.app.custody.prune import PruneOutcome, prune
from ferrule.cli.show.output import ProgressBar
from ferrule.errors import LedgerError
from ferrule.infra.clock import Clock
from ferrule.ledger.audit.findings import AuditFinding, AuditVerdict
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.model.timestamps import parse_iso
from ferrule.workspace.workspace import Workspace

_EXIT = "Exit code: 0 nothing wrong, 1 something was found, 2 could not run."


def _paths_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--workspace` and `--ledger` to a command."""
    workspace = click.option("--workspace", default=".", metavar="DIR", help="Use the workspace around this path.")
    ledger = click.option("--ledger", metavar="FILE", help="The ledger's file, instead of the workspace's.")
    return workspace(ledger(command))


def _parse_moment(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_iso(text)
    except ValueError:
        raise click.UsageError(f"--before takes a date or time such as 2026-01-31, not {text!r}") from None


_json_option = click.option("--json", "is_json", is_flag=True, help="Print JSON, for programs.")


@click.group(epilog="'ferrule audit COMMAND --help' tells more about one of them.")
def command() -> None:
    """Prove that the ledger is what was written, and look after its file."""


@command.command("verify", epilog=_EXIT)
@_paths_option
@click.option("--key", metavar="FILE", help="The public key to trust; by default .ferrule/keys/ledger.pub.")
@click.option("--witness", metavar="FILE", help="The witness's file; by default the one in the settings.")
@click.option("--file", "export", metavar="EXPORT", help="Check an export instead of a ledger.")
@_json_option
def verify_command(
    workspace: str, ledger: str | None, key: str | None, witness: str | None, export: str | None, is_json: bool
) -> int:
    """Check every row, the signed head, the tables that follow from the rows, and the witness."""
    paths = ledger_paths(Workspace.open(workspace), ledger)
    with ProgressBar("rows") as progress:
        if export is not None:
            verdict = _verify_export(Path(export), key, paths, progress)
        else:
            seen = Path(witness) if witness is not None else paths.witness
            verdict = verify_ledger(paths.ledger, load_public_keys(paths, key), witness=seen, progress=progress)
    return _show(verdict, is_json)


def _verify_export(export: Path, key: str | None, paths: LedgerPaths, progress: ProgressBar) -> AuditVerdict:
    if key is not None:
        return verify_file(export, load_public_keys(paths, key), progress=progress)
    verdict = verify_file(export, None, progress=progress)
    note = "it was checked with the key it carries itself, which anybody could have put there; name yours with --key"
    return msgspec.structs.replace(verdict, notes=(*verdict.notes, note))


@command.command("export")
@_paths_option
@click.option("--from", "first", metavar="SEQ", type=click.IntRange(1), default=1, help="The first row.")
@click.option(
    "--to", "last", metavar="SEQ", type=click.IntRange(1), help="The last row; the export is then signed with the key."
)
@click.option("--calls", "is_calls", is_flag=True, help="Readable tool_invocation records instead of rows.")
@click.option("--with-payloads", is_flag=True, help="Include inputs and results, as stored.")
@click.option("-o", "--output", required=True, metavar="FILE", help="The file to write.")
def export_command(
    workspace: str,
    ledger: str | None,
    first: int,
    last: int | None,
    is_calls: bool,
    with_payloads: bool,
    output: str,
) -> int:
    """Write rows to a file that 'audit verify --file' can check by itself."""
    paths = ledger_paths(Workspace.open(workspace), ledger)
    if is_calls:
        count = export_calls(paths, Path(output), first=first, last=last)
    else:
        count = export_rows(paths, Path(output), first=first, last=last, has_payloads=with_payloads)
    click.echo(f"wrote {count:,} {'calls' if is_calls else 'rows'} to {output}")
    return 0


@command.command("erase", epilog="Backups and exports made before still hold what was erased. " + _EXIT)
@_paths_option
@click.option("--call", "call", metavar="ID", help="One call.")
@click.option("--principal", metavar="NAME", help="All calls on behalf of one principal.")
@click.option("--before", metavar="DATE", callback=_parse_moment, help="With --principal: only older calls.")
@click.option("--reason", required=True, metavar="TEXT", help="The reason, recorded.")
def erase_command(
    workspace: str, ledger: str | None, call: str | None, principal: str | None, before: int | None, reason: str
) -> int:
    """Destroy the inputs and results of calls. Their records stay, and stay verifiable."""
    if (call is None) == (principal is None):
        raise click.UsageError("say what to erase: either --call ID or --principal NAME")
    if call is not None and before is not None:
        raise click.UsageError("--before goes with --principal")
    paths = ledger_paths(Workspace.open(workspace), ledger)
    if call is not None:
        erased = erase_call(paths, call, reason=reason, by=_user())
        _forget_payloads(workspace, {*erased.calls, call})
    else:
        erased = erase_principal(paths, principal or "", before=before, reason=reason, by=_user())
        _forget_payloads(workspace, {*erased.calls})
    return _show_erased(erased)


@command.command("prune", epilog=_EXIT)
@_paths_option
@click.option("--before", required=True, metavar="DATE", callback=_parse_moment, help="Delete rows older than this.")
@click.option("--archive", metavar="FILE", help="Write them to a file that 'audit verify --file' can check.")
@click.option("--keep-payloads", is_flag=True, help="With --archive: include inputs and results.")
def prune_command(workspace: str, ledger: str | None, before: int, archive: str | None, keep_payloads: bool) -> int:
    """Remove the oldest rows. What is left stays verifiable."""
    if keep_payloads and archive is None:
        raise click.UsageError("--keep-payloads needs --archive: a row's payload cannot stay where the row does not")
    paths = ledger_paths(Workspace.open(workspace), ledger)
    file = Path(archive) if archive is not None else None
    if file is not None and file.exists():
        raise LedgerError(f"{archive} exists already; an archive never overwrites anything")
    with ProgressBar("rows") as progress:
        pruned = prune(paths, before=before, by=_user(), archive=file, has_payloads=keep_payloads, progress=progress)
    return _show_pruned(pruned, archive)


@command.command("backup", epilog=_EXIT)
@_paths_option
@click.argument("file")
def backup_command(workspace: str, ledger: str | None, file: str) -> int:
    """Copy the ledger to FILE while others go on writing, and verify the copy."""
    paths = ledger_paths(Workspace.open(workspace), ledger)
    with ProgressBar("rows") as progress:
        verdict = back_up(paths, Path(file), progress=progress)
    if not verdict.is_clean:
        _show(verdict, is_json=False)
        click.echo("ferrule: nothing was written, because the ledger does not verify", err=True)
        return 1
    click.echo(f"wrote {verdict.rows:,} rows to {file}, and verified them")
    return 0


@command.command("restore", epilog=_EXIT)
@_paths_option
@click.option("--force-older", is_flag=True, help="Drop rows that the backup lacks; this is recorded.")
@click.argument("file")
def restore_command(workspace: str, ledger: str | None, force_older: bool, file: str) -> int:
    """Verify the backup FILE and put it in the place of the ledger. No process may have the ledger open."""
    paths = ledger_paths(Workspace.open(workspace), ledger)
    with ProgressBar("rows") as progress:
        restored = restore(paths, Path(file), may_lose=force_older, progress=progress)
    return _show_restored(restored, paths, file)


def _show(verdict: AuditVerdict, is_json: bool) -> int:
    if is_json:
        record = {"is_clean": verdict.is_clean, **msgspec.to_builtins(verdict)}
        click.echo(json.dumps(record, indent=2))
    else:
        _show_words(verdict)
    return 0 if verdict.is_clean else 1


def _show_words(verdict: AuditVerdict) -> None:
    for finding in verdict.findings:
        click.echo(_describe_verdict(finding))
    more = verdict.finding_count - len(verdict.findings)
    if more:
        click.echo(f"… and {more:,} more")
    for note in verdict.notes:
        click.echo(f"note: {note}")
    rows = f"{verdict.rows:,} rows ({verdict.first_seq} to {verdict.last_seq}) in {verdict.seconds:.2f} s"
    if verdict.is_clean:
        click.echo(f"ledger {verdict.ledger}: nothing wrong in {rows}")
    else:
        found = "1 finding" if verdict.finding_count == 1 else f"{verdict.finding_count:,} findings"
        click.echo(f"ledger {verdict.ledger or 'unknown'}: {found} in {rows}")


def _describe_verdict(finding: AuditFinding) -> str:
    row = "" if finding.seq is None else f"row {finding.seq}: "
    call = f" [{finding.call}]" if finding.call else ""
    return f"{finding.topic}: {row}{finding.message}{call}".encode("utf-8", "backslashreplace").decode()


def _forget_payloads(workspace: str, calls: set[str]) -> None:
    """Destroys the payloads of calls outside the ledger."""
    opened = Workspace.open(workspace)
    store = FilePayloads(opened.root / opened.settings.results.path, Clock().now)
    asyncio.run(store.forget(calls))


def _show_erased(erased: Erasure) -> int:
    calls = "1 call" if len(erased.calls) == 1 else f"{len(erased.calls):,} calls"
    done = f"erased {erased.rows:,} payloads of {calls}" if erased.rows else "there was nothing left to erase"
    click.echo(done + (" and wrote the file anew" if erased.was_rewritten else ""))
    for call in erased.still_open:
        click.echo(f"left as it is: {call} has not ended; answer or cancel it, then erase again", err=True)
    if not erased.is_gone:
        click.echo(
            "a process reads an old state of the ledger, so bytes remain in its log; erase again when it is done",
            err=True,
        )
    return 1 if erased.still_open or not erased.is_gone else 0


def _show_pruned(pruned: PruneOutcome, archive: str | None) -> int:
    if pruned.rows:
        where = f", kept in {archive}" if archive is not None else ""
        click.echo(f"removed {pruned.rows:,} rows, up to row {pruned.last}{where}")
    else:
        click.echo("there was nothing to remove")
    if pruned.held_by is not None:
        click.echo(f"rows from {pruned.held_by} on stay: a call that has not ended begins there")
    return 0


def _show_restored(restored: RestoreOutcome, paths: LedgerPaths, file: str) -> int:
    if not restored.verdict.is_clean:
        _show(restored.verdict, is_json=False)
        click.echo("ferrule: nothing was restored, because the backup does not verify", err=True)
        return 1
    if restored.lost is None:
        click.echo("the ledger is as the backup has it; nothing was done")
        return 0
    click.echo(f"restored {paths.ledger} from {file}: rows up to {restored.verdict.last_seq}")
    if restored.lost.rows != 0:
        number = "an unknown number of" if restored.lost.rows is None else f"{restored.lost.rows:,}"
        click.echo(
            f"given up: {number} rows from {restored.lost.first} on; row {restored.verdict.last_seq + 1} records it"
        )
    if restored.aside is not None:
        click.echo(f"the ledger that was there is kept as {restored.aside}")
    for call in restored.approved:
        click.echo(f"careful: {call} is approved here and runs when a server starts; it may have run before", err=True)
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return "unknown"
