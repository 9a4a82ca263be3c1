"""Bytes, base64url, canonical JSON (RFC 8785), strict JSON and files."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from .errors import SvcError


def from_base64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def to_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def canonical_json(value: Any) -> bytes:
    """Writes integers, texts, lists and objects with ASCII names, which is all that this protocol signs."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def sha256_hex(data: bytes) -> str:
    return "0x" + hashlib.sha256(data).hexdigest()


def hash_of(value: Any) -> str:
    """SHA-256 of the canonical JSON, which names statements, terms and receipts."""
    return sha256_hex(canonical_json(value))


def unhex(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def cid_of(block: bytes) -> str:
    """The CIDv1 of one raw block, sha2-256, base32."""
    name = bytes.fromhex("01551220") + hashlib.sha256(block).digest()
    return "b" + base64.b32encode(name).decode().rstrip("=").lower()


def read_file(path: str, most_bytes: int, what: str) -> bytes:
    """Reads a file of at most so many bytes, which holds `what`. Raises SvcError `file-unreadable`."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(most_bytes + 1)
        if len(data) > most_bytes:
            raise OSError(f"{path} is larger than {most_bytes >> 20} MiB")
        return data
    except OSError as error:
        raise SvcError("file-unreadable", str(error), f"Name the file that holds {what}.") from error


_apart = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')


def read_json(data: bytes) -> Any:
    """Reads JSON that has only one reading: no field twice, numbers and texts in canonical spelling.

    White space between parts and the order of fields are free. Raises SvcError `json-invalid`.
    """
    try:
        text = data.decode()
        value = json.loads(text, parse_float=_refused, parse_constant=_refused)
        minified = _apart.sub(lambda part: part.group(1) or "", text)
        again = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        again.encode()
    except (ValueError, RecursionError) as error:
        raise _invalid(str(error)) from error
    if minified != again:
        raise _invalid("it has a field twice, or a number or text in another spelling")
    return value


def _refused(text: str) -> None:
    raise ValueError(f"{text} is no integer")


def _invalid(why: str) -> SvcError:
    return SvcError("json-invalid", f"The JSON cannot be read: {why}", "Fetch it again. Do not rely on it.")
