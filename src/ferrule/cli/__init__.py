"""The command line: the table of commands, `--help`, `--version`, and the dispatch to one command.

It imports nothing before a command is chosen, not even click, so `--help` is as quick as Python. Each command is a
click command named `command` in a file of its own; `cli/run.py` runs it. Top layer: commands may import every package
except `testing` and `adapters`. They do not know how calls are decided or stored.
"""

from __future__ import annotations

import os
import sys

from ferrule import __version__

COMMANDS = (
    # name, where it lives, what it does, heading in --help
    ("init", "ferrule.cli.init:command", "Write a small workspace to begin with", "Define"),
    ("check", "ferrule.cli.check:command", "Find the mistakes in definitions, and mend what can be mended", "Define"),
    ("rule", "ferrule.cli.rule:command", "Explain one rule, or list them all", "Define"),
    (
        "import",
        "ferrule.cli.import_tools:command",
        "Make tools of OpenAPI documents, MCP servers, functions; keep up with them",
        "Define",
    ),
    (
        "convert",
        "ferrule.cli.convert:command",
        "Write tools in another format's words, and tell what got lost",
        "Define",
    ),
    ("export", "ferrule.cli.export:command", "Write the tools an agent sees for a provider or framework", "Define"),
    ("gen", "ferrule.cli.gen:command", "Write typed stubs of tools: Go, TypeScript, Rust, Python", "Define"),
    ("call", "ferrule.cli.call:command", "Call a tool: validated, decided, recorded", "Call"),
    ("batch", "ferrule.cli.batch:command", "Make many calls from a file, in order where order matters", "Call"),
    ("follow", "ferrule.cli.follow:command", "Show how far a running call is, from any process", "Call"),
    ("cancel", "ferrule.cli.cancel:command", "Ask a call to stop, and tell what came of it", "Call"),
    ("serve", "ferrule.cli.serve:command", "Serve the tools over MCP, OXP and HTTP", "Serve"),
    ("console", "ferrule.cli.console:command", "Open the console of a served workspace in the browser", "Serve"),
    ("list", "ferrule.cli.list:command", "List the tools of a workspace", "Look"),
    ("show", "ferrule.cli.show_tool:command", "Show one tool in full", "Look"),
    ("log", "ferrule.cli.log:command", "List the latest calls, or follow them", "Look"),
    ("explain", "ferrule.cli.explain:command", "Tell the whole story of one call", "Look"),
    ("result", "ferrule.cli.result:command", "Show how one call ended, and save what it gave", "Look"),
    ("doctor", "ferrule.cli.doctor:command", "Tell for each tool whether it would work, and why not", "Look"),
    ("build", "ferrule.cli.build:command", "Compile the definitions into a sealed catalog", "Release"),
    ("publish", "ferrule.cli.publish:command", "Record a built catalog as a release", "Release"),
    ("diff", "ferrule.cli.diff:command", "Compare definitions with what is published", "Release"),
    ("lock", "ferrule.cli.lock:command", "Pin what MCP servers say about their tools, and see what changed", "Release"),
    ("policy", "ferrule.cli.policy:command", "Ask the policy about a call, or test it with a table", "Govern"),
    ("pending", "ferrule.cli.pending:command", "List the calls that wait for a person", "Govern"),
    ("approve", "ferrule.cli.approve:command", "Say yes to a waiting call, and run it", "Govern"),
    ("reject", "ferrule.cli.reject:command", "Say no to a waiting call", "Govern"),
    ("answer", "ferrule.cli.answer:command", "Give a waiting tool what it asked for", "Govern"),
    ("delegate", "ferrule.cli.delegate:command", "Hand a waiting task on to somebody else", "Govern"),
    ("settle", "ferrule.cli.settle:command", "Say whether a tool acted, after a crash", "Govern"),
    ("disable", "ferrule.cli.disable:command", "Turn a tool off, at once and everywhere", "Govern"),
    ("enable", "ferrule.cli.enable:command", "Turn a tool on again", "Govern"),
    ("key", "ferrule.cli.key:command", "Make, list, rotate and revoke the keys of people and agents", "Govern"),
    ("token", "ferrule.cli.key:command", "The same as key", "Govern"),
    ("connect", "ferrule.cli.connect:command", "Authorize tools to act in your name (OAuth)", "Govern"),
    ("connections", "ferrule.cli.connections:command", "List what users have authorized", "Govern"),
    ("disconnect", "ferrule.cli.disconnect:command", "Take an authorization back", "Govern"),
    ("audit", "ferrule.cli.audit:command", "Verify, export, erase, prune, back up or restore the ledger", "Audit"),
    ("completion", "ferrule.cli.completion:command", "Print the completion script for a shell", "Shell"),
)
COMPLETION_VARIABLE = "_FERRULE_COMPLETE"

OK, PROBLEMS_FOUND, COULD_NOT_RUN = 0, 1, 2
"""Exit codes: nothing wrong; the definitions have errors; the command itself could not do its work."""


def main(arguments: list[str] | None = None) -> int:
    """Runs one command line and returns its exit code."""
    # Not list(…): once the command of that name is loaded, `list` means its module here.
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    _open_closed_streams()
    if COMPLETION_VARIABLE in os.environ and arguments is None:
        return _call("ferrule.cli.completion:print_completions", os.environ[COMPLETION_VARIABLE])
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    first = words[0] if words else "--help"
    if first in ("--help", "-h"):
        return _print(help_text())
    if first in ("--version", "-V"):
        return _print(f"ferrule {__version__}\n")
    for name, target, _, _ in COMMANDS:
        if name == first:
            return _call("ferrule.cli.run:run", name, target, words[1:])
    return _call("ferrule.cli.run:refuse", first, tuple(entry[0] for entry in COMMANDS))


def help_text() -> str:
    """Returns the text of `ferrule --help`."""
    lines = [
        "Usage: ferrule COMMAND [OPTIONS] [ARGUMENTS]",
        "",
        "Checks the tool definitions of AI agents (AML, ADL, OXP, Agent Tool) like a compiler, builds",
        "them into a sealed catalog, and runs their calls: validated, decided, approved, recorded.",
    ]
    heading = ""
    for name, _, summary, section in COMMANDS:
        if section != heading:
            lines += ["", f"{section}:"]
            heading = section
        lines.append(f"  {name:<11} {summary}")
    lines += [
        "",
        "Options:",
        "  -h, --help     Show this, or with a command the command's own help",
        "  -V, --version  Show the version",
        "",
        "New here?  ferrule init my-tools && cd my-tools && ferrule check",
    ]
    return "\n".join(lines) + "\n"


def _call(target: str, *arguments: object) -> int:
    module, _, attribute = target.partition(":")
    __import__(module)
    code: int = getattr(sys.modules[module], attribute)(*arguments)
    return code


def _print(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that exiting does not complain again
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"ferrule: cannot write the output: {error.strerror}\n")
            return COULD_NOT_RUN
    return OK


def _open_closed_streams() -> None:
    """Opens a null device for a closed output (`>&-`), where Python leaves None: the caller wants the exit code alone."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  open until the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  open until the end
