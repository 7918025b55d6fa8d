"""`make screenshots`: the demo is served from a copy, its agents work for a while, and every page of the console is photographed.

    make screenshots                 docs/images (the few that the README shows) and artifacts/screenshots (all)
    make screenshots ARGS=…          --seconds 40 (how long the agents work), --out FOLDER, --no-docs

Needs the extra of the tests (playwright) and a Chromium. Light, dark and at the width of a phone.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "demo"
IMAGES = ROOT / "docs" / "images"
ARTIFACTS = ROOT / "artifacts" / "screenshots"
WIDE, PHONE = (1280, 800), (390, 844)
LARGEST_BYTES = 200_000
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--force-color-profile=srgb")
_STOP_SECONDS = 30


class Shot(NamedTuple):
    """One page to photograph."""

    name: str
    address: str
    link: str = ""
    """A link on that page that leads on to the one that is meant, as a CSS selector; the first of its kind."""
    docs: tuple[str, ...] = ()
    """Which of its pictures the documentation shows: `light`, `dark`, `phone`."""


SHOTS = (
    Shot("home", "/console/", docs=("light", "dark")),
    Shot("catalog", "/console/catalog", docs=("light",)),
    Shot("tool", "/console/catalog", "main a[href*='/catalog/'][href*='refund_order']"),
    Shot("try", "/console/try", "main a[href*='/try/'][href*='refund_order']", docs=("light",)),
    Shot("inbox", "/console/inbox", docs=("light", "phone")),
    Shot("invocations", "/console/invocations", docs=("dark",)),
    Shot("invocation", "/console/invocations", "main a[href*='/invocations/inv_']", docs=("light",)),
    Shot("batches", "/console/batches"),
    Shot("batch", "/console/batches", "main a[href*='/batches/']", docs=("light",)),
    Shot("policy", "/console/policy"),
    Shot("agents", "/console/agents"),
    Shot("audit", "/console/audit"),
    Shot("login", "/console/login"),
)


@contextmanager
def demo(folder: Path) -> Iterator[tuple[str, str]]:
    """A copy of the demo, served; gives where, and the owner's token."""
    shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns(".ferrule", "__pycache__", "ferrule.pub"))
    words = [sys.executable, "-m", "ferrule", "serve", "--workspace", str(folder), "--port", "0", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        yield told["url"], (folder / ".ferrule" / "keys" / "owner.token").read_text().strip()
    finally:
        process.terminate()
        process.wait(_STOP_SECONDS)


def worked(folder: Path, url: str, seconds: float) -> None:
    """Let the agents of the demo do their work, each act once and then by chance."""
    words = [sys.executable, str(ROOT / "scripts" / "demo_agent.py"), "--workspace", str(folder), "--url", url]
    for more in (["--once"], ["--rate", "8", "--minutes", f"{seconds / 60:.3f}"]):
        subprocess.run([*words, *more], check=True, stdout=subprocess.DEVNULL)


def photographed(browser: Browser, url: str, token: str, out: Path) -> list[str]:
    """Every page in every form, into a folder; gives what is missing."""
    missing = []
    forms: dict[str, dict[str, Any]] = {
        "light": {"color_scheme": "light", "viewport": _size(WIDE)},
        "dark": {"color_scheme": "dark", "viewport": _size(WIDE)},
        "phone": {"color_scheme": "light", "viewport": _size(PHONE), "device_scale_factor": 2},
    }
    for form, options in forms.items():
        context = browser.new_context(**options, locale="en-GB", reduced_motion="reduce")
        page = context.new_page()
        _sign_in(page, url, token)
        for shot in SHOTS:
            if not _shown(page, url, shot):
                missing.append(f"{shot.name}: nothing on {shot.address} leads there")
                continue
            page.screenshot(path=out / f"{shot.name}-{form}.png")
        context.close()
    return sorted(set(missing))


def _size(size: tuple[int, int]) -> dict[str, int]:
    return {"width": size[0], "height": size[1]}


def _sign_in(page: Page, url: str, token: str) -> None:
    page.goto(f"{url}/console/login")
    page.fill("#token", token)
    page.click("button[type=submit]")
    page.wait_for_url(f"{url}/console/**")


def _shown(page: Page, url: str, shot: Shot) -> bool:
    page.goto(url + shot.address)
    if shot.link:
        found = page.locator(shot.link)
        if not found.count():
            return False
        page.goto(url + str(found.first.get_attribute("href")))
    if page.locator(".side").count():
        page.wait_for_selector(".side [data-live-state]:text-is('live')", state="attached")
        page.wait_for_function("() => !document.querySelector('.htmx-request')")
    page.evaluate("() => document.fonts.ready")
    return True


def kept(out: Path, images: Path) -> list[str]:
    """Copy what the documentation shows; gives the pictures that are too heavy for it."""
    images.mkdir(parents=True, exist_ok=True)
    heavy = []
    for shot in SHOTS:
        for form in shot.docs:
            file = out / f"{shot.name}-{form}.png"
            if not file.exists():
                continue
            target = images / f"console-{shot.name}-{form}.png"
            shutil.copyfile(file, target)
            _lightened(target)
            if target.stat().st_size > LARGEST_BYTES:
                heavy.append(f"{target.name}: {target.stat().st_size:,} bytes")
    return heavy


def _lightened(file: Path) -> None:
    """Fewer colours, where a program for that is installed."""
    for program in ("pngquant", "oxipng"):
        if found := shutil.which(program):
            more = ["--force", "--skip-if-larger", "--output", str(file)] if program == "pngquant" else ["--quiet"]
            subprocess.run([found, *more, str(file)], check=False, capture_output=True)


def main(words: Sequence[str] | None = None) -> int:
    """0 when every page was photographed."""
    said = _options(words)
    said.out.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("There is no chromium; on Debian: apt-get install chromium", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch, demo(Path(scratch) / "demo") as (url, token):
        worked(Path(scratch) / "demo", url, said.seconds)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
            missing = photographed(browser, url, token, said.out)
            browser.close()
    wrong = missing + ([] if said.no_docs else kept(said.out, IMAGES))
    for line in wrong:
        print(line, file=sys.stderr)
    count = len(list(said.out.glob("*.png")))
    print(f"{count} pictures are in {re.sub(f'^{re.escape(str(ROOT))}/', '', str(said.out))}")
    return 1 if wrong else 0


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Photograph every page of the console.")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long the agents work before (40)")
    parser.add_argument("--out", type=Path, default=ARTIFACTS, help="where all pictures go")
    parser.add_argument("--no-docs", action="store_true", help="leave docs/images as it is")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
