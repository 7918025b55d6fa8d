"""AT-2, AT-280 and AT-282: the version of the standard a record follows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.agent_tool.earlier_spellings import CURRENT, list_earlier_records
from ferrule.definitions.rules.agent_tool.records import list_records
from ferrule.model.diagnostic import Finding, Severity

_VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})")
_EARLIER = f"a record of an earlier version, read as it is; {CURRENT} is the current one"
_READABLE = (0, 1)
"""Records of 0.1.x stay readable and say nothing wrong; how to bring them up to date is a note (AT-280)."""


class UnknownSchemaVersion(Rule):
    """Records say `schema_version: "0.2.0"`; those of 0.1.x stay readable.

    Why: readers decide by it what the fields mean.
    Bad:  "schema_version": "2"
    Good: "schema_version": "0.2.0"
    """

    code = "AT-2"
    name = "unknown-schema-version"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields every version that is not the current one, and the old spellings of a readable earlier record."""
        for earlier in list_earlier_records(subject.kind, subject.value):
            if earlier.has_version:
                path = (*earlier.path, "schema_version")
                yield Finding(EarlierSchemaVersion.code, path, _EARLIER, Severity.INFO, f'write "{CURRENT}"')
            for found in earlier.spellings:
                message = f"`{found.word}` is how it is written since {CURRENT}"
                yield Finding(EarlierSchemaVersion.code, found.path, message, Severity.INFO, on_key=found.is_key)
        for path, record in list_records(subject):
            written = record.get("schema_version")
            if written == CURRENT or not isinstance(written, str) or not written.strip():
                continue
            numbers = _parse_numbers(written)
            where = (*path, "schema_version")
            if numbers > (0, 2, 0):
                message = f"version {written} is newer than {CURRENT}; it is read as far as it is understood"
                yield Finding(NewerSchemaVersion.code, where, message, Severity.WARNING)
            elif numbers[:2] != _READABLE:
                yield Finding(
                    self.code, where, f"`schema_version` should be {CURRENT}, not {show(written)}", self.severity
                )


class EarlierSchemaVersion(Rule):
    """A record of 0.1.x is read as it is; this is how to bring it to 0.2.0.

    Besides the version, `input_contract.schema` is now `model_input_schema`, words of permission profiles have underscores
    and the scope `peer-agent` is `peer_agent`. Ids, native mappings and unknown fields stay.
    Why: nothing is wrong with it, yet tools that write 0.2.0 will not write it so again.
    Bad:  "schema_version": "0.1.1"
    Good: "schema_version": "0.2.0"
    """

    code = "AT-280"
    name = "earlier-schema-version"
    severity = Severity.INFO


class NewerSchemaVersion(Rule):
    """A record of a later version of the standard is read as far as it is understood.

    Why: its new fields may mean more than is checked here.
    Bad:  "schema_version": "0.9.0"
    Good: "schema_version": "0.2.0"
    """

    code = "AT-282"
    name = "newer-schema-version"
    severity = Severity.WARNING


def _parse_numbers(version: str) -> tuple[int, ...]:
    parts = _VERSION.fullmatch(version)
    return tuple(map(int, parts.groups())) if parts else ()
