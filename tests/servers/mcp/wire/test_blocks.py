"""Content blocks in the form that a revision knows."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from ferrule.servers.mcp.wire.blocks import project_blocks
from tests.servers.mcp.direct_client import REVISIONS

MODERN = REVISIONS[0]
PNG = base64.b64encode(b"\x89PNG").decode()


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ({"type": "text", "text": "x", "empty": True, "origin": "hook"}, {"type": "text", "text": "x"}),
        (
            {"type": "image", "data": b"\x89PNG", "media_type": "image/png"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
        ),
        ({"type": "image", "dropped": {"reason": "size"}}, None),
        (
            {"type": "resource", "resource": {"uri": "a:b", "blob": b"\x89PNG"}},
            {"type": "resource", "resource": {"uri": "a:b", "blob": PNG}},
        ),
        ({"type": "resource", "resource": {"uri": "a:b"}}, None),
        ({"type": "resource_link", "uri": "a:b"}, {"type": "resource_link", "uri": "a:b", "name": "a:b"}),
        ({"type": "chart", "points": [1, 2], "raw": b"123"}, None),
        ({"type": "text"}, None),
    ],
    ids=range(8),
)
def test_what_has_no_form_in_a_revision_is_told_as_text(block: dict[str, Any], shown: dict[str, Any] | None) -> None:
    """MCP-142: no block is lost, and none is sent that a client would refuse."""
    (found,) = project_blocks([block], MODERN)
    if shown is None:
        assert found["type"] == "text"
        assert block["type"] in found["text"]
    else:
        assert found == shown
