"""Bodies that `fetch` brings: text or base64 in the result, or a file that is whole or not there."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from tests.runtime.builtins.builtin_tools import expect_refusal
from tests.runtime.builtins.fetching import fetch
from tests.runtime.builtins.web import answer, running_web


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "é"), ("é".encode("utf-16"), 'text/plain; charset="utf-16"', "é"),
     (b"\x89PNG\0\0", "image/png", None), (b"\xff\xfe\xfd", "text/plain", None), (b"abc", "text/plain; charset=rot13", "abc"),
     (b"abc", "text/plain; charset=unicode_escape", "abc"), (b"abc", "text/plain; charset=nonsense", "abc"), (b"", "", "")],
)  # fmt: skip
def test_text_is_decoded_and_the_rest_is_base64(
    tmp_path: Path, body: bytes, content_type: str, text: str | None
) -> None:
    with running_web(index=answer(body, Content_Type=content_type)) as site:
        result = fetch(tmp_path, site.url())
    if text is None:
        assert result["body_encoding"] == "base64" and base64.b64decode(result["body"]) == body
    else:
        assert result["body"] == text and "body_encoding" not in result


def test_a_body_is_saved_in_the_download_folder(tmp_path: Path) -> None:
    """ADL-28"""
    data = os.urandom(300_000)
    with running_web(index=answer(data)) as site:
        config = {"allow_downloads": True, "download_dir": "down"}
        result = fetch(tmp_path, site.url(), config, save_path="a/b.bin")
    assert (result["saved_to"], result["bytes_written"], result["truncated"]) == (
        str(tmp_path / "down/a/b.bin"),
        300_000,
        False,
    )
    assert "body" not in result and (tmp_path / "down/a/b.bin").read_bytes() == data
    assert os.listdir(tmp_path / "down/a") == ["b.bin"]


def test_a_saved_body_is_cut_too(tmp_path: Path) -> None:
    with running_web(index=answer(b"x" * 1000)) as site:
        config = {"allow_downloads": True, "download_dir": "down", "max_bytes": 10}
        result = fetch(tmp_path, site.url(), config, save_path="x")
    assert (result["bytes_written"], result["truncated"]) == (10, True)


@pytest.mark.parametrize("page", [answer(b"short", length=5000), answer(b"gone", status=404)])
def test_what_did_not_come_in_full_replaces_nothing(tmp_path: Path, page: bytes) -> None:
    (tmp_path / "x").write_text("old")
    config = {"allow_downloads": True, "download_dir": "."}
    with running_web(index=page) as site:
        if b"404" in page:
            assert fetch(tmp_path, site.url(), config, save_path="x")["body"] == "gone"
        else:
            with expect_refusal("dependency_unavailable", "broken_answer"):
                fetch(tmp_path, site.url(), config, save_path="x")
    assert os.listdir(tmp_path) == ["x"] and (tmp_path / "x").read_text() == "old"
