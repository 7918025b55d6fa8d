"""What may be written instead of a wrong word is told."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ferrule.errors import SettingsError
from ferrule.model.misfits import choices_at
from ferrule.settings import Settings, load_settings


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('[results]\nstore = "s3"\n', "(write one of files, none)"),
        ('[builtins]\nsandbox = "on"\n', "(write one of required, preferred, off)"),
        ('[scheduler]\nparallel_classes = ["reads"]\n', "(write one of read_only, "),
        (
            '[[guardrails]]\nid = "g"\nat = ["input"]\nkind = "function"\n',
            "ferrule.toml:3: guardrails[0].at[0] cannot be 'input' (write one of tool_input, tool_output)",
        ),
        (
            '[[hooks]]\nid = "a"\nevent = "pre_tool_use"\nkind = "cmd"\n',
            "(write one of command, http, function)",
        ),
        ("[scheduler]\nmax_parallel = 0\n", "ferrule.toml:2: scheduler.max_parallel must be a whole number >= 1"),
        (
            '[mcp.servers.web]\nulr = "x"\n',
            "ferrule.toml:2: there is no key 'ulr' in mcp.servers.* (did you mean 'url'?)",
        ),
        ("[cahce]\n", "ferrule.toml:1: there is no key 'cahce' (did you mean 'cache'?)"),
        ('[mcp.servers.web]\ncommand = "a b"\n', ":2: mcp.servers.*.command must be a list, not a text"),
        ('[rest]\nmax_response_bytes = "1"\n', ":2: rest.max_response_bytes must be a whole number, not a text"),
        ("[oauth.acme]\nscopes = []\n", ": oauth.* lacks 'client_id'"),
        ('[cache.tools]\nprice = "60"\n', ": cache.tools.* must be a number, not a text"),
    ],
)
def test_settings_name_the_words_they_know(tmp_path: Path, written: str, told: str) -> None:
    (tmp_path / "ferrule.toml").write_text(written)
    with pytest.raises(SettingsError) as error:
        load_settings(tmp_path)
    assert told in str(error.value)


def test_other_errors_have_no_words() -> None:
    for message in ("", "Expected `int`", "Invalid enum value 'x'", "Invalid enum value 'x' - at `$.nowhere[0].x`"):
        assert choices_at(Settings, message) == []
    assert choices_at(msgspec.Raw, "Invalid enum value 'x' - at `$.a`") == []
