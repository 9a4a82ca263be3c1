"""Asks a question on the local chain: seals it, stores its key, checks the list, submits, follows, checks the answer.

Only the local chain's coprocessor takes what Python encrypts. That chain protects nothing: it sends transactions for
any account, and the client takes the contracts that the ICL names.
"""

import json
import secrets
import time
import urllib.parse
from typing import Any, Callable, NamedTuple, TypeVar

from . import chain, schema
from .comparators import evidence_key, exact_evidence
from .coprocessor import encrypt, refuse_unless_local
from .encoding import canonical_json, cid_of, hash_of, to_base64url, unhex
from .errors import SvcError, check, checker
from .jobs import fetch_output, fetch_receipt, follow, outlast, published_keys
from .keccak import abi_encode, keccak256, word
from .lists import candidates_of, draw_list, first_positions, job_id_of, list_seed, read_pool
from .receipt import Receipt, receipt_hash
from .rpc import Rpc, get_json, look_for, request, wrong_answer
from .sealing import prompt_purpose, seal, split_key
from .signatures import verify_signature
from .wallet import Wallet

_agreement = {"comparator": "exact", "rule": "three", "quorum": 3, "max_answers": 7, "min_matches": 1}
_list = {"min_tier": 0, "list_length": 9}
_most_bytes, _output_tokens = 8_192, 1_024
_most_passed, _grace_s, _wait_s = 4, 600, 15
# At the next attempt the ICL's chain RPC has the block that this one has.
_looks, _leaving_s = 4, 5
_encrypted = "(uint256,uint8,uint8,bytes)"

_trust = checker("list-untrusted", "The list is not used", "Ask again, or use another ICL.")

T = TypeVar("T")


class Answer(NamedTuple):
    text: str
    receipt: Receipt


def ask(
    icl: str,
    rpc_url: str,
    wallet: Wallet,
    model_id: str,
    text: str,
    on_view: Callable[[dict[str, Any]], None] = lambda view: None,
) -> Answer:
    """Returns the checked answer that three nodes agree on by `exact`. Raises SvcErrors, elsewhere `needs-gateway`."""
    if not text.strip():
        raise SvcError("prompt-empty", "The prompt is empty", "Write what to ask.")
    service = _Service(icl.rstrip("/"), rpc_url, wallet)
    prompt = canonical_json({"messages": [{"content": text, "role": "user"}], "version": 1}).decode()
    if len(prompt.encode()) > _most_bytes:
        raise SvcError(
            "needs-gateway",
            f"The prompt is longer than the {_most_bytes} bytes that every model takes",
            "Run the gateway (`svc gateway`): it finds nodes that take more.",
        )
    key = secrets.token_bytes(32)
    blob = seal(prompt, key, prompt_purpose(wallet.address))
    terms = service.terms(model_id, len(blob))
    of_key = service.store_key(key, hash_of(terms))
    signed, seats = service.draw(terms, of_key)
    job = service.submit(blob, of_key, signed, seats)
    view = follow(service.icl, job.job_id, job.token, on_view)
    if view["status"] != "accepted":
        why = f"The job ended as {view['status']} ({view.get('reason')})"
        raise SvcError("job-not-accepted", why, "Ask again, or a model whose answers vary less.")
    receipt = outlast(lambda: fetch_receipt(service.icl, job.job_id, job.token))
    outlast(lambda: service.check(receipt, job, view))
    answer = outlast(lambda: fetch_output(service.icl, receipt, service.rpc))
    deliverer = receipt["delivery"]["body"]["address"]
    agreed = next(one["body"]["evidence"] for one in receipt["answers"] if one["body"]["address"] == deliverer)
    check(exact_evidence(answer, evidence_key(key, job.job_id)) == agreed, "the text is not what the nodes agreed on")
    return Answer(answer, receipt)


class _Key(NamedTuple):
    high: int
    low: int
    block: dict[str, str]

    def handles(self) -> dict[str, str]:
        return {"kpHighHandle": str(self.high), "kpLowHandle": str(self.low)}

    def query(self) -> dict[str, str]:
        return {**self.handles(), "block_number": self.block["number"]}


class _Job(NamedTuple):
    """A submitted job: what its receipt has to say."""

    job_id: str
    token: str
    listed: dict[str, Any]
    until: int
    granted: int
    """The members that may read the prompt from the beginning, as bits by position."""
    since: int
    """The chain's time before the submission."""


class _Service:
    """An ICL and its chain, as used by a wallet."""

    def __init__(self, icl: str, rpc_url: str, wallet: Wallet):
        self.icl, self.wallet = icl, wallet
        network = get_json(f"{icl}/v1/network")
        try:
            self.chain_id, self.origin = network["chain_id"], network["public_url"]
            self.job_s = network["limits"]["job_seconds"]
            if type(self.job_s) is not int or not 0 <= self.job_s <= 3_600:
                raise ValueError("job_seconds of at most an hour")
            names = ("result_registry", "prompt_key_store", "node_registry")
            self.results, self.store, self.nodes = (network["contracts"][name].lower() for name in names)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise wrong_answer("the ICL", f"no {error}") from error
        for contract in (self.results, self.store, self.nodes):
            _formed(schema.address, contract)
        _formed(schema.integer(1, 2**53 - 1), self.chain_id)
        refuse_unless_local(self.chain_id)
        self.rpc = Rpc(rpc_url, self.chain_id)

    def terms(self, model_id: str, sealed_bytes: int) -> dict[str, Any]:
        query = urllib.parse.urlencode({"model_id": model_id, "comparator": _agreement["comparator"]})
        preview = get_json(f"{self.icl}/v1/inference/quorum-preview?{query}")
        preview = preview if isinstance(preview, dict) else {}
        pool_cid, room = preview.get("pool_cid"), preview.get("prompt_room_bytes")
        if type(room) is not int:
            raise wrong_answer("the ICL", "a preview without its room for prompts")
        if room < sealed_bytes:
            why = f"The ICL has room for an encrypted prompt of {room} bytes, and this one has {sealed_bytes}"
            raise SvcError("no-room", f"{why}. Nothing was paid", "Try again in a few minutes.", retryable=True)
        own = {"icl_origin": self.origin, "model_id": model_id, "salt": to_base64url(secrets.token_bytes(32))}
        return _formed(schema.terms, {**_agreement, **_list, **own, "pool_cid": pool_cid})

    def store_key(self, key: bytes, terms_hash: str) -> _Key:
        """Stores the key; returns its handles and the block that seeds the list."""
        one, other = (encrypt(self.rpc, self.chain_id, half, self.wallet.address) for half in split_key(key))
        inputs = word(96) + word(96 + len(one)) + unhex(terms_hash) + one + other
        receipt = self._send(f"storeKey({_encrypted},{_encrypted},bytes32)", inputs)
        event = "0x" + keccak256(b"KeyStored(address,uint256,uint256,bytes32)").hex()
        try:
            topics = next(log["topics"] for log in receipt["logs"] if log["topics"][0] == event)
            block = {"number": str(int(receipt["blockNumber"], 16)), "hash": receipt["blockHash"]}
            return _Key(int(topics[2], 16), int(topics[3], 16), block)
        except (StopIteration, KeyError, IndexError, TypeError, ValueError) as error:
            raise wrong_answer("the chain RPC", "a transaction that stored no key") from error

    def draw(self, terms: dict[str, Any], key: _Key) -> tuple[dict[str, Any], list[int]]:
        """Returns the list that the ICL signed, drawn again here, and its first seats.

        Asks again while the list seats a node that has just left. An ICL that keeps seating it is not believed.
        """
        for _ in range(_looks - 1):
            signed, seats, is_active = self._drawn(terms, key)
            if is_active:
                return signed, seats
            time.sleep(_leaving_s)
        signed, seats, is_active = self._drawn(terms, key)
        _trust(is_active, "a node that it seats has no stake")
        return signed, seats

    def _drawn(self, terms: dict[str, Any], key: _Key) -> tuple[dict[str, Any], list[int], bool]:
        """Returns the list, its first seats, and whether all of these are active on chain."""
        answer = self._post("/v1/inference/list", {**key.query(), "terms": terms, "wait": _wait_s})
        signed = _formed(schema.signed_list, answer)
        body = signed["body"]
        is_signed = verify_signature(signed["key"], signed["signature"], canonical_json(body))
        _trust(is_signed and signed["key"] in published_keys(self.icl), "no key of the ICL signed it")
        _trust(body["terms"] == terms and body["block"] == key.block, "it is of another key")
        names = self.wallet.address, key.high, key.low, hash_of(terms), key.block["hash"]
        pool = read_pool(terms["pool_cid"], lambda cid: chain.load_blob(self.icl, cid))
        candidates = candidates_of(pool, terms, self.wallet.address)
        own = draw_list(list_seed(self.chain_id, self.store, *names), candidates, terms["list_length"])
        _trust(body["list"] == own, "pool and chain give another")
        seats = first_positions(len(own), body["passed"], terms["quorum"])
        _trust(len(seats) == terms["quorum"], "too few of its nodes can take the job")
        left_out = [one for one in body["passed"] if one["position"] < seats[-1] and one["reason"] != "busy"]
        _trust(len(left_out) <= _most_passed, "it passes over too many nodes")
        is_active = [self.rpc.read(self.nodes, "isActive(address)", own[seat])[0] for seat in seats]
        return signed, seats, all(is_active)

    def submit(self, sealed: bytes, key: _Key, signed: dict[str, Any], seats: list[int]) -> _Job:
        body, nonce, prompt_cid = signed["body"], secrets.randbits(256), cid_of(sealed)
        self._post(f"/v1/blobs?{urllib.parse.urlencode(key.query())}", sealed)
        job_id = job_id_of(self.chain_id, self.wallet.address, prompt_cid, key.high, key.low, nonce)
        latest = self.rpc.time()
        until = max(min(int(time.time()), body["at"]), latest) + self.job_s + _grace_s
        mask = sum(1 << seat for seat in seats)
        committed = abi_encode([key.high, key.low, job_id, body["list"], mask, body["coordinator"], until])
        self._send("commitList(uint256,uint256,bytes32,address[],uint16,address,uint64)", committed)
        job = {"model_id": body["terms"]["model_id"], "prompt_cid": prompt_cid, **key.handles(), "list": signed}
        more = {"until": until, "client_nonce": str(nonce), "parameters": {"max_output_tokens": _output_tokens}}
        submitted = self._post("/v1/inference", {**job, **more})
        token = _formed(schema.text("[!-~]{1,1024}"), submitted.get("read_token") if isinstance(submitted, dict) else None)
        return _Job(job_id, token, body, until, mask, latest)

    def check(self, receipt: Receipt, job: _Job, view: dict[str, Any]) -> None:
        """Checks that a receipt that holds is that of the job and of the ICL's view, and that the chain bears it out."""
        chosen, listed = receipt["list"], job.listed
        check(receipt["max_output_tokens"] == _output_tokens, "its nodes were told another length of answer")
        check(chosen["terms"] == listed["terms"], "it has other terms")
        check(chosen["block"] == listed["block"], "its list is of another block")
        check(chosen["members"] == listed["list"], "it has another list of nodes")
        ends = chosen["activator"], chosen["until"]
        check(ends == (listed["coordinator"], job.until), "its list has another activator, or another end")
        check(view.get("receipt_hash") == receipt_hash(receipt), "its hash is not the one that the ICL named")
        check(view.get("output_cid") == receipt["delivery"]["body"]["output_cid"], "it is about another output")
        place = chain.Place(self.rpc, self.results, self.store)
        chain.check_list(receipt, place)
        chain.check_signers(receipt, self.nodes, self.rpc)
        chain.check_readers(receipt, job.granted, place)
        _awaited(lambda: self.rpc.read(self.results, "resultOf(bytes32)", receipt["jobId"])[0], "its result")
        chain.check_result(receipt, place)
        chain.check_time(receipt, job.since, self.rpc)

    def _post(self, path: str, body: Any) -> Any:
        answer = request(self.icl + path, body, sign=lambda *asked: self.wallet.sign_request(self.chain_id, *asked))
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise wrong_answer("the ICL", str(error)) from error

    def _send(self, function: str, arguments: bytes) -> dict[str, Any]:
        self.rpc.call("anvil_impersonateAccount", self.wallet.address)
        name = self._sent("0x" + (keccak256(function.encode())[:4] + arguments).hex())
        receipt = _awaited(lambda: self.rpc.call("eth_getTransactionReceipt", name), f"the transaction {name}")
        if not isinstance(receipt, dict) or receipt.get("status") != "0x1":
            raise SvcError("transaction-reverted", f"The transaction {name} reverted", "Ask again.")
        return receipt

    def _sent(self, data: str) -> str:
        """Sends a transaction and returns its hash. The chain takes one of its repeats, which have the same nonce."""
        sender = self.wallet.address
        for _ in range(_looks):
            nonce = self.rpc.call("eth_getTransactionCount", sender, "pending")
            try:
                call = {"from": sender, "to": self.store, "data": data, "nonce": nonce}
                return self.rpc.call("eth_sendTransaction", call)
            except SvcError:
                found = self.rpc.call("eth_getTransactionBySenderAndNonce", sender, nonce)
                if not isinstance(found, dict):
                    raise
                if found.get("input") == data:
                    return found.get("hash")
            # Another process of this wallet has taken the nonce.
        raise SvcError("nonce-taken", "Other processes of this wallet took each nonce", "Ask again.", retryable=True)


def _awaited(find: Callable[[], T], what: str) -> T:
    found = look_for(find)
    if not found:
        raise wrong_answer("the chain RPC", f"{what} is not there yet")
    return found


def _formed(form: schema.Form, value: Any) -> Any:
    try:
        form(value, "")
        return value
    except SvcError as error:
        raise wrong_answer("the ICL", "a part of it has not its form") from error
