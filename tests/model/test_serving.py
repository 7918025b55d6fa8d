"""Settings of serving: one issuer or several, and limits that keep their bounds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.model.serving import ServeSettings

ONE, OTHER = {"issuer": "https://one.example/"}, {"issuer": "https://other.example/"}


@pytest.mark.parametrize(
    ("written", "issuers"),
    [
        ({}, []),
        ({"jwt": ONE}, ["https://one.example/"]),
        ({"jwt": [ONE, OTHER]}, ["https://one.example/", "https://other.example/"]),
    ],
)
def test_one_issuer_or_several_may_be_written(written: dict[str, Any], issuers: list[str]) -> None:
    assert [each.issuer for each in msgspec.convert(written, ServeSettings).issuers] == issuers


@pytest.mark.parametrize(
    "written",
    [
        {"port": 65_536},
        {"port": -1},
        {"processes": 0},
        {"hostname": "a"},
        {"log_level": "debug"},
        {"limits": {"depth": 0}},
        {"limits": {"queue_seconds": 0}},
        {"mcp": {"page_size": 0}},
        {"mcp": {"deferred": "hide"}},
        {"oxp": {"auth": ["password"]}},
        {"jwt": {}},
        {"jwt": [{**ONE, "default_scopes": ["everything"]}]},
        {"grants": [{"who": "ada"}]},
    ],
    ids=str,
)
def test_impossible_settings_are_refused(written: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(written, ServeSettings)


def test_who_says_nothing_serves_loopback_with_keys_and_no_origin() -> None:
    settings = ServeSettings()
    assert (settings.host, settings.auth, settings.origins, settings.issuers) == ("127.0.0.1", True, (), ())
