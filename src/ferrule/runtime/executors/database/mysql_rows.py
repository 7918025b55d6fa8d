"""Runs a prepared statement of MySQL and reads its rows as they come, in MySQL's binary form.

The driver reads a complete result before it returns one row, and has no value for dates that Python lacks. So rows are read
here, with the driver's own packet reader; dates and times come as raw bytes and are written out without loss.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ferrule.infra.drivers import load_driver
from ferrule.runtime.executors.database.engine import BATCH, Query, QueryReport, Rows
from ferrule.runtime.executors.database.values import (
    Columns,
    Convert,
    base64_text,
    float_json,
    integer_json,
    json_text,
    parse_json,
)

_EXECUTE = 0x17
_BINARY = 63
"""The number of the character set `binary`."""
_UNSIGNED, _SET = 32, 2048
_FLOATS, _DATES, _TIME, _BIT, _JSON = (4, 5), (7, 10, 12, 14), 11, 16, 245
_FIXED = (1, 2, 3, 4, 5, 6, 8, 9, 13)
_RAW = 252
"""A type that is read as length-prefixed bytes; dates come in that form too."""
_DECIMALS = (0, 246)
_ZONED = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]\d\d:\d\d)")


class Unbindable(ValueError):
    """A value that cannot be bound. The message does not repeat it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


async def execute(
    connection: Any, text: str, values: Sequence[Any], wants: Mapping[str, str], answer: QueryReport
) -> Rows:  # fmt: skip
    """Yields rows in batches. Sets `answer.affected` for a statement without rows."""
    protocol = load_driver("asyncmy.protocol")
    prepared = await connection.prepare(text)
    try:
        # The flags say "no cursor"; the protocol wants an iteration count, and it is always 1.
        payload = struct.pack("<IBI", prepared._statement_id, 0, 1)
        if values:
            payload += protocol.pack_binary_params(tuple(values), connection._encoding)
        await connection._execute_command(_EXECUTE, payload)
        first = await connection.read_packet()
        if first.is_ok_packet():
            answer.affected = protocol.OKPacketWrapper(first).affected_rows
            yield []
            return
        fields = [
            await connection.read_packet(protocol.FieldDescriptorPacket)
            for _ in range(first.read_length_encoded_integer())
        ]
        # Without this capability, a packet of its own ends the columns.
        if not connection._deprecate_eof:
            await connection.read_packet()
        columns = Columns([field.name for field in fields], wants, [_convert(field) for field in fields])
        async for batch in _batches(connection, protocol, tuple(map(_spec, fields))):
            yield columns.rows(batch)
    except GeneratorExit:
        connection.close()  # unread rows are still arriving
        raise
    if connection.connected:
        await prepared.close()


async def _batches(connection: Any, protocol: Any, specs: tuple[Any, ...]) -> Any:
    """Yields rows as the driver's tuples. Reads what is buffered at once, then waits for the next packet."""
    rows: list[Any] = []
    while True:
        wire = connection._proto
        wire.pos, connection._next_seq_id = protocol.parse_binary_rows_from_buffer(
            wire.buffer, wire.pos, wire.length, specs, connection._next_seq_id, rows, connection._deprecate_eof
        )
        if len(rows) >= BATCH:
            # Reading pauses while the consumer works on a batch: the server waits, and memory does not grow.
            transport = connection._transport
            transport.pause_reading()
            yield rows
            rows = []
            transport.resume_reading()
        packet = await connection.read_packet()
        if _is_end(connection, protocol, packet):
            break
        rows.append(packet.read_binary_row(specs))
    yield rows


def _is_end(connection: Any, protocol: Any, packet: Any) -> bool:
    """Returns True for the packet after the last row, which holds the transaction's state."""
    if connection._deprecate_eof:
        return bool(packet.is_auth_switch_request())  # by its first byte, which no row begins with
    return bool(packet.is_eof_packet())


def _spec(field: Any) -> tuple[Any, ...]:
    """Returns how the driver reads a column: type, sign, 0 for bytes or 1 for UTF-8, encoding, no converter."""
    kind, is_unsigned = field.type_code, bool(field.flags & _UNSIGNED)
    if kind in _FIXED:
        return kind, is_unsigned, 0, None, None
    is_text = kind == _JSON or kind in _DECIMALS or (field.charsetnr != _BINARY and kind not in (*_DATES, _TIME, _BIT))
    return _RAW, is_unsigned, int(is_text), "utf8" if is_text else None, None


def _convert(field: Any) -> Convert | None:
    kind = field.type_code
    if kind in _FLOATS:
        return float_json
    if kind in _FIXED:
        return integer_json
    if kind in _DATES:
        return _zoned_timestamp if kind == 7 else _date if kind in (10, 14) else _timestamp
    if kind == _TIME:
        return _time
    if kind == _BIT:
        return lambda value: integer_json(int.from_bytes(value))
    if kind == _JSON:
        return parse_json
    if field.flags & _SET:
        return lambda value: value.split(",") if value else []
    if kind in _DECIMALS or field.charsetnr != _BINARY:
        return None
    return base64_text


def _parts(raw: bytes) -> tuple[int, int, int, int, int, int, int]:
    year, month, day = struct.unpack_from("<HBB", raw) if len(raw) >= 4 else (0, 0, 0)
    hour, minute, second = struct.unpack_from("<BBB", raw, 4) if len(raw) >= 7 else (0, 0, 0)
    micros = struct.unpack_from("<I", raw, 7)[0] if len(raw) >= 11 else 0
    return year, month, day, hour, minute, second, micros


def _timestamp(raw: bytes) -> str:
    year, month, day, hour, minute, second, micros = _parts(raw)
    fraction = f".{micros:06d}" if micros else ""
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}{fraction}"


def _zoned_timestamp(raw: bytes) -> str:
    """Formats a TIMESTAMP with its offset, which is UTC as in every session."""
    return _timestamp(raw) + "+00:00"


def _date(raw: bytes) -> str:
    year, month, day, *_ = _parts(raw)
    return f"{year:04d}-{month:02d}-{day:02d}"


def _time(raw: bytes) -> str:
    """Formats a TIME as MySQL does: a time of day, or a span of up to 838 hours."""
    if not raw:
        return "00:00:00"
    is_negative, days, hours, minutes, seconds = struct.unpack_from("<BIBBB", raw)
    micros = struct.unpack_from("<I", raw, 8)[0] if len(raw) >= 12 else 0
    fraction = f".{micros:06d}" if micros else ""
    return f"{'-' if is_negative else ''}{days * 24 + hours:02d}:{minutes:02d}:{seconds:02d}{fraction}"


def values_of(query: Query) -> list[Any]:
    """Converts values for the driver, in the order of the markers. Raises Unbindable."""
    made = []
    for name in query.statement.names:
        try:
            made.append(_value(query.values.get(name), query.formats.get(name, "")))
        except (ValueError, TypeError):
            raise Unbindable(name) from None
    return made


def _value(value: object, form: str) -> Any:
    if isinstance(value, str):
        if form == "base64":
            return base64.b64decode(value, validate=True)
        if form == "date-time" and _ZONED.fullmatch(value):
            return datetime.fromisoformat(value).astimezone(UTC).replace(tzinfo=None)
        # Raises for half of a surrogate pair, so that the value counts as one that cannot be bound.
        value.encode()
        return value
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        return str(value)
    return json_text(value) if isinstance(value, list | dict) else value
