"""The commands page, from the commands' options. Not click's own help text, which differs between versions."""

from __future__ import annotations

import inspect
import textwrap

import click

from ferrule.cli import COMMANDS, help_text
from ferrule.cli.run import load
from scripts.reference.cells import cell


def page() -> str:
    """Every command with its arguments and options."""
    lines = ["# Commands", "", "```text", help_text().rstrip(), "```", ""]
    for name, target, _, _ in COMMANDS:
        lines += _section(name, load(target))
    lines += [
        "## Exit codes",
        "",
        "| code | meaning |",
        "|---|---|",
        "| 0 | done: no errors in the definitions, the call succeeded, nothing wrong in the ledger |",
        "| 1 | errors in the definitions (or warnings, with `--strict`), an error of the call, something wrong in the ledger |",
        "| 2 | the command could not do its work; the reason is on stderr |",
        "| 3 | the call waits: for a person, or for a process that can run it |",
        "",
    ]
    return "\n".join(lines)


def _section(name: str, command: click.Command) -> list[str]:
    arguments = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    usage = " ".join(["ferrule", name, *(["[OPTIONS]"] if options else []), *(_argument(each) for each in arguments)])
    if isinstance(command, click.Group):
        usage += " COMMAND"
    lines = [f"## ferrule {name}", "", f"`{usage}`", ""]
    if command.help:
        lines += _paragraphs(inspect.cleandoc(command.help))
    if options:
        lines += ["| option | |", "|---|---|"]
        lines += [f"| `{_spelling(option)}` | {cell(_plain(option.help or ''))} |" for option in options]
        lines.append("")
    if command.epilog:
        lines += [_plain(command.epilog), ""]
    for part in command.commands.values() if isinstance(command, click.Group) else ():
        lines += _section(f"{name} {part.name}", part)
    return lines


def _paragraphs(text: str) -> list[str]:
    """A help text; what click leaves as it is (marked with a backspace) becomes a block."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            lines += ["```text", textwrap.dedent(paragraph.removeprefix("\b").strip("\n")), "```", ""]
        else:
            lines += [_plain(paragraph), ""]
    return lines


def _argument(argument: click.Argument) -> str:
    if argument.metavar:
        return argument.metavar
    name = (argument.name or "").upper()
    return name if argument.required else f"[{name}]"


def _spelling(option: click.Option) -> str:
    words = ", ".join([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return words
    if isinstance(option.type, click.Choice):
        return f"{words} {'/'.join(str(choice) for choice in option.type.choices)}"
    return f"{words} {option.metavar or (option.type.name or 'value').upper()}"


def _plain(text: str) -> str:
    return " ".join(text.replace("\b", "").split())
