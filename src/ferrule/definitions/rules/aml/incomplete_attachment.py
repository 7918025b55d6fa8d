"""File fields that are not the canonical attachment object."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.attachment import Attachment, list_attachments
from ferrule.definitions.rules.aml.interface import collect_error_paths
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonObject, Path

_EXPECTED: dict[str, tuple[tuple[str, str], ...]] = {
    "transfer": (),
    "filename": (("type", "string"),),
    "mime_type": (("type", "string"),),
    "max_size_bytes": (("type", "integer"),),
    "content": (("type", "string"), ("contentEncoding", "base64")),
    "url": (("type", "string"), ("format", "uri")),
}


class IncompleteAttachment(Rule):
    """A file field declares and requires transfer, filename, mime_type and max_size_bytes, and content (inline) or url (ref).

    Why: the runtime moves, limits and redacts files by these members.
    Bad:  {transfer: {const: inline}, content: {type: string}}
    Good: all five members, `content` with `contentEncoding: base64`
    """

    code = "AML-33"
    name = "incomplete-attachment"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields one finding per member that is undeclared, optional or of the wrong kind."""
        found = list_attachments(subject)
        if found:
            broken = collect_error_paths(subject)
            for attachment in found:
                yield from self._check_members(attachment, broken)

    def _check_members(self, attachment: Attachment, broken: Collection[Path]) -> Iterator[Finding]:
        path = attachment.path
        for member in attachment.members:
            at = (*path, "properties", member)
            if member not in attachment.properties:
                hint = "declare it, or give `transfer` other values if this is no file"
                yield Finding(self.code, at, f"the attachment does not declare `{member}`", hint=hint)
            elif not isinstance(attachment.properties[member], dict | bool):
                continue  # no schema at all, which is another rule's finding
            elif member in attachment.required_members and not _is_required(attachment.schema, member):
                message = f"the attachment does not require `{member}`"
                yield Finding(self.code, (*path, "required", member), message, hint="add it to `required`")
            else:
                yield from self._check_keywords(at, broken, attachment.properties[member])

    def _check_keywords(self, at: Path, broken: Collection[Path], schema: object) -> Iterator[Finding]:
        member = str(at[-1])
        for keyword, wanted in _EXPECTED[member]:
            written = schema.get(keyword) if isinstance(schema, dict) else None
            if written in (wanted, [wanted]) or (*at, keyword) in broken:
                continue
            said = f"has {show(written)}" if written is not None else "has none"
            message = f"`{member}` of an attachment needs `{keyword}: {wanted}` and {said}"
            yield Finding(self.code, (*at, keyword), message)
            return


def _is_required(schema: JsonObject, member: str) -> bool:
    if "required" not in schema:
        return False
    required = schema["required"]
    return not isinstance(required, list) or member in required
