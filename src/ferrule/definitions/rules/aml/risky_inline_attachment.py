"""Files that should not travel inside the arguments."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.attachment import list_attachments
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import Path, is_number

_LIMIT = 1_048_576
_RISK = ("data_classification", "input_pii_risk")


class RiskyInlineAttachment(Rule):
    """An inline attachment is at most 1 MB, and none is inline where the input may hold personal data.

    Why: inline content fills the model's context and is logged with the arguments; of a `ref` only the URL is.
    Bad:  max_size_bytes: {type: integer, maximum: 10485760}
    Good: transfer: {const: ref}
    """

    code = "AML-34"
    name = "risky-inline-attachment"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at a limit above 1 MB, and at `transfer` of an inline input under personal-data risk."""
        for attachment in list_attachments(subject):
            if not attachment.inline:
                continue
            below = (*attachment.path, "properties")
            yield from self._check_limit((*below, "max_size_bytes"), attachment.properties.get("max_size_bytes"))
            if attachment.path[1] == "input" and subject.get(*_RISK) is True:
                message = "a file that may hold personal data is sent inline, so it can end up in logs"
                hint = "prefer `ref`, and `log_args: redacted`"
                yield Finding(self.code, (*below, "transfer"), message, Severity.WARNING, hint)

    def _check_limit(self, at: Path, schema: object) -> Iterator[Finding]:
        if not isinstance(schema, dict):
            return
        for keyword in ("const", "maximum"):
            limit = schema.get(keyword)
            if is_number(limit) and limit > _LIMIT:
                message = f"an inline attachment of up to {limit} bytes; 1 MB is the limit"
                yield Finding(self.code, (*at, keyword), message, Severity.WARNING, "use `ref` for larger files")
                return
