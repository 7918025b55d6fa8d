"""What a caller calls its trace is found again: in the log of a real server, and in the story of the call (OXP-29)."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from ferrule.access.keys import AGENT_FILE, KEYS_FOLDER
from tests.servers.oxp.written import definition

FUNCTIONS = 'import ferrule\n\n@ferrule.tool("Doorbell.Ring")\ndef ring() -> None:\n    """Ring."""\n'
ALLOW = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'


@pytest.mark.parametrize(("options", "is_logged"), [(["--log-level", "info"], True), ([], False)])
def test_a_trace_is_in_the_log_that_wants_it_and_in_the_story(
    tmp_path: Path, options: list[str], is_logged: bool
) -> None:
    """OXP-29"""
    (tmp_path / "ferrule.toml").write_text('[functions]\nmodules = ["functions.py"]\n')
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "tools.json").write_text(json.dumps([definition("Doorbell.Ring@0.1.0")]))
    (tmp_path / "policy.toml").write_text(ALLOW)
    words = [sys.executable, "-m", "ferrule", "serve", "--workspace", str(tmp_path), "--port", "0", "--json", *options]
    log = tmp_path / "log.txt"
    with log.open("w") as errors:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            key = (tmp_path / KEYS_FOLDER / AGENT_FILE).read_text().strip()
            asked = urllib.request.Request(
                f"{url}/oxp/tools/call",
                b'{"request": {"tool_id": "Doorbell.Ring", "trace_id": "trace-1234"}}',
                {"Content-Type": "application/json", "OXP-API-Key": key},
            )
            with urllib.request.urlopen(asked, timeout=30) as answer:
                assert json.load(answer)["result"]["success"] is True
        finally:
            process.terminate()
            process.communicate(timeout=30)
    assert ("trace-1234" in log.read_text()) is is_logged, log.read_text()
    told = subprocess.run(
        [sys.executable, "-m", "ferrule", "explain", "last", "--workspace", str(tmp_path)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "trace-1234" in told.stdout
