"""`ferrule policy`: ask the rules about a call without making it, and keep a table of what they should say.

It takes a workspace's policy as it is written now; `app/preview/trial` does the asking.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import msgspec

from ferrule.app.preview.trial import CaseResult, TrialCall
from ferrule.app.preview.trial import PolicyTrial as Asked
from ferrule.cli.options import json_option, tools_here, workspace_option
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import WorkspaceError
from ferrule.model.decision import Requirement
from ferrule.model.value import JsonObject
from ferrule.runtime.policy.cases import Case, read_cases
from ferrule.runtime.policy.engine import RuleExplanation, make_engine
from ferrule.runtime.policy.facts import FLAGS
from ferrule.runtime.policy.load import load_policy
from ferrule.runtime.surface.catalogs import SealedCatalog
from ferrule.workspace.releases import build_in_memory
from ferrule.workspace.workspace import Workspace


class WorkspaceTrial:
    """The tools and rules of a workspace, for questions about calls."""

    def __init__(self, workspace: Workspace, *, is_personal: bool) -> None:
        settings = workspace.settings
        policy = load_policy(
            workspace.root,
            settings.policy,
            os.environ,
            expires_seconds=settings.approval.expires_seconds,
            is_personal=is_personal,
        )
        self._asked = Asked(SealedCatalog(build_in_memory(workspace)), make_engine(policy))

    def try_call(self, name: str, arguments: JsonObject, caller: JsonObject) -> TrialCall:
        """Tries one call. Raises PolicyError when the caller has no such tool."""
        return asyncio.run(self._asked.try_call(name, arguments, caller))

    def test_cases(self, cases: Iterable[Case]) -> list[CaseResult]:
        """Tests a table of cases."""
        return asyncio.run(self._asked.test_cases(cases))

    def explain(self, tried: TrialCall) -> list[RuleExplanation]:
        """Returns every rule with its outcome."""
        return self._asked.explain(tried)


CASES = "policy.test.toml"


@click.group()
def command() -> None:
    """Ask the policy about calls without making them.

    Rules stand in policy.toml (the security reviewer's), in [policy] of ferrule.toml, in .ferrule/policy.local.toml, in
    ~/.config/ferrule/policy.toml and in the file FERRULE_POLICY names. Deny beats ask beats allow, wherever they stand.
    """


@command.command()
@click.argument("tool", shell_complete=tools_here)
@click.option("--input", "given", default="{}", metavar="JSON", help="The call's arguments.")
@click.option("--principal", default="somebody", help="On whose behalf.")
@click.option("--agent", help="The agent that calls.")
@click.option("--channel", default="policy", help="The channel: credential and connection.")
@click.option("--unattended", is_flag=True, help="No person can be asked.")
@json_option
@workspace_option
def explain(
    tool: str, given: str, principal: str, agent: str | None, channel: str, unattended: bool, as_json: bool, path: str
) -> None:
    """Say what the policy would decide about a call of TOOL, and what became of each rule."""
    trial = WorkspaceTrial(Workspace.open(path), is_personal=True)
    caller = {"principal": principal, "agent": agent, "channel": channel, "is_interactive": not unattended}
    tried = trial.try_call(tool, _arguments(given), caller)
    considered = trial.explain(tried)
    if as_json:
        click.echo(json.dumps(_record(tried, considered), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(map(sanitize, _lines(tried, considered))))


@command.command("test")
@click.argument("file", required=False, type=click.Path(dir_okay=False))
@json_option
@workspace_option
def run_cases(file: str | None, as_json: bool, path: str) -> int:
    """Run a table of cases (FILE, or policy.test.toml of the workspace) against the workspace's own rules.

    Exit code 1 when a case fails.
    """
    workspace = Workspace.open(path)
    cases = _cases(Path(file) if file is not None else workspace.root / CASES)
    results = WorkspaceTrial(workspace, is_personal=False).test_cases(cases)
    failed = sum(not result.passed for result in results)
    if as_json:
        records = [msgspec.to_builtins(result) for result in results]
        click.echo(json.dumps({"cases": records, "failed": failed}, indent=2, ensure_ascii=False))
        return int(failed > 0)
    for result in results:
        click.echo(sanitize(f"{'pass' if result.passed else 'FAIL'}  {result.name}"))
        if result.failure is not None:
            click.echo(sanitize(f"      line {result.line}: {result.failure}"))
    click.echo(f"{len(cases)} case{'' if len(cases) == 1 else 's'}: {len(cases) - failed} passed, {failed} failed")
    return int(failed > 0)


def _arguments(text: str) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"--input is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise click.UsageError("--input must be a JSON object: the arguments by name")
    return value


def _cases(file: Path) -> list[Case]:
    try:
        return read_cases(file.read_text(encoding="utf-8-sig"), str(file))
    except OSError as error:
        raise WorkspaceError(f"the cases in {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise WorkspaceError(f"the cases in {file} are not UTF-8 text") from None


def _lines(tried: TrialCall, considered: list[RuleExplanation]) -> Iterator[str]:
    found, request = tried.preview, tried.request
    ruling = found.ruling
    yield f"tool      {tried.entry.tool.tool_id}"
    yield f"caller    {request.principal}{f', agent {request.agent}' if request.agent else ''}, channel {request.channel}"
    yield f"facts     {', '.join(_facts(tried))}"
    if tried.entry.approval_from:
        yield f"requires  an approval ({', '.join(tried.entry.approval_from)})"
    yield ""
    if not considered:
        yield "no rules"
    width = max((len(each.rule.rule_id) for each in considered), default=0)
    for each in sorted(considered, key=lambda each: not each.is_matched):
        mark = "*" if each.is_matched else " "
        yield f"{mark} {each.rule.decision:<11} {each.rule.rule_id:<{width}}  {each.rule.place}  {each.why}"
    yield ""
    yield f"decision  {found.verdict}: {found.why}"
    if ruling is None:
        return
    yield f"mode      {ruling.mode}"
    if ruling.behavior == "ask":
        yield f"approval  {_describe_demands(ruling.requirement)}"
    if ruling.shadow is not None:
        yield f"shadow    {ruling.shadow.policy_ref} would say {ruling.shadow.behavior}: {ruling.shadow.message}"


def _facts(tried: TrialCall) -> Iterator[str]:
    inferred = tried.entry.tool.inferred_facts
    facts = tried.preview.judged.facts if tried.preview.judged is not None else tried.entry.tool.facts
    for name in FLAGS:
        value = getattr(facts, name)
        yield f"{name} {'yes' if value is True else 'no'}{' (not stated)' if name in inferred else ''}"
    yield from tried.preview.failures


def _describe_demands(wanted: Requirement) -> str:
    who = " or ".join(wanted.approvers) if wanted.approvers else "anybody who may approve"
    people = f", {wanted.people} people" if wanted.people > 1 else ""
    others = ", not the requester" if wanted.not_requester else ""
    return f"{who}{people}{others}, within {_span(wanted.expires_seconds)}"


def _span(seconds: int) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _record(tried: TrialCall, considered: list[RuleExplanation]) -> JsonObject:
    found = tried.preview
    facts = found.judged.facts if found.judged is not None else tried.entry.tool.facts
    return {
        "tool_id": tried.entry.tool.tool_id,
        "verdict": found.verdict,
        "why": found.why,
        "ruling": msgspec.to_builtins(found.ruling),
        "rules": [
            {
                "id": each.rule.rule_id,
                "decision": each.rule.decision,
                "source": each.rule.source,
                "place": each.rule.place,
                "matched": each.is_matched,
                "why": each.why,
            }
            for each in considered
        ],
        "facts": {name: getattr(facts, name) for name in FLAGS},
        "failures": list(found.failures),
    }
