"""Runs one command and turns errors into a message and an exit code. Commands never exit by themselves."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper

import click

from ferrule.errors import FerruleError
from ferrule.model.hints import nearest

INTERRUPTED, PIPE_CLOSED = 130, 141
"""The codes shells give for a program ended by Ctrl-C, and by a reader that went away."""

_HELP = ["-h", "--help"]
_GARBAGE_EVERY = 50_000
"""Loading modules makes many objects and no garbage; Python's own 700 costs a tenth of a small check's time."""


def run(name: str, target: str, arguments: list[str]) -> int:
    """Loads the command at `module:attribute` and runs it; returns the exit code."""
    gc.set_threshold(_GARBAGE_EVERY)
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal without the letter gets its number, not an exception
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        command = load(target)
        # Not `command.main`: its answer to a closed pipe is 1, which here means "errors found".
        with command.make_context(f"ferrule {name}", arguments, help_option_names=_HELP) as context:
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
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:  # a full disk, a folder that may not be entered
        _drop_output()
        nameless = "the current folder" if isinstance(error, FileNotFoundError) else "cannot write the output"
        return fail(f"{error.filename or nameless}: {error.strerror}")
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("\n")
        return INTERRUPTED
    except Exception:  # Python would exit with 1, which here means "errors found"
        import traceback

        traceback.print_exc()
        return fail("this is a mistake in Ferrule itself; please report it with the lines above")


def _drop_output() -> None:
    """Discards buffered output, so that the exit does not fail on a closed pipe again."""
    with suppress(OSError):  # inside another program there may be no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def load(target: str) -> click.Command:
    """Loads the command of a table entry."""
    module, _, attribute = target.partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    return command


def refuse(word: str, known: tuple[str, ...]) -> int:
    """Reports an unknown command or option, with the nearest known command."""
    kind = "option" if word.startswith("-") else "command"
    hint = nearest(word, known) or "`ferrule --help` lists the commands"
    return fail(f"there is no {kind} {word!r}; {hint}")


def fail(message: str) -> int:
    """Prints on stderr why the command could not run."""
    with suppress(OSError):  # whoever cannot be told still gets the exit code
        sys.stderr.write(f"ferrule: {message}\n")
        sys.stderr.flush()
    return 2
