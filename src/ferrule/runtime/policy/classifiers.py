"""Asks the classifiers that a policy names, and turns their answers into notes; a failure is a note too (AT-137).

One classifier comes along: `classifier:shell` knows which commands only look. A command that it does not know is not
harmless. Stands below `engine.py` and `program.py`, which weigh the notes.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Mapping
from copy import deepcopy
from typing import NamedTuple

from ferrule.contracts.policy import Classification, Classifier
from ferrule.infra.processes.shell_text import Part
from ferrule.model.decision import Behavior, ClassifierNote
from ferrule.model.surface import SurfaceEntry
from ferrule.runtime.policy.commands import parse_command
from ferrule.runtime.policy.records import ClassifierUse
from ferrule.runtime.policy.view import ArgumentFields

_BEHAVIORS: tuple[Behavior, ...] = ("allow", "ask", "deny")


class ClassifierPanel(NamedTuple):
    """The classifiers asked about one tool."""

    entry: SurfaceEntry
    uses: tuple[ClassifierUse, ...]
    classifiers: Mapping[str, Classifier]

    def ask(self, subject: object) -> tuple[ClassifierNote, ...] | Awaitable[tuple[ClassifierNote, ...]]:
        """Returns every judgement; awaitable when one of the classifiers is async."""
        answers = [self._ask(use, subject) for use in self.uses]
        if any(inspect.isawaitable(answer) for answer in answers):
            return self._gather(answers)
        return tuple(_make_note(use, answer) for use, answer in zip(self.uses, answers, strict=True))

    def _ask(self, use: ClassifierUse, subject: object) -> object:
        classifier = self.classifiers.get(use.name)
        if classifier is None:
            return LookupError("there is no such classifier")
        try:
            return classifier.classify(self.entry, deepcopy(subject))  # what it writes into it changes nothing
        except Exception as error:  # whatever it is, it is not a yes
            return error

    async def _gather(self, answers: list[object]) -> tuple[ClassifierNote, ...]:
        notes: list[ClassifierNote] = []
        for use, answer in zip(self.uses, answers, strict=True):
            if inspect.isawaitable(answer):
                try:
                    answer = await answer
                except Exception as error:  # as above; cancelling is no answer and goes on its way
                    answer = error
            notes.append(_make_note(use, answer))
        return tuple(notes)


def _make_note(use: ClassifierUse, answer: object) -> ClassifierNote:
    if isinstance(answer, Classification) and answer.behavior in _BEHAVIORS and _is_share(answer.confidence):
        return ClassifierNote(use.name, answer.behavior, float(answer.confidence), answer.reason, use.authority)
    # A classifier that could have denied may have wanted to; one that could only approve has not done so.
    failed: Behavior = "deny" if use.authority in ("deny", "decide") else "ask"
    why = f"it failed ({type(answer).__name__}: {answer})" if isinstance(answer, Exception) else "its answer is none"
    return ClassifierNote(use.name, failed, 0.0, why, use.authority)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1


_LOOKING = frozenset(
    {
        "ls", "cat", "head", "tail", "wc", "pwd", "echo", "whoami", "id", "uname", "df", "du", "stat", "basename", "dirname",
        "realpath", "readlink", "true", "false", "grep", "egrep", "fgrep", "cut", "tr", "nl", "cmp", "diff", "comm", "md5sum",
        "sha1sum", "sha256sum", "uptime", "ps", "free", "which", "seq", "tac", "rev", "od", "hexdump", "jq", "column", "fold",
        "printenv", "groups",
    }
)  # fmt: skip
"""Programs that write nothing and run nothing whatever their options. Git is not among them: its settings name programs."""
_FIELDS = ArgumentFields()
_LONGEST = 40


class ShellClassifier:
    """Allows a command line when every command in it is known to be read-only."""

    name = "shell"

    def classify(self, entry: SurfaceEntry, subject: object) -> Classification:
        """Judges a command line, a list of words, or arguments with one in them."""
        lines = [subject]
        if isinstance(subject, dict):
            lines = [found.value for found in _FIELDS.find_values("command", subject)]
        if not lines:
            return Classification("ask", 1.0, "there is no command to judge")
        for line in lines:
            parsed = parse_command(line)
            if not parsed.is_certain or not parsed.parts:
                return Classification("ask", 1.0, "the command line cannot be parsed for certain")
            for part in parsed.parts:
                if not _only_looks(part):
                    return Classification("ask", 1.0, f"{_format_program(part)} is not known to be harmless")
        return Classification("allow", 1.0, "every command only looks")


def _only_looks(part: Part) -> bool:
    if not part.is_plain or not part.words or part.words[0].is_open:
        return False
    program, *rest = part.words
    if program.text == "date":  # with a bare number it sets the clock
        return all(not word.is_open and word.text.startswith("+") for word in rest)
    return program.text in _LOOKING


def _format_program(part: Part) -> str:
    if not part.words:
        return "an assignment"
    program = part.words[0].text
    return repr(program if len(program) <= _LONGEST else f"{program[:_LONGEST]}…")


SHELL = ShellClassifier()
BUILTIN: dict[str, Classifier] = dict.fromkeys(("shell", "shell_read_only"), SHELL)
"""Classifiers that are always there, by the names definitions use."""
