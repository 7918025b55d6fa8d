"""`ferrule init [FOLDER]`: writes a small workspace with one example per dialect, and the key its catalogs are sealed with."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from ferrule.definitions.compiler.seal import KEY_FILE, PUBLIC_FILE, make_key, trust
from ferrule.errors import WorkspaceError
from ferrule.workspace import templates

FILES = {
    "ferrule.toml": "settings, each explained",
    "policy.toml": "who may do what: a first few rules",
    "functions.py": "what runs the tools: Python with sample data",
    ".gitignore": "keeps what is built, the key and .env out of Git",
    "tools/find-customer.tool.md": "an AML tool that reads",
    "tools/send-reply.tool.md": "an AML tool that acts, and waits for a person's approval",
    "tools/translate.json": "an OXP tool",
    "tools/notes/declaration.json": "an Agent Tool declaration",
    "tools/notes/interface.json": "  what it may do",
    "tools/notes/permission.json": "  what it needs permission for",
    "agents/support.agent.md": "an AML agent that uses the two AML tools",
    "agents/reporter.yaml": "an ADL agent with its tool inside",
    "iam/support-role.iam.md": "an AML role: the most that agent may do",
}
"""What is written, and what it is."""
_KEYS = {KEY_FILE: "the private key that seals catalogs; keep it secret", PUBLIC_FILE: "its public half, for Git"}
_NEXT = (
    ("ferrule check", "find mistakes; there are none yet, so make one and look"),
    ("ferrule list", "see the tools"),
    ("ferrule call find-customer --email ana@example.org", "call one: it only reads, so it answers at once"),
    ('ferrule call send-reply --to ana@example.org --subject Hello --body "Solved."', "this one waits for a person"),
    ("ferrule pending", "see what waits; 'ferrule approve ID' lets it run"),
    ("ferrule explain last", "the whole story of that call"),
    ("ferrule doctor", "tells for each tool whether it would work, and why not"),
    ("ferrule serve", "give the tools to an agent over MCP, OXP or HTTP, with a console in the browser"),
    ("ferrule build", "after a change: compile the definitions into a sealed catalog, which calls are made through"),
)


@click.command()
@click.argument("folder", default=".", type=click.Path(file_okay=False))
def command(folder: str) -> None:
    """Write a small workspace into FOLDER (by default: here). Existing files are never overwritten."""
    root = Path(folder)
    write_workspace(root)
    click.echo(f"A workspace is ready in {os.path.relpath(root)}:\n")
    for name, meaning in (FILES | _KEYS).items():
        click.echo(f"  {name:<30} {meaning}")
    click.echo("\nNow try:\n")
    if root.resolve() != Path.cwd():
        click.echo(f"  cd {folder}")
    for line, meaning in _NEXT:
        click.echo(f"  {line}\n      {meaning}")


def write_workspace(root: Path) -> None:
    """Writes all files, or none when one of them exists already. Raises WorkspaceError."""
    there = [name for name in (*FILES, *_KEYS) if os.path.lexists(root / name)]
    if there:
        raise WorkspaceError(f"{root / there[0]} exists already; choose an empty folder, or remove it first")
    shelf = Path(templates.__file__).parent / "workspace"
    blanks = {"{today}": datetime.now(UTC).date().isoformat(), "{namespace}": _namespace(root)}
    target = root
    try:
        for name in FILES:
            text = (shelf / name.removeprefix(".")).read_text(encoding="utf-8")
            for blank, value in blanks.items():
                text = text.replace(blank, value)
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        target = root / KEY_FILE
        trust(root / PUBLIC_FILE, make_key(root / KEY_FILE))
    except (OSError, WorkspaceError) as error:
        for name in (*FILES, *_KEYS):  # none of them was there before, and half a workspace would be in the way
            with suppress(OSError):
                (root / name).unlink()
        if isinstance(error, WorkspaceError):
            raise
        raise WorkspaceError(f"cannot write {error.filename or target}: {error.strerror}") from None


def _namespace(root: Path) -> str:
    """Returns the folder's name as a TOML string. Written into the settings, because a clone may have another name."""
    name = root.resolve().name
    return json.dumps(name if name.isprintable() and name else "default", ensure_ascii=False)
