"""Tests following and fetching, with a server that answers as an ICL and as a local chain do."""

import unittest
from unittest.mock import patch

from svc_client import jobs
from svc_client.encoding import cid_of
from svc_client.errors import SvcError
from svc_client.job_secret import output_key
from svc_client.jobs import cancel, fetch_output, fetch_receipt, follow
from svc_client.rpc import Rpc
from svc_client.sealing import join_key, seal

from .server import serve
from .vectors import read


class Jobs(unittest.TestCase):
    def setUp(self):
        self.vector = read("receipts-valid")["receipts"][0]
        self.receipt, self.tokens = self.vector["receipt"], set()
        self.job = f"/v1/inference/{self.receipt['jobId']}"
        views = iter(["open", "accepted"])
        keys = [{"kty": "OKP", "crv": "Ed25519", "x": key} for key in self.vector["iclKeys"]]
        self.answers = {
            self.job: lambda: {"status": next(views)},
            f"{self.job}/receipt": lambda: self.receipt,
            "/.well-known/jwks.json": lambda: {"keys": keys},
        }
        results = {"eth_chainId": "0x7a69", "eth_getStorageAt": f"0x{(1 << 255) + 7:064x}"}

        def get(path, token):
            self.tokens.add((path, token))
            return self.answers.get(path, lambda: None)()

        self.icl = serve(self, get, lambda _, asked: {"jsonrpc": "2.0", "id": 1, "result": results[asked["method"]]})

    def test_a_job_is_followed_to_its_end(self):
        seen = []
        view = follow(self.icl, self.receipt["jobId"], "token", lambda view: seen.append(view["status"]))
        self.assertEqual((view["status"], seen), ("accepted", ["open", "accepted"]))
        self.assertEqual(self.tokens, {(self.job, "Bearer token")})

    def test_an_outage_of_five_minutes_is_waited_for(self):
        away = SvcError("unreachable", "away", "", retryable=True)
        now, waits = [0.0], []

        def pause(seconds):
            waits.append(seconds)
            now[0] += seconds

        with patch.object(jobs.time, "sleep", pause), patch.object(jobs.time, "monotonic", lambda: now[0]):
            views = [away] * 9 + [{"status": "accepted"}]
            with patch.object(jobs, "get_json", side_effect=views):
                self.assertEqual(follow(self.icl, self.receipt["jobId"], "token")["status"], "accepted")
            self.assertEqual(waits, [0.5, 1, 2, 4, 8, 10, 10, 10, 10])
            began = now[0]
            with patch.object(jobs, "get_json", side_effect=away), self.assertRaises(SvcError):
                follow(self.icl, self.receipt["jobId"], "token")
            self.assertLess(290, now[0] - began)
            self.assertLess(now[0] - began, 320)
            refused = SvcError("http-refused", "no", "")
            with patch.object(jobs, "get_json", side_effect=[refused]), self.assertRaises(SvcError) as caught:
                follow(self.icl, self.receipt["jobId"], "token")
            self.assertIs(caught.exception, refused)

    def test_a_job_that_cannot_be_cancelled_any_more_goes_on_and_is_named(self):
        late = SvcError("http-refused", "too-late-to-cancel", "")
        for outcome, said in ((b"{}", "is cancelled"), (late, "`svc infer --open 0x12` opens")):
            with patch.object(jobs, "request", side_effect=[outcome]) as request:
                self.assertIn(said, cancel(self.icl, "0x12", "token"))
            request.assert_called_once_with(f"{self.icl}/v1/inference/0x12/cancel", b"", "token")

    def test_a_receipt_is_fetched_and_checked(self):
        self.assertEqual(fetch_receipt(self.icl, self.receipt["jobId"], "token"), self.receipt)
        self.assertNotIn(("/.well-known/jwks.json", "Bearer token"), self.tokens)
        self.answers["/.well-known/jwks.json"] = lambda: {"keys": []}
        with self.assertRaisesRegex(SvcError, "not one of the ICL"):
            fetch_receipt(self.icl, self.receipt["jobId"], "token")

    def test_an_output_of_the_local_chain_is_opened(self):
        job_id, body, secret = self.receipt["jobId"], self.receipt["delivery"]["body"], b"\x03" * 32
        inner = seal(b"yes", output_key(secret, job_id, body["fence"]), f"svc-output-v2:{job_id}:{body['fence']}")
        blob = seal(inner, join_key(7, 7), f"svc-sealed-output-v2:{job_id}")
        body["output_cid"] = cid_of(blob)
        self.answers[f"/ipfs/{cid_of(blob)}"] = lambda: blob
        rpc = Rpc(self.icl, 31_337)
        self.assertEqual(fetch_output(self.icl, self.receipt, rpc, secret), "yes")
        with self.assertRaisesRegex(SvcError, "does not open"):
            fetch_output(self.icl, self.receipt, rpc, bytes(32))
        self.answers[f"/ipfs/{cid_of(blob)}"] = lambda: blob + b"."
        with self.assertRaisesRegex(SvcError, "other content"):
            fetch_output(self.icl, self.receipt, rpc, secret)

    def test_elsewhere_the_gateway_is_named(self):
        with self.assertRaises(SvcError) as refused:
            fetch_output(self.icl, {**self.receipt, "chain_id": 1}, Rpc(self.icl, 31_337), bytes(32))
        self.assertEqual(refused.exception.code, "needs-gateway")
        self.assertIn("gateway", refused.exception.hint)
