"""Requirements about the sealed catalog, by their ids."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from ferrule.errors import SealError
from ferrule.workspace.releases import build, load_catalog
from ferrule.workspace.workspace import Workspace
from tests import ROOT
from tests.cli.run import ferrule

DEMO = ROOT / "demo"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """The demo's definitions, with a key of their own."""
    folder = tmp_path / "shop"
    assert ferrule("init", "shop", folder=tmp_path).code == 0
    for name in ("tools", "agents", "iam"):
        shutil.rmtree(folder / name)
        shutil.copytree(DEMO / name, folder / name)
    return Workspace.open(folder)


def test_guidance_becomes_part_of_an_agents_instructions(workspace: Workspace) -> None:
    """AML-76"""
    build(workspace)
    agent = load_catalog(workspace).record("agent", "shop-assistant")
    assert agent is not None
    instructions = msgspec.json.decode(agent.payload)["instructions"]
    for text in (
        "the parcel arrived damaged",
        "the same order was refunded in this conversation",
        "Money leaves the shop's account at once",
    ):
        assert text in instructions


def test_a_changed_byte_is_refused(workspace: Workspace) -> None:
    """AML-86"""
    build(workspace)
    file = workspace.root / ".ferrule" / "catalog.ferrule"
    sealed = file.read_bytes()
    for position in range(200, len(sealed), len(sealed) // 50):
        file.write_bytes(sealed[:position] + bytes([sealed[position] ^ 1]) + sealed[position + 1 :])
        with pytest.raises(SealError):
            load_catalog(workspace)
    file.write_bytes(sealed)
    assert len(load_catalog(workspace)) == 12
