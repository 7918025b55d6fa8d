"""Attachments as arguments have them, and the parts of a multipart body as a server reads them."""

from __future__ import annotations

import base64
from email import policy
from email.parser import BytesParser
from typing import Any

from tests.runtime.executors.rest.server import Seen

ATTACHMENT = {
    "type": "object",
    "properties": {
        "transfer": {"type": "string", "enum": ["inline", "ref"]},
        "filename": {"type": "string"},
        "mime_type": {"type": "string"},
        "max_size_bytes": {"type": "integer"},
        "content": {"type": "string", "contentEncoding": "base64"},
        "url": {"type": "string", "format": "uri"},
    },
    "required": ["transfer", "filename", "mime_type", "max_size_bytes"],
}


def inline(data: bytes, name: str = "a.bin", media_type: str = "application/pdf", most: int = 1000) -> dict[str, Any]:
    """An attachment whose bytes come with it."""
    content = base64.b64encode(data).decode()
    return {"transfer": "inline", "filename": name, "mime_type": media_type, "max_size_bytes": most, "content": content}


def by_ref(url: str, most: int = 1000) -> dict[str, Any]:
    """An attachment that has to be fetched."""
    return {"transfer": "ref", "filename": "r.txt", "mime_type": "text/plain", "max_size_bytes": most, "url": url}


def parts_of(seen: Seen) -> list[tuple[str, str | None, str, bytes]]:
    """Name, file name, media type and bytes of each part."""
    head = f"Content-Type: {seen.headers['content-type']}\r\n\r\n".encode()
    message = BytesParser(policy=policy.HTTP).parsebytes(head + seen.body)
    found = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        found.append((str(name), part.get_filename(), part.get_content_type(), part.get_payload(decode=True)))
    return found  # type: ignore[return-value]  # payloads of leaves are bytes
