"""The table that values are read and written by (`support/shapes.py`), one declaration a line."""

from __future__ import annotations

import json
from typing import Any

from ferrule.definitions.stubs.languages.python.annotations import Annotations
from ferrule.definitions.stubs.languages.python.record_text import RecordText
from ferrule.model.type_tree import Alias, Declaration, Enumeration, Record, Union


def table(annotations: Annotations, records: dict[str, RecordText]) -> str:
    """The table of a tree, as JSON."""
    lines = (
        f"{json.dumps(each.name)}: {json.dumps(_entry(each, annotations, records), ensure_ascii=False)}"
        for each in annotations.tree.declarations
    )
    return "{\n" + ",\n".join(lines) + "\n}"


def _entry(declaration: Declaration, annotations: Annotations, records: dict[str, RecordText]) -> dict[str, Any]:
    match declaration:
        case Record():
            return _record(declaration, annotations, records[declaration.name])
        case Enumeration(choices=choices):
            return {"kind": "enum", "values": [each.value for each in choices]}
        case Alias(type=made):
            return {"kind": "alias", "shape": annotations.shape(made)}
        case Union(variants=variants):
            found = [
                [annotations.shape(each.type), list(each.tags), list(each.kinds), each.pointer] for each in variants
            ]
            return {"kind": "union", "tag": declaration.tag, "variants": found}


def _record(record: Record, annotations: Annotations, text: RecordText) -> dict[str, Any]:
    members = [
        [each.name, text.names[each.name], annotations.presence(each), annotations.shape(each.type)]
        for each in text.members
    ]
    return {
        "kind": "record",
        "members": members,
        "extra": text.extra,
        "extra_shape": "any" if record.extra is None else annotations.shape(record.extra),
        "tag": list(text.tag) if text.tag is not None else None,
    }
