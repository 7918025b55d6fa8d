"""AT-24, AT-50 and AT-124: harmful tools without a permission profile or classifier input, and literal credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.agent_tool.records import find_record
from ferrule.model.diagnostic import Finding, Severity

CLASSIFIED_KINDS = frozenset({"shell_command", "code_execution", "browser_action"})
"""Kinds whose calls a classifier must be able to judge."""
PROFILED_KINDS = CLASSIFIED_KINDS | {"file_operation", "web_search", "openapi_operation"}
"""Kinds that read or write files, use the network or run code, whatever the tool."""

_SECRET = re.compile(
    r"(?:sk|pk|rk)[-_](?:live|test|proj|ant)[-_][A-Za-z0-9_-]{12,}"
    r"|sk-[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|(?i:bearer|basic) [A-Za-z0-9+/=._-]{12,}|-----BEGIN [\s\S]*"
)
_SECRET_KEYS = ("api_key", "access_token", "client_secret", "password", "private_key", "secret", "token")


class MissingPermissionProfile(Rule):
    """A tool that reads, writes, uses the network or runs code says so in a permission profile.

    Why: policies decide by its facts; without them the tool is treated as the worst case. (References that lead nowhere
    are errors of the same rule.)
    Bad:  "tool_kind": "shell_command" without `permission_profile_ref`
    Good: "permission_profile_ref": "permission_profile:shell"
    """

    code = "AT-24"
    name = "unresolved-profile"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields at most one warning."""
        value = subject.value
        kind = subject.get("tool_kind")
        if not isinstance(kind, str) or kind not in PROFILED_KINDS:
            return
        interface = value.get("tool_interface")
        if "permission_profile_ref" in value or "permission_profile" in value:
            return
        if isinstance(interface, dict) and "permission_profile_ref" in interface:
            return
        message = f"a {kind} tool has no permission profile"
        hint = "describe its risk in a `permission_profile`, or name one in `permission_profile_ref`"
        yield Finding(self.code, ("permission_profile_ref",), message, Severity.WARNING, hint)


class UnclassifiableTool(Rule):
    """Shell, code-execution and browser tools say which part of the input a classifier judges.

    Why: with an empty `classifier_input`, the default, every command looks the same to it.
    Bad:  a shell tool whose interface has no `classifier_input`
    Good: "classifier_input": "input.command"
    """

    code = "AT-50"
    name = "unclassifiable-tool"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields the embedded interface; a linked one is looked at when all files are known."""
        kind = subject.get("tool_kind")
        if not isinstance(kind, str) or kind not in CLASSIFIED_KINDS:
            return
        interface = find_record(subject, "interface")
        if interface is not None and is_empty(interface.value.get("classifier_input")):
            message = f"the `classifier_input` of a {kind} tool is empty"
            yield Finding(self.code, (*interface.path, "classifier_input"), message, hint="such as input.command")


class CredentialValue(Rule):
    """Credentials are named, never written down.

    Why: definitions are shared, stored and published; a secret in one is a secret no more.
    Bad:  "credential_refs": ["ghp_0123456789abcdefghij0123"]
    Good: "credential_refs": ["secret:github"]
    """

    code = "AT-124"
    name = "credential-value"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields texts that look like tokens, and members that hold one."""
        for kind, key in (("interface", "required_credentials"), ("permission_profile", "credential_refs")):
            record = find_record(subject, kind)
            if record is None:
                continue
            items = record.value.get(key)
            for index, item in enumerate(items if isinstance(items, list) else ()):
                if isinstance(item, str) and _SECRET.fullmatch(item.strip()):
                    message = "this looks like a credential's value, not its name"
                    yield Finding(self.code, (*record.path, key, index), message, hint="revoke it, then name it")
            if kind == "permission_profile":
                for word in _SECRET_KEYS:
                    if isinstance(record.value.get(word), str):
                        message = f"a permission profile must not hold a {word}"
                        yield Finding(self.code, (*record.path, word), message, hint="name it in `credential_refs`")


def is_empty(value: object) -> bool:
    """Returns True for a classifier input without content."""
    return value is None or value in ("", [], {}) or (isinstance(value, str) and not value.strip())
