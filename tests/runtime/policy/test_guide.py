"""The policies the guide shows can be used."""

from __future__ import annotations

import pytest

from ferrule.runtime.policy.cases import read_cases
from ferrule.runtime.policy.read import read_text
from tests import ROOT
from tests.docs.blocks import Block, blocks

GUIDE = ROOT / "docs" / "guide" / "policy.md"
SHOWN = [block for block in blocks(GUIDE) if block.language == "toml"]


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: f"line {block.line}")
def test_every_table_of_the_guide_is_a_policy(block: Block) -> None:
    text = "\n".join(block.lines)
    if block.file == "policy.test.toml":
        assert read_cases(text, block.file)
    else:
        assert read_text(text, "policy_settings", block.file).findings == ()
