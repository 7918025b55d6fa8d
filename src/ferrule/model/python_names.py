"""Names of definitions as Python would write them."""

from __future__ import annotations

import keyword
import re

_NO_NAME = re.compile(r"\W")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def python_name(field: str) -> str:
    """The parameter a field of a schema is given to: `user-id` to `user_id`, `from` to `from_`, `2fa` to `_2fa`."""
    name = _NO_NAME.sub("_", field)
    if not name or name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def snake(name: str) -> str:
    """`customerRepo` to `customer_repo`, `HTTPClient` to `http_client`."""
    return _HUMP.sub("_", name).lower()
