"""Every operation: it stands in the OpenAPI document and on its page."""

from __future__ import annotations

from ferrule.servers.api.openapi import build_openapi, render_page
from ferrule.servers.api.routes import ROUTES


def test_every_route_is_in_the_document_and_on_the_page() -> None:
    document, text = build_openapi(), render_page().decode()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len(operations) == len(ROUTES) == len({operation["operationId"] for operation in operations})
    for operation in operations:
        assert f'id="{operation["operationId"]}"' in text
