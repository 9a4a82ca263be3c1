"""Asks a question on the local chain: stores a key, checks the list, seals, submits, follows, checks the answer.

Only the local chain's coprocessor takes what Python encrypts. That chain protects nothing: it sends transactions for
any account, and the client takes the contracts that the ICL names.
"""

import json
import secrets
import time
import urllib.parse
from statistics import median_low
from typing import Any, Callable, NamedTuple, Optional, TypeVar

from . import chain, schema
from .comparators import exact_evidence
from .coprocessor import encrypt, refuse_unless_local
from .encoding import canonical_json, cid_of, from_base64url, hash_of, to_base64url, unhex
from .envelope import EnvelopeOf, find_unsigned, most_envelope_bytes, seal_prompt
from .errors import SvcError, check
from .hpke import is_usable
from .job_secret import client_secret, evidence_key, job_secret
from .jobs import cancel, fetch_output, fetch_receipt, follow, outlast, published_keys
from .keccak import abi_encode, keccak256, word
from .lists import candidates_of, draw_list, first_positions, job_id_of, list_seed, read_pool
from .receipt import Receipt, receipt_hash
from .rpc import Rpc, get_json, look_for, request, wrong_answer
from .sealing import split_key
from .signatures import verify_signature
from .wallet import Wallet

_agreement = {"comparator": "exact", "rule": "three", "quorum": 3, "max_answers": 7, "min_matches": 1}
_list = {"min_tier": 0, "list_length": 9}
_base_bytes, _output_tokens = 8_192, 1_024
_most_passed, _grace_s, _wait_s = 4, 600, 15
# At the next attempt the ICL's chain RPC has the block that this one has.
_looks, _leaving_s = 4, 5
_encrypted = "(uint256,uint8,uint8,bytes)"

T = TypeVar("T")


class Answer(NamedTuple):
    text: str
    receipt: Receipt
    usage: Optional[dict[str, int]]
    """The tokens as providers counted them, by the word of the nodes that agree."""


def ask(
    icl: str,
    rpc_url: str,
    wallet: Wallet,
    model_id: str,
    text: str,
    on_view: Callable[[dict[str, Any]], None] = lambda view: None,
) -> Answer:
    """Returns the checked answer that three nodes agree on by `exact`. Raises SvcErrors, elsewhere `needs-gateway`.

    Interrupted, it cancels the job if no node has committed, and its KeyboardInterrupt says what became of it.
    """
    if not text.strip():
        raise SvcError("prompt-empty", "The prompt is empty", "Write what to ask.")
    service = _Service(icl.rstrip("/"), rpc_url, wallet)
    prompt = canonical_json({"messages": [{"content": text, "role": "user"}], "version": 1}).decode()
    length = len(prompt.encode())
    if length > service.most_bytes:
        raise SvcError(
            "prompt-too-long",
            f"The prompt has {length} bytes as it is sealed, and at most {service.most_bytes} fit",
            f"Shorten it by {length - service.most_bytes} bytes or more.",
        )
    key, own = secrets.token_bytes(32), client_secret(wallet, service.origin, service.chain_id)
    terms = service.terms(model_id, length)
    of_key = service.store_key(key, hash_of(terms))
    drawn = service.draw(terms, of_key)
    secret = job_secret(own, of_key.high, of_key.low)
    job = service.submit(service.seal(prompt, key, secret, of_key, drawn), of_key, drawn)
    try:
        view = follow(service.icl, job.job_id, job.token, on_view)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(cancel(service.icl, job.job_id, job.token)) from stop
    if view["status"] != "accepted":
        why = f"The job ended as {view['status']} ({view.get('reason')})"
        hint = "Ask again, or a model whose answers vary less."
        raise SvcError("job-not-accepted", why, hint, retry_after=_shortest_wait(view))
    receipt = outlast(lambda: fetch_receipt(service.icl, job.job_id, job.token))
    outlast(lambda: service.check(receipt, job, view))
    answer = outlast(lambda: fetch_output(service.icl, receipt, service.rpc, secret))
    deliverer = receipt["delivery"]["body"]["address"]
    agreed = next(one["body"]["evidence"] for one in receipt["answers"] if one["body"]["address"] == deliverer)
    check(exact_evidence(answer, evidence_key(secret, job.job_id)) == agreed, "the text is not what the nodes agreed on")
    return Answer(answer, receipt, stated_usage(receipt))


def stated_usage(receipt: Receipt) -> Optional[dict[str, int]]:
    """Returns the lower median of each count that the nodes of the agreement stated, None unless most did, and two at least."""
    group = receipt["tally"]["body"]["group"]
    bodies = [one["body"] for place, one in enumerate(receipt["answers"]) if group >> place & 1]
    stated = [body["usage"] for body in bodies if "usage" in body]
    if len(stated) < 2 or len(stated) * 2 <= len(bodies):
        return None
    return {name: median_low(usage[name] for usage in stated) for name in ("input_tokens", "output_tokens")}


def _shortest_wait(view: dict[str, Any]) -> Optional[int]:
    """The seconds until the provider of a node answers again, if the providers of its nodes limit them."""
    waits = [one.get("retry_after") for one in view["quorum"] if one.get("reason") == "provider-rate-limited"]
    return min((wait for wait in waits if isinstance(wait, int)), default=None)


class _Key(NamedTuple):
    high: int
    low: int
    block: dict[str, str]

    def handles(self) -> dict[str, str]:
        return {"kpHighHandle": str(self.high), "kpLowHandle": str(self.low)}

    def query(self) -> dict[str, str]:
        return {**self.handles(), "block_number": self.block["number"]}


class _Drawn(NamedTuple):
    """A list that the ICL signed, drawn again here."""

    signed: dict[str, Any]
    grants: list[dict[str, Any]]
    """Each member's reading key, which its wallet signed."""
    seats: list[int]
    """The positions that are seated first."""


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
            self.job_s, self.most_bytes = (network["limits"][name] for name in ("job_seconds", "prompt_bytes"))
            names = ("result_registry", "prompt_key_store", "node_registry")
            self.results, self.store, self.nodes = (network["contracts"][name].lower() for name in names)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise wrong_answer("the ICL", f"no {error}") from error
        for contract in (self.results, self.store, self.nodes):
            _formed(schema.address, contract)
        _formed(schema.icl_origin, self.origin)
        _formed(schema.integer(1, 2**53 - 1), self.chain_id)
        _formed(schema.integer(0, 3_600), self.job_s)
        _formed(schema.integer(0, 1_048_576), self.most_bytes)
        refuse_unless_local(self.chain_id)
        self.rpc = Rpc(rpc_url, self.chain_id)

    def terms(self, model_id: str, length: int) -> dict[str, Any]:
        """Returns the terms of a prompt of so many bytes. Nodes learn a long one's length as the next power of two."""
        query = urllib.parse.urlencode({"model_id": model_id, "comparator": _agreement["comparator"]})
        preview = get_json(f"{self.icl}/v1/inference/quorum-preview?{query}")
        preview = preview if isinstance(preview, dict) else {}
        pool_cid, room = preview.get("pool_cid"), preview.get("prompt_room_bytes")
        if type(room) is not int:
            raise wrong_answer("the ICL", "a preview without its room for prompts")
        sealed = length + most_envelope_bytes
        if room < sealed:
            why = f"The ICL has room for an encrypted prompt of {room} bytes, and this one may have {sealed}"
            raise SvcError("no-room", f"{why}. Nothing was paid", "Try again in a few minutes.", retryable=True)
        own = {"icl_origin": self.origin, "model_id": model_id, "salt": to_base64url(secrets.token_bytes(32))}
        needs = {"needs": {"prompt_bytes": 1 << (length - 1).bit_length()}} if length > _base_bytes else {}
        return _formed(schema.terms, {**_agreement, **_list, **own, **needs, "pool_cid": pool_cid})

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

    def draw(self, terms: dict[str, Any], key: _Key) -> _Drawn:
        """Returns the list that the ICL signed, drawn again here.

        Asks again while the list seats a node that has just left. An ICL that keeps seating it is not believed.
        """
        for _ in range(_looks - 1):
            drawn, leaving = self._drawn(terms, key)
            if leaving is None:
                return drawn
            time.sleep(_leaving_s)
        drawn, leaving = self._drawn(terms, key)
        _trust(leaving is None, f"{leaving}, which is not active on chain for that tier")
        return drawn

    def _drawn(self, terms: dict[str, Any], key: _Key) -> tuple[_Drawn, Optional[str]]:
        """Returns the list, and a node that is seated first but is not active on chain."""
        answer = self._post("/v1/inference/list", {**key.query(), "terms": terms, "wait": _wait_s})
        signed = dict(_formed(schema.drawn_list, answer))
        body, grants = signed["body"], signed.pop("reading")
        is_signed = verify_signature(signed["key"], signed["signature"], canonical_json(body))
        is_known = signed["key"] in published_keys(self.icl)
        _trust(is_signed and is_known, "a list that none of its published keys has signed")
        if body["block"] != key.block:
            told = "The ICL and the chain RPC disagree about the block of the key"
            raise SvcError("block-differs", told, "Try again, or use another chain RPC.", retryable=True)
        asked = {"client": self.wallet.address, "terms": terms, **key.handles()}
        is_own = all(body[name] == value for name, value in asked.items())
        _trust(is_own, "a list for another key, client or other terms")
        names = self.wallet.address, key.high, key.low, hash_of(terms), key.block["hash"]
        pool = read_pool(terms["pool_cid"], lambda cid: chain.load_blob(self.icl, cid))
        candidates = candidates_of(pool, terms, self.wallet.address)
        own = draw_list(list_seed(self.chain_id, self.store, *names), candidates, terms["list_length"])
        _trust(body["list"] == own, "another list than chain and pool give")
        self._check_readers(own, grants)
        seats, quorum = first_positions(len(own), body["passed"], terms["quorum"]), terms["quorum"]
        if len(seats) < quorum:
            told = f"Not enough nodes: {len(seats)} of the list can work now, and the job needs {quorum}"
            raise SvcError("not-enough-nodes", told, "Ask again when more nodes are active.", retryable=True)
        reasons = [one["reason"] for one in body["passed"] if one["position"] < seats[-1] and one["reason"] != "busy"]
        told = f"it passes over {len(reasons)} nodes ({', '.join(dict.fromkeys(reasons))})"
        _trust(len(reasons) <= _most_passed, f"too few of the list: {told}")
        seated = [own[seat] for seat in seats]
        leaving = next((node for node in seated if not self.rpc.read(self.nodes, "isActive(address)", node)[0]), None)
        return _Drawn(signed, grants, seats), leaving

    def _check_readers(self, members: list[str], grants: list[dict[str, Any]]) -> None:
        """An ICL could put its own reading key in, or leave one out. A node could sign one of small order."""
        _trust(len(grants) == len(members), "a list without a reading key for each node")
        unsigned = find_unsigned(self.chain_id, members, grants)
        _trust(unsigned is None, f"a list with a reading key that {unsigned} has not signed")
        are_usable = all(is_usable(from_base64url(grant["key"])) for grant in grants)
        _trust(are_usable, "a list with a reading key that cannot be used")

    def seal(self, prompt: str, key: bytes, secret: bytes, stored: _Key, drawn: _Drawn) -> bytes:
        names = self.chain_id, self.store, self.wallet.address, stored.high, stored.low
        return seal_prompt(prompt, key, secret, EnvelopeOf(*names, drawn.signed["body"]["list"]), drawn.grants)

    def submit(self, sealed: bytes, key: _Key, drawn: _Drawn) -> _Job:
        body, nonce, prompt_cid = drawn.signed["body"], secrets.randbits(256), cid_of(sealed)
        self._post(f"/v1/blobs?{urllib.parse.urlencode(key.query())}", sealed)
        job_id = job_id_of(self.chain_id, self.wallet.address, prompt_cid, key.high, key.low, nonce)
        latest = self.rpc.time()
        until = max(min(int(time.time()), body["at"]), latest) + self.job_s + _grace_s
        mask = sum(1 << seat for seat in drawn.seats)
        committed = abi_encode([key.high, key.low, job_id, body["list"], mask, body["coordinator"], until])
        self._send("commitList(uint256,uint256,bytes32,address[],uint16,address,uint64)", committed)
        job = {"model_id": body["terms"]["model_id"], "prompt_cid": prompt_cid, **key.handles(), "list": drawn.signed}
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


def _trust(holds: bool, what: str) -> None:
    if not holds:
        hint = "Do not use this ICL: it may hand the prompt to whom it likes."
        raise SvcError("quorum-untrusted", f"The ICL chose {what}", hint)


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
