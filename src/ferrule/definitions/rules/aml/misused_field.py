"""Four rules about fields of a tool file that are written and say nothing usable: blocks left empty, error codes that are no
HTTP status, deprecations without a date, and values under our own key that cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.content.extension import FIELDS, find_bad_members
from ferrule.definitions.rules.aml.fields import MISSING_FIELDS, is_status_code
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.model.loss import EXTENSION
from ferrule.model.value import MISSING, is_blank

_REQUIRED = {"meta": ("name", "description", "owner"), "interface": ("input", "output")}


class EmptyBlock(Rule):
    """A `meta` or `interface` left empty lacks each of its required fields.

    Bad:  an empty `meta:`
    Good: `meta:` with name, description and owner
    """

    code = "AML-7"
    name = "missing-field"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields one finding per field, as when the block is not there at all."""
        for block, keys in _REQUIRED.items():
            if block in subject.value and is_blank(subject.value[block]):
                for key in keys:
                    field = f"{block}.{key}"
                    yield Finding(self.code, (block, key), f"`{field}` is missing", hint=MISSING_FIELDS[field])


class MalformedErrorCode(Rule):
    """`error_codes` maps HTTP status codes (100 to 599) to a `meaning` and an `agent_action`, both filled in.

    Why: the failing response is looked up by its status, and the model is told both texts.
    Bad:  error_codes: {rate-limit: {meaning: Too many calls}}
    Good: error_codes: {429: {meaning: Too many calls, agent_action: Wait a minute and repeat}}
    """

    code = "AML-36"
    name = "malformed-error-code"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each key that is no status code."""
        codes = subject.get("error_codes")
        if isinstance(codes, dict):
            for key in codes:
                if not is_status_code(key):
                    message = f"{key!r} is no HTTP status code from 100 to 599"
                    hint = "write one entry per status, such as `429:`"
                    yield Finding(self.code, ("error_codes", key), message, hint=hint, on_key=True)


class UndatedDeprecation(Rule):
    """A deprecated tool has `meta.last_updated`.

    Why: whoever still uses it needs to know since when.
    Bad:  status: deprecated, and no date
    Good: status: deprecated, meta: {last_updated: 2026-02-01, …}
    """

    code = "AML-77"
    name = "undated-deprecation"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at `meta` when the date is missing."""
        if subject.get("status") != "deprecated":
            return
        meta = subject.get("meta")
        if isinstance(meta, dict) and "last_updated" not in meta:
            message = "a deprecated tool without `meta.last_updated`"
            yield Finding(self.code, ("meta", "last_updated"), message, Severity.WARNING, "add the date of deprecation")


class UnusableExtension(Rule):
    """`x-ferrule` holds fields of the canonical tool that AML has no words for, each of its own type.

    Why: a member that cannot be used is passed over, and what it was meant to say with it.
    Bad:  x-ferrule: {tool_kind: openapi}
    Good: x-ferrule: {tool_kind: openapi_operation}
    """

    code = "AML-15"
    name = "unknown-key"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each member that cannot be used."""
        extension = subject.get(EXTENSION) if EXTENSION in subject.value else MISSING
        if not isinstance(extension, dict):
            return
        for member, message in find_bad_members(extension):
            path = (EXTENSION, *member.split(".")) if member.startswith("facts.") else (EXTENSION, member)
            hint = nearest(member, FIELDS) if member not in FIELDS else None
            yield Finding(self.code, path, f"`{member}` {message}", Severity.WARNING, hint, on_key=True)
