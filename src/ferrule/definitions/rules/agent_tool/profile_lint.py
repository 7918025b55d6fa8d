"""AT-121, AT-193 and AT-195: words in profiles that look misspelt, and shell profiles that leave something open."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.agent_tool.profile_fields import ACCESS_KINDS, EXECUTION_KINDS, WRITE_EFFECTS
from ferrule.definitions.rules.agent_tool.records import find_record
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest

_SHELL_FACTS = (
    ("how commands are parsed", ("command_parsing", "parser", "shell")),
    ("the working directory", ("working_directory", "cwd", "cwd_ref")),
    ("the environment", ("environment", "env", "env_policy_ref")),
    ("the sandbox", ("sandbox_profile", "sandboxed", "sandbox_ref")),
    ("background runs", ("supports_background",)),
    ("what a timeout does", ("timeout_behavior", "timeout_ms", "supports_timeout")),
    ("how exit codes are read", ("exit_code_interpretation", "exit_codes")),
    ("the classifier input", ("classifier_input",)),
)
"""What a shell profile says, and the keys it may say it with."""


class UnfamiliarAccessKind(Rule):
    """Access kinds and write effects are the standard's words; others are kept, and noted when they look misspelt.

    Why: a policy that asks about `file_write` does not see `file_writes`.
    Bad:  "access_kinds": ["file_writes"]
    Good: "access_kinds": ["file_write"]
    """

    code = "AT-121"
    name = "unfamiliar-access-kind"
    severity = Severity.INFO

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields words near to a known one; spaces count as underscores."""
        profile = find_record(subject, "permission_profile")
        if profile is None:
            return
        for key, known in (("access_kinds", ACCESS_KINDS), ("write_effects", WRITE_EFFECTS)):
            words = profile.value.get(key)
            for index, word in enumerate(words if isinstance(words, list) else ()):
                if isinstance(word, str) and word.replace(" ", "_") not in known:
                    hint = nearest(word, known)
                    if hint is not None:
                        yield Finding(
                            self.code, (*profile.path, key, index), f"{word!r} is unknown", Severity.INFO, hint
                        )


class VagueShellProfile(Rule):
    """A shell profile says how it parses, where and in which environment it runs, and how it ends.

    It says: how commands are parsed (`command_parsing`), the `working_directory`, the `environment`, the
    `sandbox_profile`, whether there are background runs (`supports_background`), what a timeout does
    (`timeout_behavior`), how exit codes are read (`exit_code_interpretation`), and the `classifier_input`.
    Why: an approver cannot judge a command without them.
    Bad:  "execution_kind": "shell" and nothing else
    Good: all eight
    """

    code = "AT-195"
    name = "vague-shell-profile"
    severity = Severity.INFO

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields at most one note, with the list of what is missing."""
        profile = find_record(subject, "execution_profile")
        if profile is None or profile.value.get("execution_kind") != "shell":
            return
        said = set(profile.value)
        if find_record(subject, "interface") is not None:  # then AT-50 asks for the classifier input
            said.add("classifier_input")
        missing = [fact for fact, keys in _SHELL_FACTS if said.isdisjoint(keys)]
        if missing:
            message = f"this shell profile does not say: {', '.join(missing)}"
            yield Finding(self.code, (*profile.path, "execution_kind"), message, Severity.INFO)


class MalformedExecutionProfile(Rule):
    """Execution profiles name their kind; other words than the standard's are kept, and noted when they look misspelt.

    Why: the kind picks the executor.
    Bad:  "execution_kind": "http-api"
    Good: "execution_kind": "http_api"
    """

    code = "AT-193"
    name = "malformed-execution-profile"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields at most one note."""
        profile = find_record(subject, "execution_profile")
        kind = profile.value.get("execution_kind") if profile else None
        if profile is not None and isinstance(kind, str) and kind not in EXECUTION_KINDS:
            hint = nearest(kind, EXECUTION_KINDS)
            if hint is not None:
                path = (*profile.path, "execution_kind")
                yield Finding(self.code, path, f"{kind!r} is no kind of the standard", Severity.INFO, hint)
