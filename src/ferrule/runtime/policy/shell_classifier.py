"""The classifier that comes along: `classifier:shell` knows which commands only look. What it does not know is not harmless."""

from __future__ import annotations

from typing import Any

from ferrule.contracts.policy import Classification, Classifier
from ferrule.infra.processes.shell_text import Part
from ferrule.model.surface import SurfaceEntry
from ferrule.runtime.policy.commands import parsed_of
from ferrule.runtime.policy.values import Fields

_LOOKING = frozenset(
    {
        "ls", "cat", "head", "tail", "wc", "pwd", "echo", "whoami", "id", "uname", "df", "du", "stat", "basename", "dirname",
        "realpath", "readlink", "true", "false", "grep", "egrep", "fgrep", "cut", "tr", "nl", "cmp", "diff", "comm", "md5sum",
        "sha1sum", "sha256sum", "uptime", "ps", "free", "which", "seq", "tac", "rev", "od", "hexdump", "jq", "column", "fold",
        "printenv", "groups",
    }
)  # fmt: skip
"""Programs that write nothing and run nothing whatever their options. Git is not among them: its settings name programs."""
_FIELDS = Fields()
_LONGEST = 40


class ShellClassifier:
    """Allows a command line when every command in it is known to only look."""

    name = "shell"

    def classify(self, entry: SurfaceEntry, subject: Any) -> Classification:
        """The judgement of a command line, a list of words, or arguments with one in them."""
        lines = [subject]
        if isinstance(subject, dict):
            lines = [found.value for found in _FIELDS.values("command", subject)]
        if not lines:
            return Classification("ask", 1.0, "there is no command to judge")
        for line in lines:
            parsed = parsed_of(line)
            if not parsed.is_certain or not parsed.parts:
                return Classification("ask", 1.0, "the command line cannot be parsed for certain")
            for part in parsed.parts:
                if not _only_looks(part):
                    return Classification("ask", 1.0, f"{_shown(part)} is not known to be harmless")
        return Classification("allow", 1.0, "every command only looks")


def _only_looks(part: Part) -> bool:
    if not part.is_plain or not part.words or part.words[0].is_open:
        return False
    program, *rest = part.words
    if program.text == "date":  # with a bare number it sets the clock
        return all(not word.is_open and word.text.startswith("+") for word in rest)
    return program.text in _LOOKING


def _shown(part: Part) -> str:
    if not part.words:
        return "an assignment"
    program = part.words[0].text
    return repr(program if len(program) <= _LONGEST else f"{program[:_LONGEST]}…")


SHELL = ShellClassifier()
BUILTIN: dict[str, Classifier] = dict.fromkeys(("shell", "shell_read_only"), SHELL)
"""Classifiers that are always there, by the names definitions use."""
