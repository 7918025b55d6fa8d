"""`ferrule result`: how a call ended, the preview, and the whole saved to a file or not at all."""

from __future__ import annotations

import asyncio
import json
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ferrule.app.opening import open_app
from ferrule.cli import main
from ferrule.contracts.executor import Output
from ferrule.infra.clock import Clock
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.model.result import Result
from ferrule.runtime.functions import tool
from tests.cli.run import Ran, ferrule

LONG = "line ü\n" * 20_000


@tool(read_only=True)
def report(kind: str = "long") -> Any:
    """Give a report."""
    if kind == "fail":
        raise ValueError("no report today")
    return {
        "long": LONG,
        "short": "a short report",
        "json": {"a": [1, 2]},
        "private": Output("a private letter", is_private=True),
        "pictures": Output(content=({"type": "image", "data": b"x" * 60_000, "media_type": "image/png"},) * 2),
        "escapes": "\x1b[31mred",
    }[kind]


def made(root: Path, kind: str, **settings: Any) -> Result:
    """The result of one call in a workspace."""

    async def called() -> Result:
        async with open_app(root, tools=[report]) as app:
            payloads = FilePayloads(root / ".ferrule" / "payloads", Clock().now)
            results = replace(app.services.results, **settings)
            app.services = replace(app.services, payloads=payloads, results=results)
            result = await app.surface(principal="ada").call("report", {"kind": kind})
            assert isinstance(result, Result)
            await payloads.aclose()
            return result

    return asyncio.run(called())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "ferrule.toml").write_text('[policy]\nmode = "trusted"\n')
    return folder


def shown(root: Path, *words: str) -> Ran:
    """What the command gives, run in this process: dozens of others would take their time."""
    out, err = TextIOWrapper(BytesIO(), "utf-8"), TextIOWrapper(BytesIO(), "utf-8")
    with chdir(root), redirect_stdout(out), redirect_stderr(err):
        code = main(["result", *words])
    texts = []
    for stream in (out, err):
        stream.flush()
        assert isinstance(stream.buffer, BytesIO)
        texts.append(stream.buffer.getvalue().decode())
    return Ran(code, *texts)


def test_a_long_result_is_shown_in_part_and_saved_whole(root: Path) -> None:
    """AT-225, AT-228: from the command line."""
    result = made(root, "long")
    ran = ferrule("result", "last", folder=root)
    assert ran.code == 0, ran.err
    assert "line ü\nline ü\n" in ran.out
    assert "160,000 bytes" in ran.out
    assert f"ferrule result {result.invocation_id} --save" in ran.out
    saved = shown(root, result.invocation_id, "--save", "out.txt")
    assert (saved.code, (root / "out.txt").read_text()) == (0, LONG), saved.err
    assert "saved 160,000 bytes to out.txt, verified" in saved.out
    refused = shown(root, "last", "--save", "out.txt")
    assert refused.code == 2
    assert "--force" in refused.err
    assert shown(root, "last", "--save", "out.txt", "--force").code == 0
    assert shown(root, "last", "--raw").out == LONG
    record = json.loads(shown(root, "last", "--json").out)
    assert record["persistence"][0]["strategy"] == "preview_and_persist"
    assert record["stored"][0]["is_there"] is True
    assert not [path for path in root.iterdir() if path.name.endswith(".part")]


def test_short_results_are_saved_from_the_ledger(root: Path) -> None:
    for kind, text in (("short", "a short report"), ("json", '{\n  "a": [\n    1,\n    2\n  ]\n}\n')):
        made(root, kind)
        assert shown(root, "last", "--raw").out == text
        assert shown(root, "last", "--save", f"{kind}.txt").code == 0
        assert (root / f"{kind}.txt").read_text() == text


def test_several_stored_outputs_go_into_a_folder(root: Path) -> None:
    made(root, "pictures")
    refused = shown(root, "last", "--save", "out.png")
    assert refused.code == 2
    assert "name a folder" in refused.err
    (root / "out").mkdir()
    assert shown(root, "last", "--save", "out").code == 0
    assert sorted(path.suffix for path in (root / "out").iterdir()) == [".png", ".png"]
    assert all(path.read_bytes() == b"x" * 60_000 for path in (root / "out").iterdir())


def test_the_owner_of_the_workspace_can_save_private_output(root: Path) -> None:
    """AT-234: a person, not a surface."""
    made(root, "private")
    ran = shown(root, "last")
    assert "a private letter" not in ran.out
    assert "private" in ran.out
    assert shown(root, "last", "--raw").out == "a private letter"


def test_what_is_gone_is_told_and_nothing_is_written(root: Path) -> None:
    """AT-236, AT-274: damaged, removed; the record is still shown."""
    made(root, "long")
    (file,) = (root / ".ferrule" / "payloads" / "kept").iterdir()
    data = bytearray(file.read_bytes())
    data[5] ^= 1
    file.write_bytes(data)
    ran = shown(root, "last", "--save", "out.txt")
    assert ran.code == 1
    assert "damaged" in ran.err
    assert not (root / "out.txt").exists()
    assert not list(root.glob(".*.part"))
    file.unlink()
    ran = shown(root, "last", "--save", "out.txt")
    assert (ran.code, "were removed" in ran.err) == (1, True)
    assert "succeeded" in shown(root, "last").out


def test_erasing_a_call_destroys_what_is_stored_of_it(root: Path) -> None:
    """AT-275: the record stays."""
    result = made(root, "long")
    with chdir(root), redirect_stdout(TextIOWrapper(BytesIO(), "utf-8")):
        assert main(["audit", "erase", "--principal", "ada", "--reason", "asked for"]) == 0
    assert not list((root / ".ferrule" / "payloads" / "kept").iterdir())
    ran = shown(root, "last")
    assert "its content was erased" in ran.out
    assert "were removed" in ran.out
    assert shown(root, result.invocation_id, "--raw").code == 1


def test_failed_and_hostile_results_are_shown_safely(root: Path) -> None:
    made(root, "fail")
    ran = shown(root, "last")
    assert (ran.code, "execution_failed" in ran.out) == (1, True)
    made(root, "escapes")
    assert "\x1b" not in shown(root, "last").out


def test_options_that_make_no_sense_together_are_refused(root: Path) -> None:
    made(root, "short")
    assert shown(root, "last", "--raw", "--json").code == 2
    assert shown(root, "last", "--force").code == 2
    assert shown(root, "inv_none").code == 2
    assert shown(root, "last", "--save", "nowhere/out.txt").code == 2
