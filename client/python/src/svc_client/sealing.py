"""Sealed blobs: AES-256-GCM over UTF-8, bound to their kind and their owner."""

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .errors import SvcError

seal_bytes = 1 + 12 + 16


def prompt_purpose(client: str) -> bytes:
    return f"svc-prompt-v1:{client}".encode()


def output_purpose(job_id: str) -> bytes:
    return f"svc-output-v1:{job_id}".encode()


def seal(text: str, key: bytes, purpose: bytes, iv: bytes = b"") -> bytes:
    iv = iv or secrets.token_bytes(12)
    return b"\x01" + iv + AESGCM(key).encrypt(iv, text.encode(), purpose)


def unseal(blob: bytes, key: bytes, purpose: bytes) -> str:
    """Opens a sealed blob. Raises SvcError `blob-unreadable`."""
    if len(blob) < seal_bytes or blob[0] != 1:
        raise _unreadable("it is not a sealed blob of version 1")
    try:
        return AESGCM(key).decrypt(blob[1:13], blob[13:], purpose).decode()
    except InvalidTag as error:
        raise _unreadable("the key does not open it, or it was changed") from error
    except UnicodeDecodeError as error:
        raise _unreadable("it does not hold UTF-8 text") from error


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
