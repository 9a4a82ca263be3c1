"""Tests which lists the client accepts, and where it refuses to ask."""

import unittest
from types import SimpleNamespace
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from svc_client import ask as asking
from svc_client.ask import _Job, _Key, _Service, ask
from svc_client.encoding import canonical_json, to_base64url
from svc_client.errors import SvcError
from svc_client.wallet import Wallet

from .server import serve
from .vectors import read


class Ask(unittest.TestCase):
    def setUp(self):
        self.vector, self.asked, self.is_active, self.chain_id = read("lists")["draws"][0], [], 1, 31_337
        self.job_seconds = 600
        self.passed, self.members, self.signer = [], self.vector["list"], Ed25519PrivateKey.generate()
        self.terms, self.room = {}, 1_000
        self.published = to_base64url(self.signer.public_key().public_bytes_raw())
        self.url = serve(self, self.get, self.post)
        block = {"number": "7", "hash": self.vector["blockHash"]}
        self.key = _Key(int(self.vector["kpHighHandle"]), int(self.vector["kpLowHandle"]), block)

    def get(self, path, token):
        self.asked.append(path)
        contracts = {name: self.vector["store"] for name in ("node_registry", "prompt_key_store", "result_registry")}
        limits, own = {"job_seconds": self.job_seconds}, {"public_url": "https://icl.test", "contracts": contracts}
        if path.startswith("/v1/inference/quorum-preview"):
            return {"pool_cid": self.vector["terms"]["pool_cid"], "prompt_room_bytes": self.room}
        found = {
            "/v1/network": {"chain_id": self.chain_id, "limits": limits, **own},
            "/.well-known/jwks.json": {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": self.published}]},
        }
        return found.get(path) or self.vector["pool"][path.removeprefix("/ipfs/")].encode()

    def post(self, path, body):
        self.asked.append(body.get("method", path))
        if path == "/v1/inference/list":
            return self.signed(body["terms"])
        return {"result": {"eth_chainId": "0x7a69", "eth_call": f"0x{self.is_active:064x}"}[body["method"]]}

    def signed(self, terms):
        handles = {name: self.vector[name] for name in ("kpHighHandle", "kpLowHandle")}
        about = {"client": self.vector["client"], "terms": {**terms, **self.terms}, "block": self.key.block, **handles}
        drawn = {"list": self.members, "passed": self.passed, "coordinator": self.vector["store"], "at": 1_800_000_000}
        body = {"statement": "svc-list-v2", **about, **drawn}
        key = to_base64url(self.signer.public_key().public_bytes_raw())
        return {"body": body, "key": key, "signature": to_base64url(self.signer.sign(canonical_json(body)))}

    def draw(self):
        wallet = SimpleNamespace(address=self.vector["client"], sign_request=lambda *_: {})
        return _Service(self.url, self.url, wallet).draw(self.vector["terms"], self.key)[1]

    def test_the_list_of_pool_and_chain_is_taken(self):
        self.passed = [{"position": 1, "reason": "busy", "at": 1_800_000_000}]
        self.assertEqual(self.draw(), [0, 2, 3])

    def test_other_lists_are_refused(self):
        def changed(**changes):
            self.setUp()
            for name, value in changes.items():
                setattr(self, name, value)
            with self.assertRaises(SvcError) as refused, patch.object(asking.time, "sleep"):
                self.draw()
            self.assertEqual(refused.exception.code, "list-untrusted", changes)

        silent = [{"position": at, "reason": "no-heartbeat", "at": 1_800_000_000} for at in range(5)]
        changed(members=self.members[::-1])
        changed(passed=silent)
        changed(is_active=0)
        changed(terms={"min_matches": 2})
        changed(published=self.signed({})["key"])

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
        receipt = {"delivery": {"body": {"address": "0x1"}}, "answers": [answer]}
        parts = {
            "follow": lambda *_: {"status": "accepted"},
            "seal": lambda *_: b"",
            "evidence_key": lambda *_: b"",
            "exact_evidence": lambda *_: "agreed",
            "prompt_purpose": lambda *_: "",
        }
        with (
            patch.multiple(asking, **parts),
            patch.object(asking, "fetch_receipt", side_effect=[away, receipt]),
            patch.object(asking, "fetch_output", side_effect=[away, "yes"]),
            patch.object(asking, "_Service") as service,
            patch.object(asking.time, "sleep"),
        ):
            made, job = service.return_value, _Job("0x2", "token", {}, 0, 0, 0)
            made.terms.return_value, made.draw.return_value, made.submit.return_value = {}, ({}, []), job
            made.check.side_effect = [away, None]
            wallet = Wallet("0x" + "11" * 32)
            self.assertEqual(ask(self.url, self.url, wallet, "openai:test", "Who?").text, "yes")
            made.check.assert_called_with(receipt, job, {"status": "accepted"})

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
        for self.job_seconds in ("600", 600.5, -1, 3_601):
            with self.assertRaises(SvcError) as refused:
                self.draw()
            self.assertEqual(refused.exception.code, "answer-wrong")

    def test_a_network_of_another_form_is_refused(self):
        for chain_id, store in (("31337", self.vector["store"]), (31_337.0, self.vector["store"]), (31_337, "0x12")):
            self.chain_id, self.vector["store"] = chain_id, store
            with self.assertRaises(SvcError) as refused:
                self.draw()
            self.assertEqual(refused.exception.code, "answer-wrong")

    def test_elsewhere_the_gateway_is_named_and_nothing_is_sent(self):
        self.chain_id = 1
        for chain_id, text in ((1, "Who?"), (31_337, "Who? " * 2_000)):
            self.chain_id = chain_id
            with self.assertRaises(SvcError) as refused:
                ask(self.url, self.url, Wallet("0x" + "11" * 32), "openai:test", text)
            self.assertEqual(refused.exception.code, "needs-gateway")
            self.assertIn("gateway", refused.exception.hint)
        self.assertEqual(set(self.asked), {"/v1/network", "eth_chainId"})

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
