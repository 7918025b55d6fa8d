"""What the specification's own schemas say of a message."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

FOLDER = Path(__file__).parent / "schemas"


def check_against_schema(revision: str, kind: str, value: Any) -> None:
    """Raises ValidationError for what is no `kind` (`ListToolsResult`, …) of a revision."""
    _validator(revision, kind).validate(value)


@cache
def _validator(revision: str, kind: str) -> Any:
    schema = json.loads((FOLDER / f"{revision}.json").read_text())
    where = "$defs" if "$defs" in schema else "definitions"
    return jsonschema_rs.validator_for({**schema, "$ref": f"#/{where}/{kind}"})
