"""What the guides show is what happens: their console and Python blocks are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule.settings import load_settings
from tests import ROOT
from tests.docs.blocks import Block, blocks, matches, steps

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
RUNNABLE = [page for page in PAGES if any(block.language in {"console", "python", "toml"} for block in blocks(page))]
_LINK = re.compile(r"\]\(([^)#\s]+)?(#[^)\s]+)?\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_blocks_do_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "demo", tmp_path / "demo", ignore=shutil.ignore_patterns(".ferrule", "ferrule.pub"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nobody"))  # a reader's own rules would change what is shown
    for name in ("FERRULE_TOKEN", "FERRULE_POLICY"):
        monkeypatch.delenv(name, raising=False)
    namespace: dict[str, object] = {}
    for block in blocks(page):
        if block.language == "console":
            run_console(block, tmp_path)
        elif block.language == "python":
            exec(compile("\n".join(block.lines), f"{name_of(page)}:{block.line}", "exec"), namespace)
        elif block.language == "toml" and "[[check.suppress]]" in block.lines:
            file = tmp_path / "settings" / "ferrule.toml"
            file.parent.mkdir(exist_ok=True)
            file.write_text("\n".join(block.lines), encoding="utf-8")
            assert load_settings(file.parent).check.suppress


def run_console(block: Block, folder: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "FERRULE_CACHE_DIR": str(folder / "cache"),
    }
    for step in steps(block):
        done = subprocess.run(
            step.command,
            shell=True,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        shown = done.stdout + done.stderr
        assert done.returncode in {0, 1, 3}, f"{step.command}\n{shown}"
        assert matches(step.expected, shown), f"{step.command} printed\n{shown}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    for target, anchor in _LINK.findall(text):
        if target.startswith(("http://", "https://")):
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{name_of(page)} links to {target}, which is not there"
        if anchor and file.suffix == ".md":
            assert anchor[1:] in anchors(file), f"{name_of(page)} links to {target}{anchor}, which is not there"


def anchors(page: Path) -> set[str]:
    """The anchors a Markdown viewer gives a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
