"""`ferrule export`: what an agent would see, or the whole catalog, for a provider of models or a framework.

For a framework it writes a short Python program whose tools are those of a surface, called through Ferrule. The report
lists what was exported, for people and for programs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import msgspec

from ferrule.access.keys import AGENTS, KEYS_FOLDER, TOKENS_FILE, Access
from ferrule.app.app import App
from ferrule.app.export import Exported, TokenCount, export_preview, export_tools
from ferrule.app.opening import open_app
from ferrule.cli import OK, PROBLEMS_FOUND
from ferrule.cli.loop import run_command
from ferrule.cli.options import workspace_option
from ferrule.cli.show.conversion_report import LossEntry, entry_of
from ferrule.cli.show.output import json_text
from ferrule.cli.written_files import write_file
from ferrule.definitions.content.tokens import ESTIMATE, TokenCounter, find_counter
from ferrule.definitions.formats.builtin import TABLE
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import FerruleError
from ferrule.model.surface import SurfaceRequest
from ferrule.model.tool import Tool
from ferrule.workspace.agent_tools import build_agent_tools
from ferrule.workspace.staleness import is_stale
from ferrule.workspace.workspace import Workspace

FRAMEWORKS = {"langchain": "langchain", "openai-agents": "openai_agents", "pydantic-ai": "pydantic_ai"}
"""Each with the module of `ferrule.adapters` that makes its tools."""
_USES = {
    "langchain": """        # from langchain.agents import create_agent
        # agent = create_agent("openai:gpt-5", tools=tools)""",
    "openai-agents": """        # from agents import Agent, Runner
        # agent = Agent(name="assistant", instructions=instructions, tools=tools)""",
    "pydantic-ai": """        # from pydantic_ai import Agent
        # agent = Agent("openai:gpt-5", instructions=instructions, tools=tools)""",
}


def write_program(framework: str, workspace: str, **caller: str | None) -> str:
    """Writes the program. `caller`: the options of `App.surface`; those that are None are left out."""
    adapter = FRAMEWORKS[framework]
    said = ", ".join(f"{name}={value!r}" for name, value in caller.items() if value is not None)
    return f'''"""The tools of a Ferrule workspace for {framework}: decided, approved and recorded like any other."""

import asyncio

import ferrule
from ferrule.adapters import {adapter}


async def main() -> None:
    async with ferrule.open({workspace!r}) as app:
        surface = app.surface({said})
        tools = {adapter}.tools(surface)
        instructions = surface.tools().instructions
        for tool in tools:
            print(tool.name)
{_USES[framework]}


asyncio.run(main())
'''


class OmittedTool(msgspec.Struct, frozen=True):
    """A tool that the target format cannot express."""

    tool_id: str
    why: str
    """The reason."""
    hint: str | None
    """What to do about it."""


class ExportReport(msgspec.Struct, frozen=True):
    """The output of `ferrule export --report json`."""

    to: str
    """The provider or framework."""
    tools: int
    """How many tools were written, those that are deferred included."""
    tokens: TokenCount
    """`counted_by` (`estimate`, or a tokenizer), `total`, `instructions`, and of each tool by name: `tools`, `deferred`."""
    names: dict[str, str]
    """Names that had to be changed: the written one to the one that `ferrule call` takes."""
    left_out: tuple[OmittedTool, ...]
    """Tools that cannot be said at all."""
    losses: tuple[LossEntry, ...]
    """What the target cannot say of the others, as `ferrule convert` reports it."""


def make_report(exported: Exported, to: str) -> ExportReport:
    """Makes the report of an export."""
    tokens = exported.tokens
    left_out = tuple(
        OmittedTool(str(one.path[0]) if one.path else "", one.message, one.hint) for one in exported.left_out
    )
    count = len(exported.offered) or len(tokens.tools) + len(tokens.deferred)
    return ExportReport(to, count, tokens, dict(exported.names), left_out, tuple(map(entry_of, exported.losses)))


def report_lines(report: ExportReport, *, is_counted: bool) -> Iterator[str]:
    """Yields the report for people, with every tool's count on request."""
    tokens = report.tokens
    if is_counted:
        every = {**tokens.tools, **{f"{name} (deferred)": count for name, count in tokens.deferred.items()}}
        if tokens.instructions:
            every["(instructions)"] = tokens.instructions
        width = max((len(name) for name in every), default=0)
        for name, count in sorted(every.items(), key=lambda one: -one[1]):
            yield f"{sanitize(name):<{width}} {count:>8,}"
    for written, own in report.names.items():
        yield f"{sanitize(own)} is called {sanitize(written)} there"
    for one in report.left_out:
        yield f"left out: {sanitize(one.why)}" + (f"; {sanitize(one.hint)}" if one.hint else "")
    yield _summary(report)


def _summary(report: ExportReport) -> str:
    tokens = report.tokens
    how = "about " if tokens.counted_by == ESTIMATE else ""
    by = "estimated" if tokens.counted_by == ESTIMATE else f"counted by {tokens.counted_by}"
    tools = f"{report.tools} tool{'' if report.tools == 1 else 's'} for {report.to}"
    deferred = f", {len(tokens.deferred)} of them deferred" if tokens.deferred else ""
    left = f"; {len(report.left_out)} left out" if report.left_out else ""
    final = sum(loss.is_final for loss in report.losses)
    unsaid = f"; {final} things of them are not said there (--report json tells which)" if final else ""
    return f"{tools}{deferred}: {how}{tokens.total:,} tokens ({by}){left}{unsaid}"


_EPILOG = """\b
Examples:
  ferrule export --to openai --agent support > request.json
  ferrule export --to anthropic --strict --tokens > request.json
  ferrule export --to gemini --whole --out tools.json
  ferrule export --to langchain --agent support > tools.py
  ferrule export --to openai --agents

Exit code: 0 when everything was exported, 1 when a tool had to be left out, 2 when it could not run.
"""


class _ExportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an export."""

    target: str
    agent: str | None
    role: str | None
    surface: str | None
    principal: str | None
    is_whole: bool
    is_agents: bool
    is_strict: bool
    counter: TokenCounter


@click.command(epilog=_EPILOG)
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Choice([*TABLE, *FRAMEWORKS], case_sensitive=False),
    help="The provider or framework.",
)
@click.option("--agent", help="Export what this agent of the catalog sees; by default what an unnamed agent sees.")
@click.option("--role", help="Restrict to this role.")
@click.option("--surface", help="The surface record of the catalog to apply.")
@click.option("--principal", help="On whose behalf; by default the holder of the agents' token.")
@click.option("--whole", is_flag=True, help="The whole catalog, regardless of who may see it.")
@click.option("--agents", "is_agents", is_flag=True, help="The agents that may be invoked, as tools for others.")
@click.option("--strict", is_flag=True, help="Strict schemas, where the provider supports them.")
@click.option(
    "--tokens",
    "is_counted",
    is_flag=True,
    help="Count the tokens of each tool: exactly where a tokenizer is installed, else estimated.",
)
@click.option(
    "--report",
    "report_as",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the report on standard error (with --out on standard output).",
)
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write to this file.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.option("--build", "is_built", is_flag=True, help="Build the catalog first, from the current definitions.")
@workspace_option
def command(
    target: str,
    agent: str | None,
    role: str | None,
    surface: str | None,
    principal: str | None,
    whole: bool,
    is_agents: bool,
    strict: bool,
    is_counted: bool,
    report_as: str,
    out: str | None,
    force: bool,
    is_built: bool,
    path: str,
) -> int:
    """Write the tools of a surface as a provider of models takes them, or as code for a framework.

    It is exactly what the agent's model would be shown: what policy, roles and switches hide is not in it, and neither are
    fields that only the runtime fills in. For a provider it is the beginning of a request: tools, the choice among them,
    instructions. For a framework (langchain, openai-agents, pydantic-ai) it is Python that calls them through Ferrule.
    """  # fmt: skip
    if (whole or is_agents) and (agent or role or surface or principal):
        raise click.UsageError("--whole and --agents are for the catalog, whoever looks; leave the caller out")
    if (whole or is_agents) and target in FRAMEWORKS:
        raise click.UsageError("code for a framework calls the tools of a surface; leave --whole and --agents out")
    counter = find_counter(target) if is_counted else find_counter("")
    asked = _ExportOptions(
        target=target,
        agent=agent,
        role=role,
        surface=surface,
        principal=principal,
        is_whole=whole,
        is_agents=is_agents,
        is_strict=strict,
        counter=counter,
    )
    if not is_built and is_stale(Workspace.open(path)):
        click.echo(
            "note: definitions changed since the catalog was built; --build exports them as they are now", err=True
        )
    exported = run_command(_export(path, asked, is_built))
    if target in FRAMEWORKS:
        data = write_program(target, path, agent=agent, role=role, surface_id=surface, principal=principal).encode()
    else:
        data = (json_text(exported.request) + "\n").encode()
    if out is None:
        # Text that waits above the byte stream would come after these bytes.
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_file(Path(out), data, is_forced=force)
    _print_report(make_report(exported, target), report_as, is_counted, is_aside=out is None)
    return PROBLEMS_FOUND if exported.left_out else OK


async def _export(path: str, asked: _ExportOptions, is_built: bool) -> Exported:
    # A framework asks the provider behind it for the same tools; the chat shape is what they all begin from.
    to = "openai" if asked.target in FRAMEWORKS else asked.target
    async with open_app(path, tends=False, build="always" if is_built else "missing") as app:
        if asked.is_whole or asked.is_agents:
            tools = _agents(app, path) if asked.is_agents else [listed.tool for listed in app.catalog.list_preferred()]
            return export_tools(
                tools, to, strict=asked.is_strict, title=Workspace.open(path).namespace, counter=asked.counter
            )
        principal, channel = _choose_principal(app)
        request = SurfaceRequest(
            principal=asked.principal or principal,
            channel=channel,
            agent=asked.agent,
            role=asked.role,
            surface_id=asked.surface,
        )
        surface = await app.preview(request)
        return export_preview(surface, app.surface_settings, to, strict=asked.is_strict, counter=asked.counter)


def _agents(app: App, path: str) -> list[Tool]:
    return build_agent_tools(app.catalog.records("agent"), Workspace.open(path).namespace)


def _choose_principal(app: App) -> tuple[str, str]:
    """Returns the principal of `ferrule call`, without making tokens."""
    with suppress(FerruleError):
        if (Path(app.root) / KEYS_FOLDER / TOKENS_FILE).exists():
            identity = Access(app.root).local_agent()
            return identity.principal, identity.channel
    return AGENTS, "export"


def _print_report(report: ExportReport, report_as: str, is_counted: bool, *, is_aside: bool) -> None:
    lines: Iterator[str] = iter([json_text(msgspec.to_builtins(report))])
    if report_as == "text":
        lines = report_lines(report, is_counted=is_counted)
    for line in lines:
        click.echo(line, err=is_aside)
