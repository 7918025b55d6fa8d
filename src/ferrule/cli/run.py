"""Runs one command and turns what goes wrong into a message and an exit code. Commands never exit by themselves."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

from ferrule.errors import FerruleError
from ferrule.model.nearest import nearest

INTERRUPTED, PIPE_CLOSED = 130, 141
"""The codes shells give for a program ended by Ctrl-C, and by a reader that went away."""

_GARBAGE_EVERY = 50_000
"""Loading modules makes many objects and no garbage; Python's own 700 costs a tenth of a small check's time."""


def run(name: str, target: str, arguments: list[str]) -> int:
    """Load the command at `module:attribute` and run it; gives the exit code."""
    gc.set_threshold(_GARBAGE_EVERY)
    try:
        command = load(target)
        # Not `command.main`: its answer to a closed pipe is 1, which here means "errors found".
        with command.make_context(f"ferrule {name}", arguments) as context:
            code = command.invoke(context)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except FerruleError as error:
        return fail(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that exiting does not complain again
        return PIPE_CLOSED
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("\n")
        return INTERRUPTED


def load(target: str) -> click.Command:
    """The command a table entry names."""
    module, _, attribute = target.partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    return command


def refuse(word: str, known: tuple[str, ...]) -> int:
    """An unknown command or option, with the nearest known command."""
    kind = "option" if word.startswith("-") else "command"
    hint = nearest(word, known) or "`ferrule --help` lists the commands"
    return fail(f"there is no {kind} {word!r}; {hint}")


def fail(message: str) -> int:
    """Say on stderr why the command could not run."""
    sys.stderr.write(f"ferrule: {message}\n")
    return 2
