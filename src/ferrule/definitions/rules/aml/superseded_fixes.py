"""Rewrites keys of older AML versions into today's (AML-16), where nothing has to be guessed.

A secret named by `secrets:path` says which manager holds it only when the path is that manager's own address, and a token
endpoint is no token broker: those stay with a person. Database connections (AML-57) are in `connection_fixes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.fix import Edit, Fix, Fixer, Manuscript
from ferrule.definitions.rules.aml.secret_reference import parse_reference
from ferrule.definitions.rules.aml.superseded_key import OAUTH2_KEYS
from ferrule.definitions.rules.aml.transport_fields import SCHEMES
from ferrule.definitions.rules.rewriting import drop_member
from ferrule.model.document import Span
from ferrule.model.value import JsonObject, Path, dig

_CREDENTIALS = ("transport", "credentials")
_ARN = "arn:aws:lambda:"


def move_parameters(manuscript: Manuscript) -> Iterator[Fix]:
    """Moves root `parameters` to `interface.input`."""
    yield from _move_into_interface(manuscript, "parameters", "input")


def move_response_schema(manuscript: Manuscript) -> Iterator[Fix]:
    """Moves root `response_schema` to `interface.output`."""
    yield from _move_into_interface(manuscript, "response_schema", "output")


def _move_into_interface(manuscript: Manuscript, old: str, new: str) -> Iterator[Fix]:
    node = manuscript.node((old,))
    interface = manuscript.value.get("interface")
    if node is None or not isinstance(manuscript.value[old], dict):
        return
    lines = manuscript.lines_of(node)
    if lines is None or node.opener.column != 1:
        return
    block = manuscript.text_of_lines(lines)
    block = new + block[len(manuscript.text_of(node.opener)) :]
    if "interface" not in manuscript.value:
        text = f"interface:{manuscript.newline}{manuscript.indent(block, manuscript.step)}"
        edits: tuple[Edit, ...] | None = (Edit(manuscript.offset(lines.start), manuscript.offset(lines.end), text),)
    else:
        edits = (
            _join_interface(manuscript, block, new) if isinstance(interface, dict) and new not in interface else None
        )
        if edits is not None:
            edits = (*edits, manuscript.remove_lines(lines))
    if edits is None:
        return

    def change(value: JsonObject) -> None:
        value.setdefault("interface", {})[new] = value.pop(old)

    yield Fix("AML-16", ((old,),), edits, change)


def _join_interface(manuscript: Manuscript, block: str, new: str) -> tuple[Edit, ...] | None:
    """Inserts the block into the existing `interface`: `input` as its first member, `output` as its last."""
    interface = manuscript.node(("interface",))
    if interface is None or not interface.children:
        return None
    child = next(iter(interface.children.values()))
    around = manuscript.lines_of(interface)
    if around is None or not manuscript.is_block_key(child.opener) or child.opener.line == interface.opener.line:
        return None
    at = manuscript.offset(child.opener.line if new == "input" else around.end)
    return (Edit(at, at, manuscript.indent(block, child.opener.column - 1)),)


def rename_auth(manuscript: Manuscript) -> Iterator[Fix]:
    """Renames `transport.auth` to `transport.credentials`, and splits its `token_source` into a source and its fields."""
    path = ("transport", "auth")
    node = manuscript.node(path)
    auth = dig(manuscript.value, path)
    if node is None or not isinstance(auth, dict) or dig(manuscript.value, ("transport", "credentials")):
        return
    if auth.get("scheme") not in SCHEMES or (auth["scheme"] == "oauth2" and not _has_broker(auth)):
        return
    edits: tuple[Edit, ...] = (manuscript.reword(node.opener, "credentials"),)
    fields: dict[str, str] | None = {}
    if "token_source" in auth:
        fields = _find_source_fields(auth)
        source = _split_source(manuscript, (*path, "token_source"), fields)
        if source is None:
            return
        edits = (*edits, source)

    def change(value: JsonObject) -> None:
        credentials = value["transport"].pop("auth")
        _name_source(credentials, fields or {})
        value["transport"]["credentials"] = credentials

    yield Fix("AML-16", (path,), edits, change)


def split_token_source(manuscript: Manuscript) -> Iterator[Fix]:
    """Splits `token_source: "env:X"` into a source and its fields; `secrets:…` too, when it is a manager's own address."""
    path = ("transport", "credentials", "token_source")
    credentials = dig(manuscript.value, path[:-1])
    if not isinstance(credentials, dict):
        return
    fields = _find_source_fields(credentials)
    edit = _split_source(manuscript, path, fields)
    if edit is None:
        return

    def change(value: JsonObject) -> None:
        _name_source(value["transport"]["credentials"], fields or {})

    yield Fix("AML-16", (path,), (edit,), change)


def _has_broker(credentials: JsonObject) -> bool:
    return all(
        isinstance(credentials.get(key), str) and credentials[key].strip() for key in ("provider", "function_id")
    )


def _find_source_fields(credentials: JsonObject) -> dict[str, str] | None:
    """Returns the fields that `token_source` means, when they are certain and the credentials have none of them."""
    fields = parse_reference(credentials.get("token_source"))
    return fields if fields is not None and fields.keys().isdisjoint(credentials) else None


def _split_source(manuscript: Manuscript, path: Path, fields: dict[str, str] | None) -> Edit | None:
    node = manuscript.node(path)
    if node is None or fields is None or node.span.end_line != node.opener.line:
        return None
    between = find_separator(manuscript, node.opener)
    whole = Span(node.opener.line, node.opener.column, node.span.end_line, node.span.end_column)
    return manuscript.replace(whole, between.join(f'{key}: "{value}"' for key, value in fields.items()))


def _name_source(credentials: JsonObject, fields: dict[str, str]) -> None:
    credentials.pop("token_source", None)
    credentials |= fields


def drop_client(manuscript: Manuscript) -> Iterator[Fix]:
    """Drops `token_url`, `client_id` and the like once `provider` and `function_id` name the token broker that has them."""
    credentials = dig(manuscript.value, _CREDENTIALS)
    if not isinstance(credentials, dict) or credentials.get("scheme") != "oauth2" or not _has_broker(credentials):
        return
    for key in OAUTH2_KEYS:
        edit = drop_member(manuscript, (*_CREDENTIALS, key)) if key in credentials else None
        if edit is not None:

            def change(value: JsonObject, key: str = key) -> None:
                # `key=key`, because the loop has moved on when the fix is tried.
                del value["transport"]["credentials"][key]

            yield Fix("AML-16", ((*_CREDENTIALS, key),), (edit,), change)


def rename_function_arn(manuscript: Manuscript) -> Iterator[Fix]:
    """Renames `function_arn` of a lambda to `function_id`, with `provider: aws`."""
    path = ("transport", "function_arn")
    node = manuscript.node(path)
    transport = manuscript.value.get("transport")
    if node is None or not isinstance(transport, dict) or transport.get("type") != "lambda":
        return
    arn = transport["function_arn"]
    if not isinstance(arn, str) or not arn.startswith(_ARN) or "function_id" in transport:
        return
    if transport.get("provider", "aws") != "aws":
        return
    provider = "" if "provider" in transport else f'provider: "aws"{find_separator(manuscript, node.opener)}'

    def change(value: JsonObject) -> None:
        value["transport"]["function_id"] = value["transport"].pop("function_arn")
        value["transport"]["provider"] = "aws"

    yield Fix("AML-16", (path,), (manuscript.replace(node.opener, f"{provider}function_id"),), change)


def find_separator(manuscript: Manuscript, key: Span) -> str:
    """Returns the separator of members beside this key: a new line in a block, a comma in a flow."""
    if manuscript.is_block_key(key):
        return manuscript.newline + " " * (key.column - 1)
    return ", "


SUPERSEDED: tuple[Fixer, ...] = (
    move_parameters,
    move_response_schema,
    rename_auth,
    split_token_source,
    drop_client,
    rename_function_arn,
)
