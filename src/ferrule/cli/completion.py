"""`ferrule completion SHELL`, and the completions its script asks for. Both are click's own, over our table."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class, shell_complete

from ferrule.cli import COMMANDS, COMPLETION_VARIABLE
from ferrule.cli.run import load

_HOW = {
    "bash": 'eval "$(ferrule completion bash)"   in ~/.bashrc',
    "zsh": 'eval "$(ferrule completion zsh)"   in ~/.zshrc',
    "fish": "ferrule completion fish > ~/.config/fish/completions/ferrule.fish",
}


class CommandTable(click.Group):
    """The commands as a click group that loads a command only when it is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Returns every name, in the order of `--help`."""
        return [entry[0] for entry in COMMANDS]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Returns the command of that name; None, so no completions, for one that fails to load."""
        target = next((entry[1] for entry in COMMANDS if entry[0] == name), None)
        return load(target) if target is not None else None

    def shell_complete(self, context: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Completes names with their help lines from the table, without loading a command."""
        return [
            click.shell_completion.CompletionItem(name, help=summary)
            for name, _, summary, _ in COMMANDS
            if name.startswith(incomplete)
        ]


@click.command(epilog="Put it to use:  " + ";  ".join(_HOW.values()))
@click.argument("shell", type=click.Choice(list(_HOW)))
def command(shell: str) -> None:
    """Print the script that lets SHELL complete ferrule's commands, options, rules, tools and ids of calls."""
    completer = get_completion_class(shell)
    assert completer is not None  # the three shells are click's own
    asked = completer(CommandTable(), {}, "ferrule", COMPLETION_VARIABLE)
    click.echo(asked.source_template % asked.source_vars())


def print_completions(instruction: str) -> int:
    """Prints the completions that the script asked for."""
    code = shell_complete(CommandTable(), {}, "ferrule", COMPLETION_VARIABLE, instruction)
    sys.stdout.flush()
    return code
