"""Sealed blobs: AES-256-GCM over bytes, bound to a label that says what they are and whose."""

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .errors import SvcError

seal_bytes = 1 + 12 + 16


def seal(data: bytes, key: bytes, label: str, iv: bytes = b"") -> bytes:
    iv = iv or secrets.token_bytes(12)
    return b"\x01" + iv + AESGCM(key).encrypt(iv, data, label.encode())


def unseal(blob: bytes, key: bytes, label: str) -> bytes:
    """Opens a sealed blob. Raises SvcError `blob-unreadable`."""
    if len(blob) < seal_bytes or blob[0] != 1:
        raise _unreadable("it is not a sealed blob of version 1")
    try:
        return AESGCM(key).decrypt(blob[1:13], blob[13:], label.encode())
    except InvalidTag as error:
        raise _unreadable("the key does not open it, or it was changed") from error


def text_of(data: bytes) -> str:
    """Returns the text of opened bytes. Raises SvcError `blob-unreadable`."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        # The cause is left out, because it shows the bytes.
        raise _unreadable("it does not hold UTF-8 text") from None


def _unreadable(why: str) -> SvcError:
    return SvcError(
        "blob-unreadable",
        f"The blob cannot be decrypted: {why}",
        "Ask the sender of the blob to seal and upload it again.",
    )


def split_key(key: bytes) -> tuple[int, int]:
    """Splits a key into the halves that are encrypted: uint128, the high one first."""
    return int.from_bytes(key[:16], "big"), int.from_bytes(key[16:], "big")


def join_key(high: int, low: int) -> bytes:
    return high.to_bytes(16, "big") + low.to_bytes(16, "big")
