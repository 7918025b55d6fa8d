"""Lists, and lists whose items differ by position, as a provider takes them."""

from __future__ import annotations

from ferrule.model.value import JsonObject, is_integer
from ferrule.schema.fitting.flattening import positions_of
from ferrule.schema.fitting.state import FittingState, Node, below
from ferrule.schema.fitting.steps import KEEP, Items

_DESCRIBED = ("contains", "uniqueItems", "unevaluatedItems", "minContains", "maxContains")
_MOST_POSITIONS = 200


def rewrite_list(state: FittingState, keywords: JsonObject, path: str, depth: int, words: list[str]) -> Node:
    """Rewrites a schema of a list."""
    if state.profile.deepest is not None and depth > state.profile.deepest:
        return state.cut(path, f"{state.profile.title} takes schemas {state.profile.deepest} levels deep")
    fitted: JsonObject = {"type": "array"}
    first, rest = positions_of(keywords)
    if len(first) > _MOST_POSITIONS:
        state.record_change(
            below(path, "prefixItems"), f"more than {_MOST_POSITIONS} positions are not told apart", "dropped"
        )
        first, rest = [], True
    sizes = {word: keywords[word] for word in ("minItems", "maxItems") if is_integer(keywords.get(word))}
    if first:
        step = _positions(state, first, rest, fitted, sizes, path, depth, words)
    else:
        step = _alike(state, rest, fitted, sizes, path, depth)
    for keyword, operand in sizes.items():
        _fit_size(state, keyword, operand, fitted, path, words)
    for keyword in _DESCRIBED:
        if keyword in keywords:
            state.describe_dropped(path, keyword, keywords[keyword], words)
    return state.finish(fitted, keywords, path, words), step


def _alike(state: FittingState, items: object, fitted: JsonObject, sizes: JsonObject, path: str, depth: int) -> int:
    node = state.node(True if items is None else items, below(path, "items"), depth + 1)
    if node is None:
        # No item fits, so only the empty list does; a schema for items is sent all the same.
        sizes["maxItems"] = 0
        node = {"type": "string"}, KEEP
    inner, step = node
    if inner or state.profile.needs_items or items is not None:
        fitted["items"] = inner
    return KEEP if step == KEEP else state.step(Items((), step))


def _positions(
    state: FittingState,
    first: list[object],
    rest: object,
    fitted: JsonObject,
    sizes: JsonObject,
    path: str,
    depth: int,
    words: list[str],
) -> int:
    """Rewrites items that differ by position: as they are, or as a list whose items are any of them."""
    nodes: list[Node] = []
    for at, item in enumerate(first):
        node = state.node(item, below(path, f"prefixItems/{at}"), depth + 1)
        if node is None:
            rest = False
            break
        nodes.append(node)
    after = None if rest is None or rest is False else state.node(rest, below(path, "items"), depth + 1)
    if after is None:
        sizes["maxItems"] = min(sizes.get("maxItems", len(nodes)), len(nodes))
    if state.profile.allows_tuples and nodes:
        fitted["prefixItems"] = [schema for schema, _ in nodes]
        fitted["items"] = after[0] if after is not None else {}  # `maxItems` says that there are none
    else:
        taken = [schema for schema, _ in nodes] + ([after[0]] if after is not None else [])
        fitted["items"] = _any_of(taken) if taken else {"type": "string"}
        said = "in this order: " + ", ".join(_short(schema) for schema, _ in nodes[:20])
        if nodes:
            words.append(said)
        state.record_change(
            below(path, "prefixItems"), f"{state.profile.title} takes one schema for all items", "description", said
        )
    steps = tuple(step for _, step in nodes)
    last = after[1] if after is not None else KEEP
    return KEEP if last == KEEP and all(step == KEEP for step in steps) else state.step(Items(steps, last))


def _any_of(schemas: list[JsonObject]) -> JsonObject:
    distinct: list[JsonObject] = []
    for schema in schemas:
        if schema not in distinct:
            distinct.append(schema)
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _short(schema: JsonObject) -> str:
    said = schema.get("description")
    word = schema.get("type", "value")
    return said[:60] if isinstance(said, str) and said else word if isinstance(word, str) else "value"


def _fit_size(state: FittingState, keyword: str, operand: int, fitted: JsonObject, path: str, words: list[str]) -> None:
    profile = state.profile
    if profile.accepted is not None and keyword not in profile.accepted:
        state.describe_dropped(path, keyword, operand, words)
    elif keyword == "minItems" and profile.highest_min_items is not None and operand > profile.highest_min_items:
        fitted[keyword] = profile.highest_min_items
        state.describe_dropped(path, keyword, operand, words)
    else:
        fitted[keyword] = operand
