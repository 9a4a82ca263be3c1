"""The coprocessor of the local chain, a mock that keeps plaintexts in a contract's storage.

Any other needs the SDK's proofs and permits, which Python does not have. Use the gateway for those.
"""

import secrets

from .errors import SvcError
from .keccak import abi_encode, keccak256, word
from .rpc import Rpc, wrong_answer
from .wallet import Wallet

_local_chain_id = 31_337
_task_manager = "0xea30c4b8b44078bbf8a6ef5b9f1ec1626c7848d9"
# `@cofhe/sdk` publishes this key as MOCKS_ZK_VERIFIER_SIGNER_PRIVATE_KEY. Only local chains accept its signatures.
_verifier = Wallet("0x6c8d7f768a6bb4aafe85e8a2f5a9680355239c7e14646ed62b044e39de154512")
_known = 1 << 255
_security_zone, _uint128 = 0, 6


def refuse_unless_local(chain_id: int) -> None:
    """Raises SvcError `needs-gateway` for any other chain."""
    if chain_id != _local_chain_id:
        raise SvcError(
            "needs-gateway",
            f"Keys of chain {chain_id} are encrypted and opened by the coprocessor's SDK, which Python does not have",
            "Run the gateway (`svc gateway`) and send the prompt to it: it seals, follows and opens.",
        )


def encrypt(rpc: Rpc, chain_id: int, half: int, sender: str, handle: int = 0) -> bytes:
    """Encrypts a key half as ABI-encoded input, for transactions of `sender` alone. `handle` is for tests."""
    refuse_unless_local(chain_id)
    handle = handle or secrets.randbits(256)
    rpc.call("anvil_setStorageAt", _task_manager, _slot(handle), f"0x{half | _known:064x}")
    packed = word(handle) + bytes([_uint128, _security_zone]) + word(sender)[12:] + word(chain_id)
    return abi_encode([handle, _security_zone, _uint128, _verifier.sign_digest(keccak256(packed))])


def decrypt(rpc: Rpc, chain_id: int, handle: int) -> int:
    """Returns the key half of a stored handle. Raises SvcErrors."""
    refuse_unless_local(chain_id)
    found = rpc.call("eth_getStorageAt", _task_manager, _slot(handle), "latest")
    try:
        value = int(found, 16)
    except (TypeError, ValueError) as error:
        raise wrong_answer("the chain RPC", str(error)) from error
    if not value & _known or (value ^ _known) >= 1 << 128:
        raise SvcError("output-key-invalid", "The chain holds no key half under this handle", "Run the job again.")
    return value ^ _known


def _slot(handle: int) -> str:
    return "0x" + keccak256(abi_encode([b"svc.local.plaintext", handle & ~0xFFFF])).hex()
