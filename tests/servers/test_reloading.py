"""What the log says while definitions, settings and functions change under a running server: once, and what to do."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

import ferrule
from ferrule.servers.reloading import Reloading
from tests.cli.test_serve import TRANSPORT
from tests.contracts.transports.fake_upstream import aml

WAIT_SECONDS = 30.0


async def heard(caplog: pytest.LogCaptureFixture, words: str) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while words not in caplog.text:
            await asyncio.sleep(0.05)


def test_the_log_tells_of_each_change_once_and_what_to_do(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings, functions = tmp_path / "ferrule.toml", tmp_path / "own.py"
    settings.write_text('[functions]\nmodules = ["own.py"]\n')
    functions.write_text("")
    definition = tmp_path / "look-up.tool.md"
    definition.write_text(aml("look-up", TRANSPORT))

    async def main() -> None:
        async with ferrule.open(tmp_path, tends=False) as app:
            reloading = Reloading(app)
            reloading.begin()
            async with asyncio.timeout(WAIT_SECONDS):
                while reloading._seen is None:
                    await asyncio.sleep(0.02)
            functions.write_text("# other\n")
            await heard(caplog, "own.py changed: functions are read at the start, so start again to take it")
            good = definition.read_text()
            definition.write_text(good.replace("spec_version", "spec_vershun"))
            await heard(caplog, "the catalog stays as it is: ")
            await heard(caplog, "look-up.tool.md:1: AML-")
            await heard(caplog, "'ferrule check' shows what to do")
            definition.write_text(good)
            await heard(caplog, "the definitions are fixed: 1 tool")
            right = settings.read_text()
            settings.write_text(right + "[serve")
            await heard(caplog, "the definitions cannot be looked at: ")
            for _ in range(2):
                await reloading._check_for_changes()
            settings.write_text(right)
            await heard(caplog, "the definitions can be looked at again")
            await reloading.aclose()

    with caplog.at_level(logging.WARNING, "ferrule.serve"):
        asyncio.run(main())
    assert caplog.text.count("cannot be looked at") == 1
    assert caplog.text.count("own.py changed") == 1


def test_definitions_in_a_new_folder_are_found_and_the_ledger_s_folder_is_not_listened_to(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "look-up.tool.md").write_text(aml("look-up", TRANSPORT))

    async def main() -> None:
        async with ferrule.open(tmp_path, tends=False) as app:
            reloading = Reloading(app)
            reloading.begin()
            async with asyncio.timeout(WAIT_SECONDS):
                while reloading._seen is None:
                    await asyncio.sleep(0.02)
            assert reloading._folders() == {str(tmp_path)}
            (tmp_path / "more").mkdir()
            (tmp_path / "more" / "look-in.tool.md").write_text(aml("look-in", TRANSPORT))
            await heard(caplog, "the definitions changed: 2 tools now")
            assert reloading._folders() == {str(tmp_path), str(tmp_path / "more")}
            (tmp_path / "more" / "look-in.tool.md").unlink()
            (tmp_path / "more").rmdir()
            await heard(caplog, "the definitions changed: 1 tools now")
            await reloading.aclose()

    with caplog.at_level(logging.WARNING, "ferrule.serve"):
        asyncio.run(main())
