"""The credential of a server that is imported: named by a variable, one of its kind, and never written out."""

from __future__ import annotations

from typing import Any

import click
import pytest

from ferrule.cli.import_mcp import _credentials


@pytest.mark.parametrize(
    ("bearer", "header", "given", "made"),
    [
        (None, None, None, None),
        ("CRM_TOKEN", None, None, {"scheme": "bearer-token", "source": "env", "name": "CRM_TOKEN"}),
        (None, "X-Key=CRM_KEY", None, {"scheme": "api-key", "header": "X-Key", "source": "env", "name": "CRM_KEY"}),
        (None, None, '{"scheme": "basic"}', {"scheme": "basic"}),
    ],
)
def test_a_credential_names_where_its_secret_is(
    bearer: str | None, header: str | None, given: str | None, made: dict[str, Any] | None
) -> None:
    assert _credentials(bearer, header, given) == made


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("sk-live-123", None, None), "never written out"),
        ((None, "X-Key=sk live", None), "never written out"),
        ((None, "X-Key", None), "takes HEADER=VARIABLE"),
        ((None, "=CRM_KEY", None), "takes HEADER=VARIABLE"),
        ((None, None, "[]"), "takes a JSON object"),
        ((None, None, "{"), "takes a JSON object"),
        (("A", "B=C", None), "has one credential"),
    ],
)
def test_what_is_no_name_of_one_secret_is_refused(words: tuple[str | None, str | None, str | None], told: str) -> None:
    with pytest.raises(click.UsageError, match=told):
        _credentials(*words)
