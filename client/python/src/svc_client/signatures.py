"""Verifies signatures: canonical Ed25519 of session keys, and secp256k1 of wallets (EIP-712 grants)."""

from functools import lru_cache
from typing import Optional

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .encoding import from_base64url, unhex
from .keccak import keccak256, word

_ed_prime = 2**255 - 19
_ed_order = 2**252 + 27742317777372353535851937790883648493
_y_of_order_eight = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_weak = {0, 1, _ed_prime - 1, _y_of_order_eight, _ed_prime - _y_of_order_eight}


def is_strong_key(key: bytes) -> bool:
    """False for a key that is not 32 bytes, not in canonical encoding, or of small order."""
    y = int.from_bytes(key, "little") & (2**255 - 1)
    return len(key) == 32 and y < _ed_prime and y not in _weak


def verify_signature(key: str, signature: str, message: bytes) -> bool:
    """True if the session key (base64url) made the signature (base64url) over the message."""
    try:
        raw_key, raw = from_base64url(key), from_base64url(signature)
        y = int.from_bytes(raw[:32], "little") & (2**255 - 1)
        is_canonical = len(raw) == 64 and y < _ed_prime and int.from_bytes(raw[32:], "little") < _ed_order
        if not (is_canonical and is_strong_key(raw_key)):
            return False
        Ed25519PublicKey.from_public_bytes(raw_key).verify(raw, message)
        return True
    except (ValueError, InvalidSignature):
        return False


_p = 2**256 - 2**32 - 977
group_order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_g = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
half_order = group_order // 2

Point = Optional[tuple[int, int]]


def _add(a: Point, b: Point) -> Point:
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % _p == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, _p)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, _p)
    x = (slope * slope - a[0] - b[0]) % _p
    return x, (slope * (a[0] - x) - a[1]) % _p


def _times(point: Point, factor: int) -> Point:
    total: Point = None
    while factor:
        if factor & 1:
            total = _add(total, point)
        point, factor = _add(point, point), factor >> 1
    return total


def recover_address(digest: bytes, signature: bytes) -> Optional[str]:
    """Returns the address whose key made the signature (r, s, v as 27 or 28) of the digest; None if none did."""
    if len(signature) != 65 or signature[64] not in (27, 28):
        return None
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")
    if not (0 < r < group_order and 0 < s < group_order):
        return None
    square = (pow(r, 3, _p) + 7) % _p
    y = pow(square, (_p + 1) // 4, _p)
    if y * y % _p != square:
        return None
    if y & 1 != signature[64] - 27:
        y = _p - y
    inverse = pow(r, -1, group_order)
    key = _add(
        _times(_g, -int.from_bytes(digest, "big") * inverse % group_order), _times((r, y), s * inverse % group_order)
    )
    if key is None:
        return None
    return "0x" + keccak256(key[0].to_bytes(32, "big") + key[1].to_bytes(32, "big"))[12:].hex()


_domain_type = keccak256(b"EIP712Domain(string name,string version,uint256 chainId)")
_session = "Session(address address,bytes32 key,string iclOrigin,uint256 chainId,uint64 notAfter)"
_reading = "Reading(address node,bytes32 key,uint256 chainId)"


def typed_digest(domain: str, chain_id: int, form: str, *fields: bytes) -> bytes:
    """The digest of EIP-712 typed data that a wallet signs, in a domain of version `1`."""
    separator = keccak256(_domain_type + keccak256(domain.encode()) + keccak256(b"1") + word(chain_id))
    return keccak256(b"\x19\x01" + separator + keccak256(keccak256(form.encode()) + b"".join(fields)))


def session_digest(address: str, key: str, icl_origin: str, chain_id: int, not_after: int) -> bytes:
    """The digest that a wallet signs for its session key."""
    names = word(address), from_base64url(key), keccak256(icl_origin.encode())
    return typed_digest("svc-session", chain_id, _session, *names, word(chain_id), word(not_after))


@lru_cache(maxsize=1_024)
def verify_session(
    address: str, key: str, icl_origin: str, chain_id: int, not_after: int, signature: str
) -> bool:
    """True if the wallet granted the session key."""
    digest = session_digest(address, key, icl_origin, chain_id, not_after)
    return recover_address(digest, unhex(signature)) == address


def reading_digest(node: str, key: str, chain_id: int) -> bytes:
    """The digest that a node's wallet signs for its reading key."""
    return typed_digest("svc-reading", chain_id, _reading, word(node), from_base64url(key), word(chain_id))


@lru_cache(maxsize=1_024)
def verify_reading(node: str, key: str, chain_id: int, signature: str) -> bool:
    """True if the node's wallet signed the reading key for this chain."""
    return recover_address(reading_digest(node, key, chain_id), unhex(signature)) == node
