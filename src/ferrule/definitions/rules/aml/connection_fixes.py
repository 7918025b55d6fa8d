"""Moves connection fields of a database transport into its credentials (AML-57), where nothing has to be guessed.

Fields that belong in a secret stay with a person, who alone can write there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.fix import Edit, Fix, Fixer, Manuscript
from ferrule.definitions.rules.aml.secret_reference import parse_reference
from ferrule.definitions.rules.aml.transport_fields import CONNECTION_KEYS
from ferrule.definitions.rules.rewriting import add_member, drop_member, move_member
from ferrule.model.document import Span
from ferrule.model.value import JsonObject, dig

_RULE = "AML-57"
_CREDENTIALS = ("transport", "credentials")
_SOURCE = ("transport", "connection_source")


def move_connection_source(manuscript: Manuscript) -> Iterator[Fix]:
    """Rewrites `connection_source: "env:X"` as `credentials` of scheme service-account, the only one here with a secret."""
    transport = manuscript.value.get("transport")
    if not isinstance(transport, dict) or transport.get("type") != "database":
        return
    fields = parse_reference(transport.get("connection_source"))
    if fields is None:
        return
    credentials = transport.get("credentials")
    if "credentials" not in transport:
        edits = _write_credentials(manuscript, fields)
    elif isinstance(credentials, dict) and credentials.get("scheme") == "service-account":
        edits = _extend_credentials(manuscript, fields) if fields.keys().isdisjoint(credentials) else ()
    else:
        return
    if not edits:
        return

    def change(value: JsonObject) -> None:
        transport = value["transport"]
        del transport["connection_source"]
        transport.setdefault("credentials", {"scheme": "service-account"}).update(fields)

    yield Fix(_RULE, (_SOURCE,), edits, change)


def _write_credentials(manuscript: Manuscript, fields: dict[str, str]) -> tuple[Edit, ...]:
    node = manuscript.node(_SOURCE)
    if node is None or node.span.end_line != node.opener.line:
        return ()
    members = ["scheme: service-account", *(f'{key}: "{value}"' for key, value in fields.items())]
    whole = Span(node.opener.line, node.opener.column, node.span.end_line, node.span.end_column)
    if not manuscript.is_block_key(node.opener):
        return (manuscript.replace(whole, f"credentials: {{{', '.join(members)}}}"),)
    indent = manuscript.newline + " " * (node.opener.column - 1 + manuscript.step)
    return (manuscript.replace(whole, indent.join(["credentials:", *members])),)


def _extend_credentials(manuscript: Manuscript, fields: dict[str, str]) -> tuple[Edit, ...]:
    edits = [drop_member(manuscript, _SOURCE)]
    edits += [add_member(manuscript, _CREDENTIALS, key, value) for key, value in fields.items()]
    return tuple(edit for edit in edits if edit is not None) if None not in edits else ()


def move_connection_field(manuscript: Manuscript) -> Iterator[Fix]:
    """Moves `host`, `port` and the like into `credentials` of scheme iam-role, which has no secret to hold them."""
    transport = manuscript.value.get("transport")
    credentials = dig(manuscript.value, _CREDENTIALS)
    if not isinstance(transport, dict) or transport.get("type") != "database" or not isinstance(credentials, dict):
        return
    if credentials.get("scheme") != "iam-role":
        return
    for key, value in transport.items():
        # A password that was written down has to be changed, so it is never moved along.
        is_plain = isinstance(value, str | int) and not isinstance(value, bool)
        if key not in CONNECTION_KEYS or key == "password" or key in credentials or not is_plain:
            continue
        edits = move_member(manuscript, ("transport", key), "credentials")
        if edits is not None:

            def change(value: JsonObject, key: str = key) -> None:
                transport = value["transport"]
                transport["credentials"][key] = transport.pop(key)

            yield Fix(_RULE, (("transport", key),), edits, change)


CONNECTION: tuple[Fixer, ...] = (move_connection_source, move_connection_field)
