"""Forms for any input schema, as data: the fields, and what each of them takes. A script draws them.

Nodes are in one flat list and refer to one another by number, so a recursive schema needs no more of them than any
other. However large or strange a schema is, its form is finite: the rest becomes a field for JSON. No value is
validated here.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ferrule.model.value import JsonObject
from ferrule.schema.schema_view import SchemaView, json_type

Schema = dict[str, Any]
Node = dict[str, Any]
_MOST_NODES, _MOST_CHARS = 1500, 400_000
_MOST_PARTS, _MOST_FIELDS, _MOST_OPTIONS, _MOST_BRANCHES, _MOST_EXAMPLES = 64, 600, 500, 40, 10
_LONGEST_TEXT, _LONGEST_VALUE = 500, 20_000
_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_FILES = frozenset({"byte", "binary", "base64"})
_OF_OBJECTS = ("properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties")
_OF_LISTS = ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains")
_OF_TEXTS = ("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType")
_OF_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_HINTS = {"object": _OF_OBJECTS, "array": _OF_LISTS, "string": _OF_TEXTS, "number": _OF_NUMBERS}
_SILENT = frozenset({"required", "not", "title", "description", "$comment"})
"""Keywords of an alternative that leave nothing else to fill in."""
_NAMES = {"string": "text", "object": "object", "array": "list", "null": "null", "boolean": "true or false"}
_ANYTHING: Node = {"kind": "json", "says": "any JSON"}


def form_of(schema: object) -> JsonObject:
    """Returns a form: `nodes` (the first is the root), `examples`, and `start`, JSON text to begin with."""
    making = _FormBuilder(schema if isinstance(schema, dict) else {})
    nodes = making.build()
    examples = [text for value in making.examples() if isinstance(value, dict) and (text := _encode(value, 2))]
    return {
        "nodes": nodes,
        "examples": examples[:_MOST_EXAMPLES],
        "start": examples[0] if examples else start_of(nodes),
    }


class _FormBuilder:
    """Builds the form of one schema, breadth first."""

    def __init__(self, schema: Schema) -> None:
        self._view = SchemaView(schema)
        self._nodes: list[Node] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._waiting: deque[tuple[int, list[Schema], str, frozenset[int]]] = deque()
        self._chars = 0
        self._anything: int | None = None

    def build(self) -> list[Node]:
        """Returns all nodes of the form."""
        self._add_node([self._view.root])
        while self._waiting:
            number, parts, only, seen = self._waiting.popleft()
            node = self._describe(parts, only, seen)
            self._chars += len(str(node))
            self._nodes[number] = node
        return self._nodes

    def examples(self) -> Iterator[Any]:
        """Yields example inputs of the schema."""
        for part in self._flatten([self._view.root]):
            if part.get("default"):
                yield part["default"]
            given = part.get("examples")
            yield from given if isinstance(given, list) else ()

    def _add_node(self, schemas: Iterable[object], only: str = "", seen: frozenset[int] = frozenset()) -> int:
        """Returns the number of the node for the value that all these schemas describe.

        `only`: one of several types. `seen`: lists of alternatives that were already chosen from.
        """
        parts = self._flatten(schemas)
        key = (*map(id, parts), only, seen)
        known = self._numbers.get(key)
        if known is not None:
            return known
        if not parts or len(self._nodes) >= _MOST_NODES or self._chars > _MOST_CHARS:
            return self._add_any()
        # Known before it is described: a schema that refers to itself finds this number and ends there.
        number = self._numbers[key] = len(self._nodes)
        self._nodes.append({})
        self._waiting.append((number, parts, only, seen))
        return number

    def _add_any(self) -> int:
        if self._anything is None:
            self._anything = len(self._nodes)
            self._nodes.append(_ANYTHING)
        return self._anything

    def _flatten(self, schemas: Iterable[object]) -> list[Schema]:
        """Returns schemas with those that hold wherever they do: `$ref` and `allOf`."""
        found: dict[int, Schema] = {}
        stack = [*schemas][::-1]
        while stack and len(found) < _MOST_PARTS:
            schema = stack.pop()
            if not isinstance(schema, dict) or id(schema) in found:
                continue
            found[id(schema)] = schema
            more = schema.get("allOf")
            also = [self._view.target(schema["$ref"])] if "$ref" in schema else []
            stack += [*also, *(more if isinstance(more, list) else ())][::-1]
        return list(found.values())

    def _describe(self, parts: list[Schema], only: str, seen: frozenset[int]) -> Node:
        node = _describe_common(parts)
        chosen = self._describe_choice(parts, only) or self._describe_union(parts, only, seen)
        if chosen is not None:
            return {**node, **chosen}
        types = [only] if only else _types_in(parts)
        if "null" in types and len(types) > 1:
            types.remove("null")
            node["nullable"] = True
        if "number" in types and "integer" in types:
            types.remove("integer")
        if len(types) > 1:
            branches = [[_NAMES.get(word, word), self._add_node(parts, word, seen)] for word in types]
            return {**node, "kind": "union", "says": "one of several", "branches": branches}
        return {**node, **self._describe_type(types[0] if types else "", parts)}

    def _describe_choice(self, parts: list[Schema], only: str) -> Node | None:
        """Returns a fixed value, or a choice of a few; None for other schemas."""
        for part in parts:
            if "const" in part:
                written = _encode(part["const"])
                return {"kind": "const", "says": "fixed", "value": written} if written else None
        lists = [part["enum"] for part in parts if isinstance(part.get("enum"), list)]
        if not lists:
            return None
        allowed = [{_encode(value) for value in one} for one in lists[1:]]
        options = [text for value in lists[0] if (text := _encode(value)) and _is_of(value, only)]
        options = [text for text in dict.fromkeys(options) if all(text in one for one in allowed)]
        if len(options) == 1:
            return {"kind": "const", "says": "fixed", "value": options[0]}
        return _make_enum(options, []) if 0 < len(options) <= _MOST_OPTIONS else None

    def _describe_union(self, parts: list[Schema], only: str, seen: frozenset[int]) -> Node | None:
        """Returns alternatives to choose from; None where there is nothing to choose."""
        if only:
            return None
        for part, keyword in ((part, keyword) for part in parts for keyword in ("oneOf", "anyOf")):
            given = part.get(keyword)
            if not isinstance(given, list) or id(given) in seen or len(given) > _MOST_BRANCHES:
                continue
            branches = [branch for branch in given if isinstance(branch, dict)]
            if all(branch.keys() <= _SILENT for branch in branches):
                continue
            return self._describe_branches(parts, branches, seen | {id(given)})
        return None

    def _describe_branches(self, parts: list[Schema], branches: list[Schema], seen: frozenset[int]) -> Node:
        texts = [_encode(branch["const"]) for branch in branches if "const" in branch]
        if len(texts) == len(branches) and all(texts):
            labels = [str(branch.get("title") or "")[:80] for branch in branches]
            return _make_enum([text for text in texts if text], labels if any(labels) else [])
        real = [branch for branch in branches if _types_in(self._flatten([branch])) != ["null"]]
        if len(real) == 1:
            described = self._describe(self._flatten([real[0], *parts]), "", seen)
            return {**described, "nullable": True} if len(branches) > 1 else described
        named = [[self._find_label(branch), self._add_node([branch, *parts], "", seen)] for branch in branches]
        return {"kind": "union", "says": f"one of {len(named)}", "branches": _number_duplicates(named)}

    def _find_label(self, branch: Schema) -> str:
        """Returns the label of an alternative: its title, its reference, the constant that marks it, or its type."""
        flat = self._flatten([branch])
        title = next((part["title"] for part in flat if isinstance(part.get("title"), str) and part["title"]), "")
        if title:
            return str(title)[:80]
        for part in flat:
            for name, member in _mapping(part, "properties").items():
                marks = _find_constant(member)
                if marks:
                    return f"{name}: {marks}"[:80]
        if isinstance(branch.get("$ref"), str):
            return str(branch["$ref"].rpartition("/")[2])[:80]
        types = _types_in(flat)
        return " or ".join(_NAMES.get(word, word) for word in types) if types else "anything"

    def _describe_type(self, word: str, parts: list[Schema]) -> Node:
        match word:
            case "object":
                return self._describe_object(parts)
            case "array":
                return self._describe_array(parts)
            case "string":
                return _describe_text(parts)
            case "number" | "integer":
                return _describe_number(word, parts)
            case "boolean":
                return {"kind": "boolean", "says": "boolean"}
            case "null":
                return {"kind": "null", "says": "null"}
        return _ANYTHING

    def _describe_object(self, parts: list[Schema]) -> Node:
        required = dict.fromkeys(name for part in parts for name in _texts(part.get("required")))
        members: dict[str, list[Any]] = {
            name: [] for name in required
        }  # required fields first, in their author's order
        for part in parts:
            for name, member in _mapping(part, "properties").items():
                members.setdefault(name, []).append(member)
        extra = self._find_extra(parts)
        if not members and (extra is None or extra == self._anything):
            return {"kind": "json", "says": "object", "empty": "{}"}
        fields = [
            [name, self._add_node(schemas) if schemas else self._add_any(), name in required]
            for name, schemas in [*members.items()][:_MOST_FIELDS]
        ]
        node: Node = {"kind": "object", "says": "object", "fields": fields, "extra": extra}
        return {**node, "more": len(members) - len(fields)} if len(members) > len(fields) else node

    def _find_extra(self, parts: list[Schema]) -> int | None:
        """Returns the node for fields of any other name; None when there may be none, or the schema does not mention
        them.
        """
        for part in parts:
            others = part.get("additionalProperties", part.get("unevaluatedProperties"))
            if isinstance(others, dict) and others:
                return self._add_node([others])
            if others is True or others == {} or _mapping(part, "patternProperties"):
                return self._add_any()
        return None

    def _describe_array(self, parts: list[Schema]) -> Node:
        first: Sequence[Any] = ()
        items: list[Any] = []
        for part in parts:
            rest = part.get("items")
            given = part.get("prefixItems", rest)
            if isinstance(given, list):
                first = given[:_MOST_BRANCHES]
                rest = rest if "prefixItems" in part else part.get("additionalItems")
            items += [rest] if isinstance(rest, dict) else []
        least, most = _find_bound(parts, "minItems", max), _find_bound(parts, "maxItems", min)
        return {
            "kind": "array",
            "says": _write_range("list", least, most),
            "prefix": [self._add_node([one]) for one in first],
            "items": self._add_node(items),
            "least": least if isinstance(least, int) else 0,
        }


def _describe_common(parts: list[Schema]) -> Node:
    """Returns the members that every kind of node may have."""
    node: Node = {}
    for name in ("title", "description"):
        text = next((part[name] for part in parts if isinstance(part.get(name), str) and part[name].strip()), "")
        if text:
            node[name] = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
    given = [part["default"] for part in parts if "default" in part]
    if given and (written := _encode(given[0])):
        node["default"] = written
    shown = [one for part in parts for one in (part.get("examples"), [part["example"]] if "example" in part else None)]
    example = next((one[0] for one in shown if isinstance(one, list) and one), None)
    if example is not None and (written := _encode(example)):
        node["example"] = written
    if any(part.get("nullable") is True for part in parts):
        node["nullable"] = True
    return node


def _make_enum(options: list[str], labels: list[str]) -> Node:
    node: Node = {"kind": "enum", "says": f"one of {len(options)}", "options": options}
    return {**node, "labels": labels} if labels else node


def _describe_text(parts: list[Schema]) -> Node:
    node: Node = {"kind": "text", "says": "text"}
    form = next((part["format"] for part in parts if isinstance(part.get("format"), str)), "")
    least, most = _find_bound(parts, "minLength", max), _find_bound(parts, "maxLength", min)
    is_file = form in _FILES or any(part.get("contentEncoding") == "base64" for part in parts)
    if is_file:
        return {**node, "says": "base64", "form": "file"}
    if form:
        node.update(form=form[:40], says="date-time, UTC" if form == "date-time" else form[:40])
    elif least is not None or most is not None:
        node["says"] = _write_range("text", least, most)
    if form == "password" or any(part.get("writeOnly") is True for part in parts):
        node["form"] = "password"
    if most is not None and most >= 200:
        node["is_long"] = True
    return node


def _describe_number(word: str, parts: list[Schema]) -> Node:
    least = _find_bound(parts, "minimum", max)
    most = _find_bound(parts, "maximum", min)
    above, below = _find_bound(parts, "exclusiveMinimum", max), _find_bound(parts, "exclusiveMaximum", min)
    says = _write_range(word, least, most)
    says += f" above {above}" if above is not None else ""
    return {"kind": "number", "says": says + (f" below {below}" if below is not None else "")}


def _write_range(word: str, least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f"{word} {least} to {most}"
    return f"{word} from {least}" if least is not None else f"{word} up to {most}" if most is not None else word


def _find_bound(parts: list[Schema], name: str, choose: Any) -> float | None:
    found = [part[name] for part in parts if isinstance(part.get(name), int | float) and part[name] is not True]
    return choose(found) if found else None


def _types_in(parts: list[Schema]) -> list[str]:
    """Returns the types that a value may have, where the schemas say."""
    stated = [_texts(part["type"]) for part in parts if "type" in part]
    if stated:
        # Every integer is a number, so a schema of each has the integers in common.
        wide = [{*words, "integer"} if "number" in words else set(words) for words in stated]
        both = set.intersection(*wide)
        return [word for word in _TYPES if word in both and (word != "integer" or "number" not in both)]
    if any("const" in part and part["const"] is None for part in parts):
        return ["null"]
    return [word for word, hints in _HINTS.items() if any(hint in part for part in parts for hint in hints)][:1]


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _mapping(schema: Schema, key: str) -> JsonObject:
    found = schema.get(key)
    return found if isinstance(found, dict) else {}


def _is_of(value: object, only: str) -> bool:
    kind = json_type(value)
    return not only or kind == only or (only == "number" and kind == "integer")


def _find_constant(member: object) -> str:
    """Returns the only text that a member may be."""
    only = member.get("enum") if isinstance(member, dict) else None
    constant = member.get("const") if isinstance(member, dict) else None
    constant = only[0] if isinstance(only, list) and len(only) == 1 else constant
    return constant if isinstance(constant, str) else ""


def _number_duplicates(branches: list[list[Any]]) -> list[list[Any]]:
    """Numbers alternatives that have the same name."""
    names = [name for name, _ in branches]
    return [
        [f"{name} ({place})" if names.count(name) > 1 else name, number]
        for place, (name, number) in enumerate(branches, start=1)
    ]


def _encode(value: object, indent: int | None = None) -> str | None:
    """Returns a value as JSON; None for one that is too long."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return text if len(text) <= _LONGEST_VALUE else None


_ABSENT = object()


def start_of(nodes: Sequence[Node]) -> str:
    """Returns the initial input of a form: defaults, fixed values, and examples of required fields."""
    value = _Starting(nodes).value(0, True, 0)
    return _encode(value if isinstance(value, dict) else {}, 2) or "{}"


class _Starting:
    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._left = 1000

    def value(self, number: int, is_required: bool, depth: int) -> Any:
        node = self._nodes[number]
        self._left -= 1
        if self._left < 0 or depth > 8:
            return _ABSENT
        if "default" in node:
            return json.loads(node["default"])
        if not is_required:
            return _ABSENT
        if "example" in node:
            return json.loads(node["example"])
        match node["kind"]:
            case "const":
                return json.loads(node["value"])
            case "object":
                return self._object(node, depth)
            case "array":
                return []
            case "null":
                return None
            case "union":
                return self.value(node["branches"][0][1], True, depth + 1)
        return json.loads(node["empty"]) if "empty" in node else _ABSENT

    def _object(self, node: Node, depth: int) -> JsonObject:
        found = {name: self.value(number, is_required, depth + 1) for name, number, is_required in node["fields"]}
        return {name: value for name, value in found.items() if value is not _ABSENT}
