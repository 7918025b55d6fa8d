"""`ferrule init [FOLDER]`: writes a small workspace with one example per dialect, and the key its catalogs are sealed with."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import click

from ferrule import templates
from ferrule.compiler.seal import KEY_FILE, PUBLIC_FILE, make_key, trust
from ferrule.errors import WorkspaceError

FILES = {
    "ferrule.toml": "settings, each explained",
    ".gitignore": "keeps what is built, and the key, out of Git",
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
    ("ferrule show send-reply", "see one in full"),
    ("ferrule build", "compile them into a sealed catalog"),
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
        click.echo(f"  {line:<30} {meaning}")


def write_workspace(root: Path) -> None:
    """All files, or none when one of them is there already. Raises WorkspaceError."""
    there = [name for name in (*FILES, *_KEYS) if os.path.lexists(root / name)]
    if there:
        raise WorkspaceError(f"{root / there[0]} exists already; choose an empty folder, or remove it first")
    shelf = Path(templates.__file__).parent / "workspace"
    today = datetime.now(UTC).date().isoformat()
    try:
        for name in FILES:
            text = (shelf / name.removeprefix(".")).read_text(encoding="utf-8").replace("{today}", today)
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        trust(root / PUBLIC_FILE, make_key(root / KEY_FILE))
    except OSError as error:
        raise WorkspaceError(f"cannot write {error.filename}: {error.strerror}") from None
