"""Tests which lists the client accepts, and where it refuses to ask."""

import unittest
from functools import lru_cache
from types import SimpleNamespace
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from svc_client import ask as asking
from svc_client.ask import _Job, _Key, _Service, ask
from svc_client.encoding import canonical_json, cid_of, hash_of, to_base64url
from svc_client.errors import SvcError
from svc_client.hpke import derive_key_pair
from svc_client.lists import candidates_of, draw_list, list_seed, read_pool
from svc_client.signatures import reading_digest
from svc_client.wallet import Wallet

from .server import serve
from .vectors import read

nodes = {wallet.address: wallet for wallet in (Wallet(f"{byte:02x}" * 32) for byte in range(1, 11))}


@lru_cache(maxsize=None)
def grant(node, key=None, chain_id=31_337):
    """A reading key that a node's wallet signed: its own if none is given."""
    key = key or to_base64url(derive_key_pair(node.encode()).public_key().public_bytes_raw())
    signature = nodes[node].sign_digest(reading_digest(node, key, chain_id))
    return {"key": key, "signature": "0x" + signature.hex()}


def drawn(vector):
    """The vector with a pool and a list of nodes whose wallets are known."""
    page = "\n".join(["svc-pool-page-v3", *(f"{node} 0 openai:test similar/2" for node in sorted(nodes))])
    weights = ",".join("100" for _ in nodes)
    top = f"svc-pool-v3\n{cid_of(page.encode())} {weights}"
    blobs = {cid_of(blob.encode()): blob for blob in (page, top)}
    root = cid_of(top.encode())
    terms, pool = {**vector["terms"], "pool_cid": root}, read_pool(root, lambda cid: blobs[cid].encode())
    names = vector["client"], int(vector["kpHighHandle"]), int(vector["kpLowHandle"])
    seed = list_seed(vector["chainId"], vector["store"], *names, hash_of(terms), vector["blockHash"])
    members = draw_list(seed, candidates_of(pool, terms, vector["client"]), terms["list_length"])
    return {**vector, "terms": terms, "pool": blobs, "list": members}


class Usage(unittest.TestCase):
    def test_one_node_does_not_choose_the_tokens(self):
        def stated(group, *counts):
            usages = [{"usage": {"input_tokens": 37, "output_tokens": count}} if count else {} for count in counts]
            answers = [{"body": body} for body in usages]
            usage = asking.stated_usage({"tally": {"body": {"group": group}}, "answers": answers})
            return usage and usage["output_tokens"]

        self.assertEqual([stated(7, 8, 80, 8), stated(3, 80, 8), stated(6, 1, 8, 9), stated(7, 0, 0, 8)], [8, 8, 8, None])


class Ask(unittest.TestCase):
    def setUp(self):
        self.vector, self.asked, self.is_active, self.chain_id = drawn(read("lists")["draws"][0]), [], 1, 31_337
        self.origin, self.limits = "https://icl.test", {"job_seconds": 600, "prompt_bytes": 9_000}
        self.passed, self.members, self.signer = [], self.vector["list"], Ed25519PrivateKey.generate()
        self.terms, self.room = {}, 100_000
        self.body, self.grants = {}, [grant(node) for node in self.members]
        self.published = to_base64url(self.signer.public_key().public_bytes_raw())
        self.url = serve(self, self.get, self.post)
        block = {"number": "7", "hash": self.vector["blockHash"]}
        self.key = _Key(int(self.vector["kpHighHandle"]), int(self.vector["kpLowHandle"]), block)

    def get(self, path, token):
        self.asked.append(path)
        contracts = {name: self.vector["store"] for name in ("node_registry", "prompt_key_store", "result_registry")}
        own = {"public_url": self.origin, "contracts": contracts}
        preview = {"pool_cid": self.vector["terms"]["pool_cid"], "prompt_room_bytes": self.room}
        found = {
            "/v1/network": {"chain_id": self.chain_id, "limits": self.limits, **own},
            "/v1/inference/quorum-preview": preview,
            "/.well-known/jwks.json": {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": self.published}]},
        }
        return found.get(path.partition("?")[0]) or self.vector["pool"][path.removeprefix("/ipfs/")].encode()

    def post(self, path, body):
        self.asked.append(body.get("method", path))
        if path == "/v1/inference/list":
            return {**self.signed(body["terms"]), "reading": self.grants}
        return {"result": {"eth_chainId": "0x7a69", "eth_call": f"0x{self.is_active:064x}"}[body["method"]]}

    def signed(self, terms):
        handles = {name: self.vector[name] for name in ("kpHighHandle", "kpLowHandle")}
        about = {"client": self.vector["client"], "terms": terms, "block": self.key.block, **handles}
        drawn = {"list": self.members, "passed": self.passed, "coordinator": self.vector["store"], "at": 1_800_000_000}
        body = {"statement": "svc-list-v2", **about, **drawn, **self.body}
        key = to_base64url(self.signer.public_key().public_bytes_raw())
        return {"body": body, "key": key, "signature": to_base64url(self.signer.sign(canonical_json(body)))}

    def draw(self):
        wallet = SimpleNamespace(address=self.vector["client"], sign_request=lambda *_: {})
        return _Service(self.url, self.url, wallet).draw(self.vector["terms"], self.key).seats

    def test_the_list_of_pool_and_chain_is_taken(self):
        self.passed = [{"position": 1, "reason": "busy", "at": 1_800_000_000}]
        self.assertEqual(self.draw(), [0, 2, 3])

    def refused(self, **changes):
        """Draws a list that is changed, and returns the error."""
        self.setUp()
        for name, value in changes.items():
            setattr(self, name, value)
        with self.assertRaises(SvcError) as refused, patch.object(asking.time, "sleep"):
            self.draw()
        return refused.exception

    def assert_untrusted(self, what, **changes):
        error = self.refused(**changes)
        self.assertEqual((error.code, str(error)), ("quorum-untrusted", f"The ICL chose {what}"), changes)

    def test_other_lists_are_refused(self):
        silent = [{"position": at, "reason": "no-heartbeat", "at": 1_800_000_000} for at in range(9)]
        other = "a list for another key, client or other terms"
        first = self.members[0]
        self.assert_untrusted("another list than chain and pool give", members=self.members[::-1])
        self.assert_untrusted("too few of the list: it passes over 5 nodes (no-heartbeat)", passed=silent[:5])
        self.assert_untrusted(f"{first}, which is not active on chain for that tier", is_active=0)
        for body in ({"terms": {**self.vector["terms"], "min_matches": 2}}, {"kpLowHandle": "1"}, {"client": first}):
            self.assert_untrusted(other, body=body)
        self.assert_untrusted("a list that none of its published keys has signed", published="A" * 43)
        block = {"block": {**self.key.block, "hash": "0x" + "11" * 32}}
        for code, changes in (("not-enough-nodes", {"passed": silent[:7]}), ("block-differs", {"body": block})):
            error = self.refused(**changes)
            self.assertEqual((error.code, error.retryable), (code, True))

    def test_each_member_needs_a_usable_reading_key_that_its_wallet_signed_for_the_chain(self):
        one, two, *rest = self.grants
        node, other = self.members[0], self.members[1]
        unsigned = "a list with a reading key that {} has not signed"
        missing = "a list without a reading key for each node"
        self.assert_untrusted(unsigned.format(node), grants=[two, one, *rest])
        self.assert_untrusted(unsigned.format(node), grants=[grant(node, chain_id=1), two, *rest])
        self.assert_untrusted(unsigned.format(other), grants=[one, {**two, "key": one["key"]}, *rest])
        self.assert_untrusted(missing, grants=[one, two, *rest[1:]])
        self.assert_untrusted(missing, grants=[])
        for number in (0, 1, 2**255 - 20):
            weak = grant(node, to_base64url(number.to_bytes(32, "little")))
            self.assert_untrusted("a list with a reading key that cannot be used", grants=[weak, two, *rest])
        again = to_base64url((2**255 + 9).to_bytes(32, "little"))
        self.assertEqual(self.refused(grants=[grant(node, again), two, *rest]).code, "answer-wrong")

    def test_a_list_goes_to_the_icl_as_it_signed_it(self):
        wallet, sent = SimpleNamespace(address=self.vector["client"], sign_request=lambda *_: {}), []
        service = _Service(self.url, self.url, wallet)
        own = service.draw(self.vector["terms"], self.key)
        with (
            patch.object(service, "_post", lambda path, body: sent.append(body) or {"read_token": "token"}),
            patch.object(service, "_send"),
            patch.object(service, "rpc", SimpleNamespace(time=lambda: 1)),
        ):
            service.submit(b"sealed", self.key, own)
        self.assertEqual((sent[0], set(sent[1]["list"])), (b"sealed", {"body", "key", "signature"}))

    def test_a_list_that_seats_a_node_which_just_left_is_asked_for_again(self):
        for looks in (1, 3):
            self.is_active, self.asked = 0, []

            def pause(seconds):
                self.assertEqual(seconds, 5)
                self.is_active = int(self.asked.count("/v1/inference/list") == looks)

            with patch.object(asking.time, "sleep", pause):
                self.assertEqual(self.draw(), [0, 1, 2])
            self.assertEqual(self.asked.count("/v1/inference/list"), looks + 1)

    def test_a_paid_answer_is_fetched_although_its_servers_are_away_at_first(self):
        away = SvcError("unreachable", "away", "", retryable=True)
        answer = {"body": {"address": "0x1", "evidence": "agreed"}}
        receipt = {"delivery": {"body": {"address": "0x1"}}, "answers": [answer], "tally": {"body": {"group": 1}}}
        parts = {
            "follow": lambda *_: {"status": "accepted"},
            **{name: lambda *_: b"" for name in ("client_secret", "job_secret", "evidence_key")},
            "exact_evidence": lambda *_: "agreed",
        }
        with (
            patch.multiple(asking, **parts),
            patch.object(asking, "fetch_receipt", side_effect=[away, receipt]),
            patch.object(asking, "fetch_output", side_effect=[away, "yes"]),
            patch.object(asking, "_Service") as service,
            patch.object(asking.time, "sleep"),
        ):
            made, job = service.return_value, _Job("0x2", "token", {}, 0, 0, 0)
            made.most_bytes, made.terms.return_value, made.submit.return_value = 9_000, {}, job
            made.check.side_effect = [away, None]
            wallet = Wallet("0x" + "11" * 32)
            self.assertEqual(ask(self.url, self.url, wallet, "openai:test", "Who?").text, "yes")
            made.check.assert_called_with(receipt, job, {"status": "accepted"})

    def test_a_job_that_providers_limited_says_when_to_ask_again(self):
        limited = [{"reason": "provider-rate-limited", **wait} for wait in ({"retry_after": 90}, {"retry_after": 40}, {})]
        view = {"status": "expired", "quorum": [*limited, {"reason": "node-busy", "retry_after": 5}]}
        with (
            patch.multiple(asking, follow=lambda *_: view, **{f"{name}_secret": lambda *_: b"" for name in ("client", "job")}),
            patch.object(asking, "_Service") as service,
        ):
            made = service.return_value
            made.most_bytes, made.terms.return_value = 9_000, {}
            with self.assertRaises(SvcError) as raised:
                ask(self.url, self.url, Wallet("0x" + "11" * 32), "openai:test", "Who?")
        self.assertEqual((raised.exception.code, raised.exception.retry_after), ("job-not-accepted", 40))

    def test_a_transaction_whose_nonce_another_process_took_is_sent_with_the_next(self):
        chain, service = {0: "other"}, _Service.__new__(_Service)
        service.wallet, service.store = Wallet("0x" + "11" * 32), self.vector["store"]

        def call(method, *params):
            if method == "eth_getTransactionCount":
                return counts.pop(0)
            if method == "eth_getTransactionBySenderAndNonce":
                return {"input": chain[params[1]], "hash": f"0x{params[1]}"} if params[1] in chain else None
            if params[0]["nonce"] in chain:
                raise SvcError("answer-wrong", "nonce too low", "")
            chain[params[0]["nonce"]] = params[0]["data"]
            return "0x1"

        service.rpc, counts = SimpleNamespace(call=call), [0, 1]
        self.assertEqual((service._sent("own"), chain), ("0x1", {0: "other", 1: "own"}))

    def test_a_prompt_that_the_icl_has_no_room_for_is_refused_before_a_key_is_stored(self):
        for self.room, code in ((50, "no-room"), (None, "answer-wrong")):
            self.asked = []
            with self.assertRaises(SvcError) as refused:
                ask(self.url, self.url, Wallet("0x" + "11" * 32), "openai:test", "Who?")
            self.assertEqual(refused.exception.code, code)
            self.assertNotIn("eth_sendTransaction", self.asked)

    def test_no_job_may_take_longer_than_an_hour(self):
        for self.limits["job_seconds"] in ("600", 600.5, -1, 3_601):
            with self.assertRaises(SvcError) as refused:
                self.draw()
            self.assertEqual(refused.exception.code, "answer-wrong")

    def test_a_network_of_another_form_is_refused(self):
        store = {"vector": {**self.vector, "store": "0x12"}}
        for change in ({"chain_id": "31337"}, {"chain_id": 31_337.0}, store, {"origin": 7}, {"origin": "é"}):
            self.assertEqual(self.refused(**change).code, "answer-wrong", change)

    def test_elsewhere_the_gateway_is_named_and_nothing_is_sent(self):
        self.chain_id = 1
        with self.assertRaises(SvcError) as refused:
            ask(self.url, self.url, Wallet("0x" + "11" * 32), "openai:test", "Who?")
        self.assertEqual(refused.exception.code, "needs-gateway")
        self.assertIn("gateway", refused.exception.hint)
        self.assertEqual(self.asked, ["/v1/network"])

    def test_a_prompt_may_be_as_long_as_the_icl_takes_it(self):
        with self.assertRaises(SvcError) as refused:
            ask(self.url, self.url, Wallet("0x" + "11" * 32), "openai:test", "a" * 9_000)
        self.assertEqual(refused.exception.code, "prompt-too-long")
        self.assertEqual(refused.exception.hint, "Shorten it by 55 bytes or more.")
        self.assertEqual(self.asked, ["/v1/network", "eth_chainId"])
        service = _Service(self.url, self.url, Wallet("0x" + "11" * 32))
        needs = [service.terms("openai:test", length).get("needs") for length in (8_192, 8_193, 16_384)]
        self.assertEqual(needs, [None, {"prompt_bytes": 16_384}, {"prompt_bytes": 16_384}])

    def test_a_key_that_is_cut_off_is_no_wallet(self):
        whole = "11" * 32
        for text in (f"0x{whole}\n", f"\ufeff0x{whole}\r\n"):
            self.assertEqual(Wallet(text).address, Wallet(whole).address)
        for key in ("", "0x", "0x12", f"0x{whole[1:]}", f"0x{whole[2:]}", f"{whole}11", "00" * 32, "key"):
            with self.assertRaises(SvcError) as refused:
                Wallet(key)
            self.assertEqual((refused.exception.code, "11" in str(refused.exception)), ("usage", False))

    def test_an_empty_prompt_is_not_paid_for(self):
        with self.assertRaises(SvcError) as refused:
            ask(self.url, self.url, Wallet("0x" + "11" * 32), "openai:test", " \n")
        self.assertEqual((refused.exception.code, self.asked), ("prompt-empty", []))
