"""A wallet that signs requests (RFC 9421, ERC-8128). Its key stays in this process."""

import base64
import hashlib
import secrets
import time
import urllib.parse
from typing import Optional

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .encoding import to_base64url, unhex
from .errors import SvcError
from .keccak import keccak256
from .signatures import group_order, half_order, recover_address

_life_s = 60


class Wallet:
    """The wallet of a private key: 64 hex digits, with or without `0x`. Raises SvcError `usage` for anything else."""

    def __init__(self, private_key: str):
        try:
            raw = unhex(private_key.removeprefix("\ufeff").strip())
            # A key that was cut off would be another wallet's, and easy to guess.
            if len(raw) != 32:
                raise ValueError
            self._key = ec.derive_private_key(int.from_bytes(raw, "big"), ec.SECP256K1())
        except ValueError:
            # The cause is left out, because it could show the key.
            raise SvcError("usage", "The wallet's key is no key of secp256k1", "Give 32 bytes in hex.") from None
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.address = "0x" + keccak256(point[1:])[12:].hex()

    def sign_digest(self, digest: bytes) -> bytes:
        """Signs a digest: r, the lower s, and v as 27 or 28."""
        how = ec.ECDSA(Prehashed(SHA256()), deterministic_signing=True)
        r, s = decode_dss_signature(self._key.sign(digest, how))
        raw = r.to_bytes(32, "big") + min(s, group_order - s).to_bytes(32, "big")
        return next(made for made in (raw + b"\x1b", raw + b"\x1c") if recover_address(digest, made) == self.address)

    def sign_request(
        self, chain_id: int, method: str, url: str, body: Optional[bytes] = None, at: int = 0, nonce: bytes = b""
    ) -> dict[str, str]:
        """Returns the headers that sign a request. `at` and `nonce` are for tests."""
        parts, headers = urllib.parse.urlsplit(url), {}
        covered = {"@authority": parts.netloc, "@method": method, "@path": parts.path}
        if parts.query:
            covered["@query"] = "?" + parts.query
        if body is not None:
            headers["content-digest"] = f"sha-256={_bytes_item(hashlib.sha256(body).digest())}"
            covered["content-digest"] = headers["content-digest"]
        created, names = at or int(time.time()), " ".join(f'"{name}"' for name in covered)
        params = f'({names});created={created};expires={created + _life_s}'
        params += f';nonce="{to_base64url(nonce or secrets.token_bytes(16))}"'
        params += f';keyid="erc8128:{chain_id}:{self.address}"'
        base = "".join(f'"{name}": {value}\n' for name, value in covered.items())
        message = (base + f'"@signature-params": {params}').encode()
        digest = keccak256(b"\x19Ethereum Signed Message:\n" + str(len(message)).encode() + message)
        signature = _bytes_item(self.sign_digest(digest))
        return {**headers, "signature-input": f"eth={params}", "signature": f"eth={signature}"}


def _bytes_item(data: bytes) -> str:
    return f":{base64.b64encode(data).decode()}:"
