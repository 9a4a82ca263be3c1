"""Checks a receipt against the chain: its hash, its list, and how the list was drawn."""

from argparse import Namespace
from typing import Any, NamedTuple

from . import schema
from .encoding import hash_of
from .errors import SvcError, checker
from .keccak import keccak256
from .lists import drawn_list, list_commitment, read_pool
from .receipt import Receipt, receipt_hash
from .rpc import Rpc, get_json, request, wrong_answer

_most_blob_bytes = 1_048_576
_check = checker(
    "receipt-differs",
    "The receipt does not fit the chain",
    "Do not rely on this answer: the ICL committed to one receipt and showed another.",
)


class Place(NamedTuple):
    rpc: Rpc
    result_registry: str
    prompt_key_store: str


def contracts_of(receipt: Receipt, options: Namespace) -> Place:
    """Returns the contracts of the options, else those that the receipt's ICL names."""
    named = {"result_registry": options.result_registry, "prompt_key_store": options.prompt_key_store}
    if None in named.values():
        network = get_json(f"{receipt['icl_origin']}/v1/network")
        try:
            told = {name: network["contracts"][name].lower() for name in named}
            chain_id = network["chain_id"]
        except (KeyError, TypeError, AttributeError) as error:
            raise wrong_answer("the ICL", f"no {error}") from error
        _check(chain_id == receipt["chain_id"], f"its ICL works on chain {chain_id}, the receipt is of another")
        named = {name: value or told[name] for name, value in named.items()}
    contracts = {name: value.lower() for name, value in named.items()}
    for name, value in contracts.items():
        schema.address(value, name)
    return Place(Rpc(options.rpc, receipt["chain_id"]), **contracts)


def check_result(receipt: Receipt, place: Place) -> None:
    """Checks that ResultRegistry holds this very receipt. Raises SvcError `not-committed` or `receipt-differs`."""
    words = place.rpc.read(place.result_registry, "resultOf(bytes32)", receipt["jobId"])
    committed_at = words[1] if len(words) > 1 else 0
    if committed_at == 0:
        raise SvcError(
            "not-committed",
            f"ResultRegistry {place.result_registry} holds no result of this job",
            "It is committed soon after the job was accepted. If it does not appear, ask the ICL's operator.",
            retryable=True,
        )
    body = receipt["tally"]["body"]
    members = [
        answer["body"]["address"] for at, answer in enumerate(receipt["answers"]) if body["group"] >> at & 1
    ]
    others = [member for member in members if member != body["deliverer"]]
    said = [one["body"]["verdict"] for one in receipt["verdicts"] if one["body"]["address"] in others]
    output = int.from_bytes(keccak256(receipt["delivery"]["body"]["output_cid"].encode()), "big")
    try:
        at = words[0] // 32
        result = words[at : at + 7]
        count_at = at + result[6] // 32
        verifiers = words[count_at + 1 : count_at + 1 + words[count_at]]
    except IndexError as error:
        raise wrong_answer("the chain RPC", "its result is cut off") from error
    _check(result[0] == int(receipt["jobId"], 16), "the chain gives another job")
    _check(result[2] == int(receipt_hash(receipt), 16), "the chain holds another receipt hash for this job")
    _check(result[1] == output, "the chain holds another output for this job")
    _check(result[3] == int(body["deliverer"], 16), "the chain holds another leader for this job")
    _check(verifiers == [int(other, 16) for other in others], "the chain holds other verifiers for this job")
    counts = [said.count("match"), said.count("no-match")]
    _check(result[4:6] == counts, "the chain holds other verdicts for this job")


def check_list(receipt: Receipt, place: Place) -> None:
    """Checks that PromptKeyStore holds the key: its terms, block, job and list. Raises `receipt-differs`."""
    chosen, number = receipt["list"], int(receipt["list"]["block"]["number"])
    high, low = int(receipt["kpHighHandle"]), int(receipt["kpLowHandle"])
    block = place.rpc.call("eth_getBlockByNumber", hex(number), False) if number < 2**64 else None
    missing = f"block {number} of the chain stored no such key"
    _check(isinstance(block, dict), missing)
    event = "KeyStored(address,uint256,uint256,bytes32)"
    stored = place.rpc.events(place.prompt_key_store, event, [None, high, low], number, number)
    try:
        log = next((log for log in stored if log["blockHash"] == block["hash"]), None)
        _check(log is not None, missing)
        is_owned = int(log["topics"][1], 16) == int(receipt["client"], 16)
        has_terms = log["data"].lower() == hash_of(chosen["terms"])
        is_block = block["hash"].lower() == chosen["block"]["hash"]
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise wrong_answer("the chain RPC", f"an event or block without {error}") from error
    _check(is_owned, "the key has another owner on chain")
    _check(is_block, f"block {number} of the chain has another hash")
    _check(has_terms, "the key was stored under other terms")
    commitment = place.rpc.read(place.prompt_key_store, "listOf(uint256,uint256)", high, low)[0]
    _check(commitment != 0, "the client has committed to no list")
    own = list_commitment(receipt["jobId"], chosen["activator"], chosen["until"], chosen["members"])
    _check(commitment == int(own, 16), "the client has committed to another list, job, activator or end")


def check_draw(receipt: Receipt, place: Place, gateway: str) -> None:
    """Checks that the pool from the gateway and the block, which `check_list` has checked, give this list."""
    root = receipt["list"]["terms"]["pool_cid"]
    base = gateway.rstrip("/")
    pool = read_pool(root, lambda cid: load_blob(base, cid))
    is_drawn = drawn_list(receipt, place.prompt_key_store, pool) == receipt["list"]["members"]
    _check(is_drawn, "its pool and block give another list")


def load_blob(base: str, cid: str) -> bytes:
    return request(f"{base}/ipfs/{cid}", most_bytes=_most_blob_bytes)
