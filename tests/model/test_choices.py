"""What may be written instead of a wrong word is told."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ferrule.errors import SettingsError
from ferrule.model.choices import choices_at
from ferrule.settings import Settings, load_settings


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('[results]\nstore = "s3"\n', "(write one of files, none)"),
        ('[builtins]\nsandbox = "on"\n', "(write one of required, preferred, off)"),
        ('[scheduler]\nparallel_classes = ["reads"]\n', "(write one of read_only, "),
        (
            '[[guardrails]]\nid = "g"\nat = ["input"]\nkind = "function"\n',
            "at `$.guardrails[0].at[0]` (write one of tool_input, tool_output)",
        ),
        (
            '[[hooks]]\nid = "a"\nevent = "pre_tool_use"\nkind = "cmd"\n',
            "(write one of command, http, function)",
        ),
        ("[scheduler]\nmax_parallel = 0\n", "Expected `int` >= 1 - at `$.scheduler.max_parallel`"),
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
