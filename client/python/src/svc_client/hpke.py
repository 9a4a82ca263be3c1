"""HPKE in base mode (RFC 9180): DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM, for one message.

Usually the sender's key pair is random. Here it is derived from the secret that is encrypted, so that each reader can
make the ciphertexts of the other readers again.
"""

import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

_kem, _suite = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x02"
_version = b"HPKE-v1"


def _extract(suite: bytes, salt: bytes, label: bytes, key: bytes = b"") -> bytes:
    return hmac.digest(salt, _version + suite + label + key, "sha256")


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    labeled = length.to_bytes(2, "big") + _version + suite + label + info
    return HKDFExpand(SHA256(), length, labeled).derive(key)


def derive_key_pair(seed: bytes) -> X25519PrivateKey:
    secret = _extract(_kem, b"", b"dkp_prk", seed)
    return X25519PrivateKey.from_private_bytes(_expand(_kem, secret, b"sk", b"", 32))


def wrap(text: bytes, recipient: bytes, pair: X25519PrivateKey, info: bytes) -> bytes:
    """Encrypts to a public key: the same bytes for the same pair. Raises ValueError for a key of small order."""
    exchanged = pair.exchange(X25519PublicKey.from_public_bytes(recipient))
    both = pair.public_key().public_bytes_raw() + recipient
    shared = _expand(_kem, _extract(_kem, b"", b"eae_prk", exchanged), b"shared_secret", both, 32)
    context = b"\x00" + _extract(_suite, b"", b"psk_id_hash") + _extract(_suite, b"", b"info_hash", info)
    secret = _extract(_suite, shared, b"secret")
    nonce = _expand(_suite, secret, b"base_nonce", context, 12)
    return AESGCM(_expand(_suite, secret, b"key", context, 32)).encrypt(nonce, text, None)


def is_usable(recipient: bytes) -> bool:
    """False for a public key of small order, to which nothing can be encrypted."""
    try:
        wrap(b"", recipient, X25519PrivateKey.generate(), b"")
        return True
    except ValueError:
        return False
