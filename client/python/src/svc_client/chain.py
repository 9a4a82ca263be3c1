"""Checks a receipt against the chain: its hash, its list and how that was drawn, its signers, time and readers."""

from argparse import Namespace
from typing import Any, NamedTuple

from . import schema
from .encoding import hash_of
from .errors import SvcError, check, checker
from .lists import drawn_list, list_commitment, read_pool
from .receipt import Receipt, receipt_hash
from .rpc import Rpc, get_json, look_for, request, wrong_answer

_most_blob_bytes = 1_048_576
# A session key lasts until a time, so a receipt may not choose its own. Clocks differ a little.
_tolerance_s = 600
_check = checker(
    "receipt-differs",
    "The receipt does not fit the chain",
    "Do not rely on this answer: the ICL committed to one receipt and showed another.",
)
_again = "Do not rely on this answer. Run the job again or use another ICL."


class Place(NamedTuple):
    rpc: Rpc
    result_registry: str
    prompt_key_store: str


def contracts_of(receipt: Receipt, options: Namespace) -> dict[str, str]:
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
    return contracts


def check_result(receipt: Receipt, place: Place) -> None:
    """Checks that ResultRegistry holds this very receipt. Raises SvcError `not-committed` or `receipt-differs`."""
    held = place.rpc.read(place.result_registry, "resultOf(bytes32)", receipt["jobId"])[0]
    if held == 0:
        raise SvcError(
            "not-committed",
            f"ResultRegistry {place.result_registry} holds no result of this job",
            "It is committed soon after the job was accepted. If it does not appear, ask the ICL's operator.",
            retryable=True,
        )
    _check(held == int(receipt_hash(receipt), 16), "the chain holds another receipt hash for this job")


def check_list(receipt: Receipt, place: Place) -> None:
    """Checks that PromptKeyStore holds the key: its terms, block, job and list. Raises `receipt-differs`."""
    chosen, number = receipt["list"], int(receipt["list"]["block"]["number"])
    owner, high, low = int(receipt["client"], 16), int(receipt["kpHighHandle"]), int(receipt["kpLowHandle"])
    block = place.rpc.call("eth_getBlockByNumber", hex(number), False) if number < 2**64 else None
    missing = f"block {number} of the chain stored no such key of {receipt['client']}"
    _check(isinstance(block, dict), missing)
    event = "KeyStored(address,uint256,uint256,bytes32)"
    stored = place.rpc.events(place.prompt_key_store, event, [owner, high, low], number, number)
    try:
        log = next((log for log in stored if log["blockHash"] == block["hash"]), None)
        _check(log is not None, missing)
        has_terms = log["data"].lower() == hash_of(chosen["terms"])
        is_block = block["hash"].lower() == chosen["block"]["hash"]
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise wrong_answer("the chain RPC", f"an event or block without {error}") from error
    _check(is_block, f"block {number} of the chain has another hash")
    _check(has_terms, "the key was stored under other terms")
    commitment = place.rpc.read(place.prompt_key_store, "listOf(uint256,uint256)", high, low)[0]
    _check(commitment != 0, "the client has committed to no list")
    own = list_commitment(receipt["jobId"], chosen["activator"], chosen["until"], chosen["members"])
    _check(commitment == int(own, 16), "the client has committed to another list, job, activator or end")


def check_signers(receipt: Receipt, node_registry: str, rpc: Rpc) -> None:
    """Checks that each node that answered has the least stake. A leaving node has it until it withdraws it.

    Checks no tier, because `ask` asks for the lowest.
    """
    least = rpc.read(node_registry, "minStake()")[0]
    for answer in receipt["answers"]:
        address = answer["body"]["address"]
        # After the offset: stake, tiers, last heartbeat, time of registration.
        node = rpc.read(node_registry, "nodeOf(address)", address)
        if len(node) < 5:
            raise wrong_answer("the chain RPC", "its node is cut off")
        if node[4] == 0 or node[1] < least:
            raise SvcError("signer-unstaked", f"{address} signed the receipt without a stake", _again)


def check_time(receipt: Receipt, since: int, rpc: Rpc) -> None:
    """Checks that the job settled after a time of the chain, and before now."""
    settled_at = receipt["tally"]["body"]["settled_at"]
    is_own = since - _tolerance_s <= settled_at <= rpc.time() + _tolerance_s
    check(is_own, "it claims to have settled at another time")


def check_readers(receipt: Receipt, granted: int, place: Place) -> None:
    """Checks that only the client and nodes that the receipt names can read prompt and output.

    `granted` has the members that the client itself let read the prompt, as bits by position.
    """
    members, high, low = receipt["list"]["members"], int(receipt["kpHighHandle"]), int(receipt["kpLowHandle"])
    seats = {seat["position"] for seat in [answer["body"] for answer in receipt["answers"]] + receipt["over"]}
    state = place.rpc.read(place.prompt_key_store, "listOf(uint256,uint256)", high, low)
    if len(state) < 2:
        raise wrong_answer("the chain RPC", "its list is cut off")
    unknown = [at for at in range(256) if (state[1] & ~granted) >> at & 1 and at not in seats]
    for at in unknown:
        raise _reader_unknown("prompt", members[at] if at < len(members) else f"a node at {at}")
    deliverer = receipt["delivery"]["body"]["address"]
    prompt, position, readers = _output_key(receipt, place)
    is_own = prompt == high and members[position : position + 1] == [deliverer]
    _check(is_own, "the chain holds no such output key of the node that delivered")
    known = {receipt["client"], *(answer["body"]["address"] for answer in receipt["answers"])}
    for reader in readers:
        if reader not in known:
            raise _reader_unknown("answer", reader)


def _output_key(receipt: Receipt, place: Place) -> tuple[int, int, list[str]]:
    """Returns the prompt's high handle of the delivered output key, the position that stored it, and its readers."""
    body, first = receipt["delivery"]["body"], int(receipt["list"]["block"]["number"])

    def events(event: str) -> list[dict[str, Any]]:
        return place.rpc.events(place.prompt_key_store, event, [int(body["outHighHandle"])], first)

    stored = look_for(lambda: events("OutputKeyStored(uint256,uint256,bytes32,uint8,uint16)"))
    granted = events("AccessGranted(uint256,uint256,address,address)")
    try:
        has_key = any(int(log["data"], 16) == int(body["outLowHandle"]) for log in granted)
        _check(bool(stored) and has_key, "the chain holds no such output key of the node that delivered")
        readers = [f"0x{int(log['topics'][2], 16):040x}" for log in granted]
        return int(stored[0]["topics"][2], 16), int(stored[0]["data"][:66], 16), readers
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise wrong_answer("the chain RPC", f"an event without {error}") from error


def _reader_unknown(what: str, reader: str) -> SvcError:
    return SvcError(
        "reader-unknown",
        f"The {what} is open to {reader}, which the receipt does not name as a node of the job",
        "Take it as read by that account. Run the next job at another ICL.",
    )


def check_draw(receipt: Receipt, place: Place, gateway: str) -> None:
    """Checks that the pool from the gateway and the block, which `check_list` has checked, give this list."""
    root = receipt["list"]["terms"]["pool_cid"]
    base = gateway.rstrip("/")
    pool = read_pool(root, lambda cid: load_blob(base, cid))
    is_drawn = drawn_list(receipt, place.prompt_key_store, pool) == receipt["list"]["members"]
    _check(is_drawn, "its pool and block give another list")


def load_blob(base: str, cid: str) -> bytes:
    return request(f"{base}/ipfs/{cid}", most_bytes=_most_blob_bytes)
