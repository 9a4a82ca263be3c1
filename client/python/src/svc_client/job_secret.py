"""The second secret of a job, which neither coprocessor, chain nor ICL sees, and the keys that are derived from it."""

import hashlib

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .encoding import unhex
from .keccak import keccak256, word
from .signatures import typed_digest
from .wallet import Wallet

_purpose = "Opens your prompts and answers at this service. Sign it only for a program that may read all of them."
_form = "ClientSecret(string purpose,string iclOrigin)"


def _derived(secret: bytes, salt: bytes, info: str) -> bytes:
    return HKDF(SHA256(), 32, salt=salt, info=info.encode()).derive(secret)


def client_secret(wallet: Wallet, icl_origin: str, chain_id: int) -> bytes:
    """Returns the secret of all jobs of a wallet at an ICL. With the grants on chain it opens each of them."""
    message = keccak256(_purpose.encode()), keccak256(icl_origin.encode())
    signature = wallet.sign_digest(typed_digest("svc-client-secret", chain_id, _form, *message))
    # v is left out, since wallets spell it differently.
    return _derived(signature[:64], b"", "svc-client-secret-v1")


def job_secret(of_client: bytes, high: int, low: int) -> bytes:
    """Returns the secret of the job whose prompt key has these handles."""
    return _derived(of_client, word(high) + word(low), "svc-job-secret-v1")


def secret_check(secret: bytes) -> bytes:
    """Shows a node that it has unwrapped the right secret."""
    return hashlib.sha256(b"svc-secret-v1" + secret).digest()


def ephemeral_seed(secret: bytes) -> bytes:
    """Returns the seed of the key pair that the secret is wrapped with."""
    return _derived(secret, b"", "svc-ephemeral-v1")


def prompt_key(secret: bytes) -> bytes:
    """Returns the key of the prompt's inner seal."""
    return _derived(secret, b"", "svc-prompt-v2")


def output_key(secret: bytes, job_id: str, fence: int) -> bytes:
    """Returns the key of the inner seal of the output that an assignment delivers."""
    return _derived(secret, unhex(job_id) + fence.to_bytes(8, "big"), "svc-output-v2")


def evidence_key(secret: bytes, job_id: str) -> bytes:
    """Returns the key of the job's evidence. It opens nothing: it shows that a text is the one of a receipt."""
    return _derived(secret, unhex(job_id), "svc-evidence-v2")
