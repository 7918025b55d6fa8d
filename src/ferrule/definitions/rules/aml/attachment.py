"""The canonical attachment object: how a schema says that a field is a file. Shared by the rules about it."""

from __future__ import annotations

from typing import NamedTuple, cast

from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.aml.interface import list_schemas
from ferrule.model.value import JsonObject, Path

_MODES = frozenset({"inline", "ref"})
_ALWAYS = ("transfer", "filename", "mime_type", "max_size_bytes")
_NAME = "attachments"


class Attachment(NamedTuple):
    """A schema that describes a file."""

    path: Path
    schema: JsonObject
    properties: JsonObject
    inline: bool
    """The file may travel inside the arguments."""
    ref: bool
    """The file may be given by its URL."""

    @property
    def members(self) -> tuple[str, ...]:
        """The members that must be declared."""
        return (*_ALWAYS, *(("content",) if self.inline else ()), *(("url",) if self.ref else ()))

    @property
    def required_members(self) -> tuple[str, ...]:
        """The members that must be required; when both ways are open, neither `content` nor `url`."""
        return _ALWAYS if self.inline and self.ref else self.members


def list_attachments(subject: Subject) -> list[Attachment]:
    """Returns every attachment of the interface; computed once per definition."""
    found = cast("list[Attachment] | None", subject.memo.get(_NAME))
    if found is None:
        found = []
        for path, schema, _ in list_schemas(subject):
            properties = schema.get("properties")
            if isinstance(properties, dict) and "transfer" in properties:
                attachment = find_attachment(schema, path)
                if attachment is not None:
                    found.append(attachment)
        subject.memo[_NAME] = found
    return found


def find_attachment(schema: JsonObject, path: Path = ()) -> Attachment | None:
    """Returns the attachment an object schema describes: one whose `transfer` can only be inline or ref. None for any other."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or "transfer" not in properties:
        return None
    word = schema.get("type")
    if word != "object" and not (isinstance(word, list) and "object" in word):
        return None
    modes = _list_modes(properties["transfer"])
    return None if modes is None else Attachment(path, schema, properties, "inline" in modes, "ref" in modes)


def _list_modes(transfer: object) -> frozenset[str] | None:
    if not isinstance(transfer, dict):
        return None
    words = [transfer["const"]] if "const" in transfer else transfer.get("enum")
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word in _MODES for word in words):
        return None
    return frozenset(words)
