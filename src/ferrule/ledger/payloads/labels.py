"""What tools call their outputs, fit to be written down: a file name that leads out of no folder, a media type that is one."""

from __future__ import annotations

import re

_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MEDIA_TYPE = re.compile(r"[0-9A-Za-z!#$&^_.+-]{1,100}/[0-9A-Za-z!#$&^_.+-]{1,100}(; ?[\x20-\x7e]{1,100})?")
UNKNOWN_TYPE = "application/octet-stream"


def file_name(text: str) -> str:
    """The last part of a path, printable and of a sane length; empty when nothing is left of it."""
    last = _UNFIT.sub("", text.replace("\\", "/")).rsplit("/", 1)[-1].strip()
    return "" if last in (".", "..") else last.encode()[:200].decode(errors="ignore")


def media_type(text: str) -> str:
    """The media type; that of unknown bytes where the text is none."""
    return text if _MEDIA_TYPE.fullmatch(text) else UNKNOWN_TYPE
