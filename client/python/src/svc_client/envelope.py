"""Seals prompts twice and opens outputs: the coprocessor has the outer key in halves, the job's secret gives the inner.

Under a prompt's outer key lies an envelope, which wraps the secret for the reading key of each node on the list.
"""

import hashlib
from typing import Any, NamedTuple, Optional, Sequence

from .encoding import from_base64url, unhex
from .hpke import derive_key_pair, wrap
from .job_secret import ephemeral_seed, output_key, prompt_key, secret_check
from .sealing import seal, text_of, unseal
from .signatures import verify_reading

_version = 2

# Both seals, and an envelope for a list of 16 nodes.
most_envelope_bytes = 2 * 29 + 66 + 16 * 145


class EnvelopeOf(NamedTuple):
    """The stored prompt key that an envelope belongs to, and the nodes that may open it."""

    chain_id: int
    store: str
    client: str
    high: int
    low: int
    members: Sequence[str]


def seal_prompt(
    text: str, key: bytes, secret: bytes, of: EnvelopeOf, grants: Sequence[dict[str, Any]], iv: bytes = b""
) -> bytes:
    """Seals a prompt for the members, whose `grants` of reading keys the caller has verified. `iv` is for tests."""
    pair = derive_key_pair(ephemeral_seed(secret))
    envelope = bytes([_version, len(of.members)]) + secret_check(secret) + pair.public_key().public_bytes_raw()
    for node, grant in zip(of.members, grants, strict=True):
        reader = from_base64url(grant["key"])
        info = f"svc-wrap-v1:{of.chain_id}:{of.store}:{of.high}:{of.low}:{of.client}:{node}"
        envelope += reader + unhex(grant["signature"]) + wrap(secret, reader, pair, info.encode())
    listed = hashlib.sha256(b"".join(map(unhex, of.members))).hexdigest()
    label = f"svc-prompt-v2:{of.client}:{of.high}:{of.low}:0x{listed}"
    envelope += seal(text.encode(), prompt_key(secret), label, iv)
    return seal(envelope, key, f"svc-envelope-v1:{of.client}", iv)


def open_output(blob: bytes, key: bytes, secret: bytes, job_id: str, fence: int) -> str:
    """Opens both seals of the answer that the assignment `fence` delivered. Raises SvcError `blob-unreadable`."""
    inner = unseal(blob, key, f"svc-sealed-output-v2:{job_id}")
    return text_of(unseal(inner, output_key(secret, job_id, fence), f"svc-output-v2:{job_id}:{fence}"))


def find_unsigned(chain_id: int, members: Sequence[str], grants: Sequence[dict[str, Any]]) -> Optional[str]:
    """Returns the first member that has not signed its reading key for this chain."""
    for node, grant in zip(members, grants, strict=True):
        if not verify_reading(node, grant["key"], chain_id, grant["signature"]):
            return node
    return None
