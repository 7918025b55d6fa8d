"""`ferrule import`: tools that exist elsewhere become definitions of the workspace, and follow their source from then on."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from ferrule.app.imports.functions import import_list
from ferrule.app.imports.openapi import OperationChoice, import_document
from ferrule.app.imports.outcome import ImportReport, LeftEntry
from ferrule.app.imports.python import import_functions, list_functions
from ferrule.app.imports.source import (
    ImportIdentity,
    decode_source,
    encode_source,
    identify_import,
    is_address,
    list_repeatable,
    load_document,
    make_file_reader,
)
from ferrule.app.imports.store import ImportRecord, list_imports, load_import
from ferrule.cli.import_flow import (
    ImportManner,
    ImportSource,
    choose_folder,
    finish_import,
    import_options,
    print_imports,
)
from ferrule.cli.options import json_option, workspace_option
from ferrule.cli.show.output import json_text
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import BindingError, WorkspaceError
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.inject import to_snake_case
from ferrule.workspace.workspace import Workspace

_EPILOG = """\b
Exit code: 0 when everything that was chosen is there, 1 when something could not be imported or waits for a decision
(--mine, --theirs), 2 when the import could not run.
"""


@click.group(epilog="What was imported is remembered under .ferrule/imports: keep that folder in version control.")
def command() -> None:
    """Make tools of the workspace from what exists: OpenAPI documents, MCP servers, Python functions, function lists.

    An import can be made again at any time. What changed at the source since then is put into the files, what you changed in them
    stays, and where both changed the same key you are asked. Changes that break callers are told, as `ferrule diff` tells them.
    """


@command.command("openapi", epilog="""\b
Examples:
  ferrule import openapi petstore.yaml
  ferrule import openapi https://api.example.com/openapi.json --tag pets --method get
  ferrule import openapi spec.json --operation 'list*' --exclude-path '/admin/**' --dry-run
  ferrule import openapi                # make every earlier import again
""" + _EPILOG)  # fmt: skip
@click.argument("source", required=False)
@click.option("--tag", "tags", multiple=True, help="Only operations with this tag; * matches anything.")
@click.option(
    "--path", "paths", multiple=True, help="Only operations of these paths: /pets/* (one part), /pets/** (any)."
)
@click.option("--operation", "operations", multiple=True, help="Only these operations, by id or by tool name, with *.")
@click.option("--method", "methods", multiple=True, help="Only this method.")
@click.option("--exclude-tag", "except_tags", multiple=True)
@click.option("--exclude-path", "except_paths", multiple=True)
@click.option("--exclude-operation", "except_operations", multiple=True)
@click.option("--exclude-method", "except_methods", multiple=True)
@click.option("--no-deprecated", is_flag=True, help="Skip deprecated operations.")
@click.option("--server", help="The address to call, or one of the document's servers: its number, name or address.")
@click.option(
    "--variable", "variables", multiple=True, metavar="NAME=VALUE", help="A variable of the server's address."
)
@click.option("--client-id", help="For OAuth's client credentials.")
@click.option("--owner", help="The owner of the tools; the document's contact by default.")
@click.option("--namespace", help="The prefix of secret variables; the document's title by default.")
@import_options
def openapi(source: str | None, manner: ImportManner, **asked: Any) -> int:
    """Make a tool of each operation of an OpenAPI document (2.0, 3.0, 3.1, 3.2), ready to be called.

    SOURCE is a file, an address, '-' for a pipe, or the name of an earlier import. Addresses are fetched under the workspace's
    network rules: private ones have to be in [network] allow. Without a choice of operations, all of them are imported, or
    those that were chosen last time. Without a SOURCE, every earlier import is made again.
    """
    workspace = Workspace.open(manner.path)
    return print_imports(
        [_openapi(workspace, known, asked, manner) for known in _find_imports(workspace, "openapi", source, manner)],
        manner,
    )


def _find_imports(workspace: Workspace, kind: str, source: str | None, manner: ImportManner) -> list[ImportIdentity]:
    root = workspace.root
    if source is not None:
        return [identify_import(root, kind, source, manner.name)]
    records = [record for record in list_repeatable(root, kind) if manner.name in ("", record.name)]
    if not records:
        raise click.UsageError(f"nothing of the kind was imported yet; name a SOURCE: ferrule import {kind} SOURCE")
    return [ImportIdentity(record.name, record.source, load_import(root, record.name)) for record in records]


def _openapi(workspace: Workspace, known: ImportIdentity, asked: JsonObject, manner: ImportManner) -> ImportReport:
    choice, namespace = _choose_operations(asked, known.last.record if known.last is not None else None)
    used = decode_source(workspace.root, known.source)
    found = import_document(
        load_document(workspace, used), known.source, choice, namespace, make_file_reader(workspace, used)
    )
    folder = choose_folder(manner, known)
    brought = ImportSource(
        files={name if folder == "." else f"{folder}/{name}": text for name, text in found.files.items()},
        choice={"namespace": namespace, **_drop_defaults(choice)},
        diagnostics=tuple(found.diagnostics),
    )
    return finish_import(workspace, "openapi", known, brought, manner)


def _choose_operations(asked: JsonObject, last: ImportRecord | None) -> tuple[OperationChoice, str]:
    """Returns the chosen operations: the given ones, or those of the last import."""
    given = {key: value for key, value in asked.items() if value not in (None, (), False)}
    before = dict(last.choice) if last is not None else {}
    if given.pop("no_deprecated", False):
        given["with_deprecated"] = False
    if "variables" in given:
        given["variables"] = dict(_pair(word) for word in given["variables"])
    choosing = {
        "tags",
        "paths",
        "operations",
        "methods",
        "except_tags",
        "except_paths",
        "except_operations",
        "except_methods",
    }
    # A new choice replaces the whole earlier one: tags of today with paths of last time would be nobody's choice.
    if choosing & given.keys():
        before = {key: value for key, value in before.items() if key not in choosing}
    whole = {**before, **given}
    namespace = str(whole.pop("namespace", ""))
    return msgspec.convert(whole, OperationChoice), namespace


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise click.UsageError(f"--variable takes NAME=VALUE, not {word!r}")
    return name, value


def _drop_defaults(choice: OperationChoice) -> JsonObject:
    """Returns a choice without members at their default."""
    usual = msgspec.to_builtins(OperationChoice())
    return {key: value for key, value in msgspec.to_builtins(choice).items() if value != usual[key]}


@command.command(
    "mcp",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  ferrule import mcp --bearer CRM_TOKEN --tool 'search_*' https://crm.example.com/mcp
  ferrule import mcp --name files npx -y @modelcontextprotocol/server-filesystem .
  ferrule import mcp --env GITHUB_TOKEN npx -y @modelcontextprotocol/server-github
  ferrule import mcp crm                # look again, and accept what changed

Options stand before the address or program. Exit code: 0 when its tools are imported (or are as they were), 1 when nobody
agreed, 2 when the server could not be looked at.
""",
)
@click.option("--name", default="", help="The server's name: its tools become NAME.TOOL.")
@click.option("--tool", "tools", multiple=True, metavar="PATTERN", help="Only these tools, with *.")
@click.option(
    "--env",
    multiple=True,
    metavar="KEY[=VALUE]",
    help="An environment variable of the program; its value is stored with the secrets.",
)
@click.option("--bearer", metavar="VARIABLE", help="Authenticate with the token in this environment variable.")
@click.option(
    "--header", metavar="HEADER=VARIABLE", help="Authenticate with the key in this variable, sent in this header."
)
@click.option("--credentials", metavar="JSON", help="Authenticate as transport.credentials of a definition does.")
@click.option("--dry-run", is_flag=True, help="Report only; write nothing.")
@click.option("--yes", is_flag=True, help="Import without confirmation.")
@json_option
@workspace_option
@click.argument("server", nargs=-1, required=True, type=click.UNPROCESSED, metavar="URL | COMMAND... | NAME")
def mcp(server: tuple[str, ...], path: str, dry_run: bool, yes: bool, as_json: bool, **given: Any) -> int:
    """Take over the tools of an MCP server: an address, or a program that speaks MCP over its input and output.

    The server is asked what it offers, in whichever revision of MCP it speaks, and its tools are shown with what it says about
    their safety. Then [mcp.servers.NAME] is written into ferrule.toml and every tool's definition into ferrule.lock, which is
    what models read from then on. A program is started to be asked: it runs, with your rights.
    """
    if server[0].startswith("-"):
        raise click.UsageError(f"there is no option {server[0]!r}; 'ferrule import mcp --help' lists them")
    if len(server) > 1 and is_address(server[0]):
        raise click.UsageError(
            f"options stand before the address: ferrule import mcp {' '.join(server[1:])} {server[0]}"
        )
    from ferrule.cli.import_mcp import import_server

    return import_server(server, path=path, is_dry=dry_run, is_sure=yes, as_json=as_json, **given)


@command.command("python", epilog="""\b
Examples:
  ferrule import python shop.py
  ferrule import python shop.orders refund find_order --owner "Team Orders"
  ferrule import python shop.py --no-run
""" + _EPILOG)  # fmt: skip
@click.argument("module", required=False)
@click.argument("functions", nargs=-1, metavar="[FUNCTION]...")
@click.option("--owner", help="The owner of the tools; the workspace's namespace by default.")
@click.option("--read-only", is_flag=True, help="Declare these functions read-only: they need no approval.")
@click.option("--no-run", is_flag=True, help="List the functions from the file's text, without running it, and exit.")
@import_options
def python(
    module: str | None,
    functions: tuple[str, ...],
    owner: str | None,
    read_only: bool,
    no_run: bool,
    manner: ImportManner,
) -> int:
    """Make a definition of each public function of MODULE, and bind it to the function.

    MODULE is a file of the workspace (shop.py) or a module (shop.orders). It is imported, so its code runs, with your rights.
    Types, defaults and docstrings (Google, NumPy, reST) become schemas and descriptions; [functions.bind] in ferrule.toml says
    which function runs which definition. What nobody states is taken for unsafe, so calls ask a person first: state facts
    with @ferrule.tool(read_only=True), or with --read-only for all that are imported.
    """
    workspace = Workspace.open(manner.path)
    if no_run:
        if module is None:
            raise click.UsageError("--no-run lists the functions of a file; name it")
        return _list_functions(workspace, module)
    asked = {"functions": list(functions), "owner": owner, "read_only": read_only}
    known = (
        [_python_import(workspace, module, manner)]
        if module is not None
        else _find_imports(workspace, "python", None, manner)
    )
    return print_imports([_python(workspace, one, asked, manner) for one in known], manner)


def _python_import(workspace: Workspace, module: str, manner: ImportManner) -> ImportIdentity:
    if not module.endswith(".py"):
        for record in list_imports(workspace.root):
            if record.kind == "python" and module in (record.name, record.source):
                return ImportIdentity(record.name, record.source, load_import(workspace.root, record.name))
        return identify_import(workspace.root, "python", module, manner.name or module.replace(".", "-"))._replace(
            source=module
        )
    kept_as = encode_source(workspace.root, module)
    if kept_as.startswith("../"):
        raise WorkspaceError(f"{module!r} is not in the workspace; name it as a module that can be imported from there")
    return identify_import(workspace.root, "python", module, manner.name)


def _list_functions(workspace: Workspace, module: str) -> int:
    for one in list_functions(workspace.root, module):
        lacks = [] if one.has_docstring else ["no docstring"]
        lacks += [] if one.is_typed else ["parameters without types"]
        more = f"  ({', '.join(lacks)})" if lacks else ""
        click.echo(sanitize(f"{one.place.file}:{one.place.line}: {one.name}{more}"))
    return 0


def _python(workspace: Workspace, known: ImportIdentity, asked: JsonObject, manner: ImportManner) -> ImportReport:
    before = known.last.record.choice if known.last is not None else {}
    whole = {**before, **{key: value for key, value in asked.items() if value}}
    found = import_functions(
        workspace.root,
        known.source,
        whole.get("functions", ()),
        namespace=workspace.namespace,
        owner=whole.get("owner") or workspace.namespace,
        out=choose_folder(manner, known),
        is_read_only=bool(whole.get("read_only")),
        known=workspace.settings.functions.modules,
    )
    if not found.files and not found.left:
        raise BindingError(f"{known.source} has no public function; name one that begins with '_' if you mean it")
    brought = ImportSource(
        files=found.files,
        choice={key: value for key, value in whole.items() if value},
        bind=found.bind,
        left=tuple(LeftEntry(one.name, one.place.file, one.place.line, one.why) for one in found.left),
        notes=found.notes,
    )
    return finish_import(workspace, "python", known, brought, manner)


def _provider_command(provider: str, title: str) -> None:
    """Adds the command for the function lists of one provider."""

    @command.command(
        provider,
        help=f"""Make a definition of each function in FILE: a list of functions as {title} takes it, or a whole request.

        FILE is a file, an address, '-' for a pipe, or the name of an earlier import. Such a list says what a function is called
        and what it takes, and nothing about running it: --bind names the Python file that has the functions, or write
        [functions] bind yourself. Nothing says that they only read, so calls ask a person first.
        """,
        epilog=f"""\b
Examples:
  ferrule import {provider} tools.json
  ferrule import {provider} tools.json --bind functions.py --out tools/{provider}
"""
        + _EPILOG,
    )
    @click.argument("source", required=False, metavar="[FILE]")
    @click.option(
        "--bind",
        "module",
        metavar="MODULE",
        help="A Python file of the workspace: its functions of the same names run them.",
    )
    @click.option("--owner", help="The owner of the tools; the workspace's namespace by default.")
    @import_options
    def provider_import(source: str | None, module: str | None, owner: str | None, manner: ImportManner) -> int:
        workspace = Workspace.open(manner.path)
        asked = {"bind": module, "owner": owner}
        known = _find_imports(workspace, provider, source, manner)
        return print_imports([_functions(workspace, provider, one, asked, manner) for one in known], manner)


def _functions(
    workspace: Workspace, provider: str, known: ImportIdentity, asked: JsonObject, manner: ImportManner
) -> ImportReport:
    before = known.last.record.choice if known.last is not None else {}
    whole = {**before, **{key: value for key, value in asked.items() if value}}
    document = load_document(workspace, decode_source(workspace.root, known.source))
    owner = whole.get("owner") or workspace.namespace
    found = import_list(document, known.source, provider, workspace.namespace, owner)
    folder = choose_folder(manner, known)
    module = whole.get("bind")
    bind, unbound = _list_bound(workspace, module, {one: found.names[one] for one in map(_find_id, found.files)})
    notes = [f"no function of {module} is named like it: {', '.join(unbound)}"] if unbound and module else []
    brought = ImportSource(
        files={name if folder == "." else f"{folder}/{name}": text for name, text in found.files.items()},
        choice=whole,
        bind=bind,
        diagnostics=tuple(found.diagnostics),
        notes=(*found.notes, *notes),
        next=("bind them to functions: --bind FILE.py, or [functions] bind in ferrule.toml",)
        if unbound and not module
        else (),
    )
    return finish_import(workspace, provider, known, brought, manner)


def _find_id(file: str) -> str:
    return file.removesuffix(".tool.md")


def _list_bound(workspace: Workspace, module: str | None, names: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Returns the functions that run definitions, by names in the list or ids, and the definitions without a function."""
    own = [one.name for one in list_functions(workspace.root, module)] if module else []
    there = {to_snake_case(name): name for name in own}
    meant = {one: name if name in own else there.get(one.replace("-", "_")) for one, name in names.items()}
    return {one: f"{module}:{name}" for one, name in meant.items() if name}, [one for one in names if not meant[one]]


for _provider, _title in (("openai", "OpenAI"), ("anthropic", "Anthropic"), ("gemini", "Gemini")):
    _provider_command(_provider, _title)


@command.command("list")
@json_option
@workspace_option
def list_earlier_imports(path: str, as_json: bool) -> int:
    """List what was imported, from where and when."""
    records = list_imports(Workspace.open(path).root)
    if as_json:
        click.echo(json_text({"imports": [msgspec.to_builtins(record) for record in records]}))
        return 0
    for record in records:
        click.echo(sanitize(f"{record.name}  {record.kind}  {record.source}  {record.imported_at}"))
    if not records:
        click.echo("nothing was imported yet; 'ferrule import --help' tells how", err=True)
    return 0
