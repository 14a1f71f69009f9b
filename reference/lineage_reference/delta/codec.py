"""Small binary pieces: variable-length numbers, texts, versions, and the heads of msgpack containers.

Everything that a blob store keeps or a request carries is built from these. Numbers are unsigned, seven
bits a byte, lowest first. A text that is a UUID in its usual form takes 17 bytes instead of 37.
"""

from __future__ import annotations

import struct
import uuid
import zlib
from typing import Any


class Malformed(ValueError):
    """Bytes that were not made by this package, or were cut."""


def number(value: int) -> bytes:
    """An unsigned number, seven bits a byte."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def chunk(data: bytes) -> bytes:
    """Bytes with their length before them."""
    return number(len(data)) + data


def text(value: str) -> bytes:
    """A text; one that is a UUID as `str(UUID)` writes it is packed."""
    try:
        packed = uuid.UUID(value) if len(value) == 36 else None
    except ValueError:
        packed = None
    if packed is not None and str(packed) == value:
        return b"\x00" + packed.bytes
    return b"\x01" + chunk(value.encode("utf-8", "surrogatepass"))


def version(value: Any) -> bytes:
    """A channel version: int, float or text. The text that stock savers mint takes about ten bytes."""
    if type(value) is int and value >= 0:
        return b"i" + number(value)
    if type(value) is float:
        return b"f" + struct.pack("<d", value)
    if not isinstance(value, str):
        raise TypeError(f"a channel version is an int, a float or a text, not {value!r}")
    whole, dot, rest = value.partition(".")
    if len(whole) == 32 and whole.isascii() and whole.isdigit() and dot:
        head = b"p" + number(int(whole))
        try:
            fraction = float(rest)
        except ValueError:
            return head + b"t" + text(rest)
        if f"{fraction:016}" == rest:
            return head + b"d" + struct.pack("<d", fraction)
        return head + b"t" + text(rest)
    return b"t" + text(value)


class Reader:
    """Reads the pieces back, one after the other. Raises `Malformed` where they end too early."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def done(self) -> bool:
        """Whether everything was read."""
        return self.at >= len(self.data)

    def number(self) -> int:
        """The next number."""
        data, at, value, shift = self.data, self.at, 0, 0
        try:
            while (byte := data[at]) > 0x7F:
                value |= (byte & 0x7F) << shift
                shift += 7
                at += 1
        except IndexError:
            raise Malformed("cut inside a number") from None
        self.at = at + 1
        return value | byte << shift

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        end = self.at + count
        if end > len(self.data):
            raise Malformed(f"{count} bytes wanted, {len(self.data) - self.at} left")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def chunk(self) -> bytes:
        """Bytes with their length before them."""
        return self.take(self.number())

    def text(self) -> str:
        """The next text."""
        tag = self.take(1)
        if tag == b"\x00":
            return str(uuid.UUID(bytes=self.take(16)))
        return self.chunk().decode("utf-8", "surrogatepass")

    def version(self) -> Any:
        """The next channel version, with its type."""
        tag = self.take(1)
        if tag == b"i":
            return self.number()
        if tag == b"f":
            return struct.unpack("<d", self.take(8))[0]
        if tag == b"t":
            return self.text()
        if tag != b"p":
            raise Malformed(f"no version starts with {tag!r}")
        whole = f"{self.number():032}"
        if self.take(1) == b"d":
            return f"{whole}.{struct.unpack('<d', self.take(8))[0]:016}"
        return f"{whole}.{self.text()}"


def array(count: int) -> bytes:
    """The head of a msgpack array of `count` items."""
    return _head(count, 0x90, b"\xdc", b"\xdd")


def mapping(count: int) -> bytes:
    """The head of a msgpack map of `count` pairs."""
    return _head(count, 0x80, b"\xde", b"\xdf")


def _head(count: int, short: int, middle: bytes, long: bytes) -> bytes:
    if count < 16:
        return bytes((short | count,))
    return middle + struct.pack(">H", count) if count < 1 << 16 else long + struct.pack(">I", count)


def body(data: bytes, count: int) -> bytes | None:
    """What follows the head of a msgpack array of `count` items; None if `data` is none."""
    head = array(count)
    return data[len(head) :] if data.startswith(head) else None


# What messages and log entries have in common; frames and stored blobs are deflated against it.
COMMON = (
    b"usage_metadata\xa8artifact\xa6status\xa7success\xa5error\xa7pending\xa9timestamp\xa9tool_info"
    b"\xacmessage_type\xaemessage_sub_type\xa6system\xa9developer\xa4user\xa5agent\xaacorrelation_id"
    b"\xb0langchain_core.messages.system\xadSystemMessage\xbalangchain_core.messages.human\xacHumanMessage"
    b"\xb9langchain_core.messages.tool\xabToolMessage\xactool_call_id\xb7langchain_core.messages.ai"
    b"\xa9AIMessage\xb2invalid_tool_calls\x90\xaatool_calls\x91\x84\xa4name\xa4args\x81\xa2id\xa4type"
    b"\xa9tool_call\xa7content\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa2ai\xa4name\xc0"
    b"\xa2id\xb3model_validate_json"
)


def squeeze(data: bytes, level: int = 6) -> bytes:
    """Deflated bytes where that is shorter; the first byte says which."""
    if len(data) > 64:
        packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, COMMON)
        packed = packer.compress(data) + packer.flush()
        if len(packed) < len(data):
            return b"\x01" + packed
    return b"\x00" + data


def unsqueeze(data: bytes, most: int = 1 << 30) -> bytes:
    """What `squeeze` was given. Raises `Malformed` for other bytes, or when it is longer than `most`."""
    if data[:1] == b"\x00":
        return data[1:]
    if data[:1] != b"\x01":
        raise Malformed("not squeezed bytes")
    unpacker = zlib.decompressobj(-15, zdict=COMMON)
    try:
        whole = unpacker.decompress(data[1:], most)
    except zlib.error as error:
        raise Malformed(str(error)) from None
    if not unpacker.eof:
        raise Malformed("cut, or too long")
    return whole
