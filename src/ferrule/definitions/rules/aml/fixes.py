"""Fixes for AML tool files that need no decision by a person: the meaning is certain and nothing has to be guessed.

Words (quotes, spelling, letter case) are here; superseded keys, which move and split, are in `superseded_fixes.py`,
connections of databases in `connection_fixes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ferrule.contracts.fix import Edit, Fix, Fixers, Manuscript
from ferrule.definitions.rules.aml.connection_fixes import CONNECTION
from ferrule.definitions.rules.aml.superseded_fixes import SUPERSEDED
from ferrule.model.value import JsonObject, Path, dig, is_number

_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_WORDS: tuple[tuple[str, Path, frozenset[str]], ...] = (
    ("AML-11", ("status",), frozenset({"draft", "active", "deprecated", "disabled"})),
    ("AML-14", ("type",), frozenset({"retrieval", "action", "function", "human"})),
    (
        "AML-38",
        ("transport", "type"),
        frozenset({"rest-api", "lambda", "mcp", "message-queue", "database"}),
    ),
    ("AML-47", ("transport", "provider"), frozenset({"aws", "gcp", "azure"})),
    ("AML-49", ("transport", "invocation_type"), frozenset({"RequestResponse", "Event"})),
    ("AML-53", ("transport", "provider"), frozenset({"aws", "gcp", "azure", "kafka"})),
    (
        "AML-55",
        ("transport", "engine"),
        frozenset({"postgresql", "mysql", "mssql", "bigquery", "snowflake", "rds-data-api"}),
    ),
    (
        "AML-58",
        ("transport", "credentials", "scheme"),
        frozenset({"none", "iam-role", "api-key", "bearer-token", "oauth2", "service-account"}),
    ),
    (
        "AML-62",
        ("transport", "credentials", "source"),
        frozenset({"env", "aws_secrets_manager", "gcp_secret_manager", "azure_key_vault"}),
    ),
)
"""Closed lists: a word that differs from one of these in letter case alone is that word."""
_RENAMED: tuple[tuple[str, Path, dict[str, str]], ...] = (
    ("AML-53", ("transport", "provider"), {"aws-sqs": "aws", "gcp-pubsub": "gcp", "azure-servicebus": "azure"}),
    ("AML-56", ("transport", "query_method"), {"parameterized-sql": "parameterised-sql"}),
)
"""Values that were renamed or are spelt the other way."""


def quote_version(manuscript: Manuscript) -> Iterator[Fix]:
    """Quotes `spec_version: 1.2`, which is a number to YAML."""
    path = ("spec_version",)
    node = manuscript.node(path)
    if node is not None and is_number(manuscript.value["spec_version"]):
        written = manuscript.text_of(node.span)
        yield Fix("AML-8", (path,), (manuscript.replace(node.span, f'"{written}"'),), _make_change(path, written))


def quote_null(manuscript: Manuscript) -> Iterator[Fix]:
    """Quotes the null in `type: [string, null]`: the name of the type was meant."""
    for side in ("input", "output"):
        for path in _find_null_types(dig(manuscript.value, ("interface", side)), ("interface", side)):
            yield from _quote_nulls(manuscript, path)


def _find_null_types(value: object, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, member in value.items():
            if key == "type" and (member is None or (isinstance(member, list) and None in member)):
                yield (*path, key)
            else:
                yield from _find_null_types(member, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_null_types(item, (*path, index))


def _quote_nulls(manuscript: Manuscript, path: Path) -> Iterator[Fix]:
    written: Any = dig(manuscript.value, path)
    places = [path] if written is None else [(*path, index) for index, item in enumerate(written) if item is None]
    edits: list[Edit] = []
    for place in places:
        node = manuscript.node(place)
        # `~` and an empty value are null as well, but nobody writes them for the type's name.
        if node is None or manuscript.text_of(node.span) != "null":
            return
        edits.append(manuscript.replace(node.span, '"null"'))

    def change(value: JsonObject) -> None:
        for place in places:
            _make_change(place, "null")(value)

    yield Fix("AML-27", (path, *places), tuple(edits), change)


def correct_case(manuscript: Manuscript) -> Iterator[Fix]:
    """Corrects the letter case of a word of a closed list: `status: Active`."""
    for rule, path, words in _WORDS:
        value = dig(manuscript.value, path)
        if isinstance(value, str) and value not in words:
            meant = next((word for word in words if word.lower() == value.strip().lower()), None)
            if meant is not None:
                yield from _reword(manuscript, rule, path, meant)


def rename_word(manuscript: Manuscript) -> Iterator[Fix]:
    """Replaces `parameterized-sql`, `aws-sqs` and the like by their current names."""
    for rule, path, words in _RENAMED:
        value = dig(manuscript.value, path)
        if isinstance(value, str) and value in words:
            yield from _reword(manuscript, rule, path, words[value])


def strip_trailing_slash(manuscript: Manuscript) -> Iterator[Fix]:
    """Strips the last slash of `base_url: https://example.com/v1/`: the endpoint begins with it."""
    path = ("transport", "base_url")
    value = dig(manuscript.value, path)
    if isinstance(value, str) and value.endswith("/"):
        yield from _reword(manuscript, "AML-40", path, value.rstrip("/"))


def capitalise_method(manuscript: Manuscript) -> Iterator[Fix]:
    """Writes the method of `endpoint: post /send` in capitals."""
    path = ("transport", "endpoint")
    value = dig(manuscript.value, path)
    if isinstance(value, str):
        method, space, rest = value.partition(" ")
        if method not in _METHODS and method.upper() in _METHODS:
            yield from _reword(manuscript, "AML-41", path, method.upper() + space + rest)


def _reword(manuscript: Manuscript, rule: str, path: Path, word: str) -> Iterator[Fix]:
    node = manuscript.node(path)
    if node is not None:
        yield Fix(rule, (path,), (manuscript.reword(node.span, word),), _make_change(path, word))


def _make_change(path: Path, word: str) -> Callable[[JsonObject], None]:
    def change(value: Any) -> None:
        for step in path[:-1]:
            value = value[step]
        value[path[-1]] = word

    return change


FIXERS = Fixers(
    fixers=(
        quote_version,
        quote_null,
        correct_case,
        rename_word,
        strip_trailing_slash,
        capitalise_method,
        *SUPERSEDED,
        *CONNECTION,
    ),
    rules=frozenset(
        {"AML-8", "AML-16", "AML-27", "AML-40", "AML-41", "AML-57"}
        | {rule for rule, _, _ in _WORDS}
        | {rule for rule, _, _ in _RENAMED}
    ),
)
