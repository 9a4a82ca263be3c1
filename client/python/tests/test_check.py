"""Tests which receipts the client refuses after its job, with ICLs and chain RPCs that lie."""

import unittest
from unittest.mock import patch

from svc_client import rpc
from svc_client.ask import _Job, _Service
from svc_client.errors import SvcError
from svc_client.receipt import receipt_hash

from .told_chain import ToldChain, access_granted, output_stored, stake
from .vectors import changed, read

_contract = "0x" + "11" * 20
_stranger = 0x5712A9


class Check(unittest.TestCase):
    def setUp(self):
        named = {one["name"]: one["receipt"] for one in read("receipts-valid")["receipts"]}
        self.receipt = named["dissent, and a second batch"]
        self.chain = ToldChain(self, self.receipt)
        chosen = self.receipt["list"]
        named = {"list": chosen["members"], "coordinator": chosen["activator"]}
        listed = {**named, "terms": chosen["terms"], "block": chosen["block"]}
        self.job = _Job(self.receipt["jobId"], "token", listed, chosen["until"], 0b111, self.chain.time)
        output = self.receipt["delivery"]["body"]["output_cid"]
        self.view = {"receipt_hash": receipt_hash(self.receipt), "output_cid": output}
        self.service = _Service.__new__(_Service)
        self.service.rpc = rpc.Rpc(self.chain.url, 31_337)
        self.service.results = self.service.store = self.service.nodes = _contract

    def check(self):
        with patch.object(rpc, "_looks", 2):
            self.service.check(self.receipt, self.job, self.view)

    def refuse(self, code, why):
        with self.assertRaisesRegex(SvcError, why) as refused:
            self.check()
        self.assertEqual(refused.exception.code, code)

    def test_the_receipt_of_the_own_job_is_taken(self):
        self.check()
        # The client let a node read the prompt that then had no seat.
        self.chain.views["listOf(uint256,uint256)"][1] |= 1 << 8
        self.job = self.job._replace(granted=1 << 8)
        self.check()

    def test_a_receipt_with_other_terms_of_the_job_is_refused(self):
        lies = [
            ("/max_output_tokens", 1, "another length of answer"),
            ("/list/terms/min_matches", 2, "other terms"),
            ("/list/block/number", "8", "another block"),
            ("/list/members", self.receipt["list"]["members"][::-1], "another list of nodes"),
            ("/list/activator", _contract, "another activator"),
            ("/list/until", 1, "another end"),
        ]
        honest = self.receipt
        for path, value, why in lies:
            self.receipt = changed(honest, [[path, value]])
            self.refuse("receipt-invalid", why)

    def test_a_receipt_that_is_not_the_one_of_the_view_is_refused(self):
        honest = self.view
        for changes, why in (({"receipt_hash": "0x" + "00" * 32}, "its hash"), ({"output_cid": None}, "another output")):
            self.view = {**honest, **changes}
            self.refuse("receipt-invalid", why)

    def test_a_receipt_that_settled_at_another_time_is_refused(self):
        settled_at = self.chain.time
        for since, now in ((settled_at + 600, settled_at - 600), (settled_at - 900, settled_at + 900)):
            self.job, self.chain.time = self.job._replace(since=since), now
            self.check()
        for since, now in ((settled_at + 601, settled_at + 900), (settled_at, settled_at - 601)):
            self.job, self.chain.time = self.job._replace(since=since), now
            self.refuse("receipt-invalid", "settled at another time")

    def test_a_node_that_joined_later_without_a_stake_is_refused(self):
        joined = self.receipt["answers"][4]["body"]["address"]
        honest = self.chain.views["nodeOf(address)"]
        for at, value in ((1, stake - 1), (4, 0)):
            without = [value if place == at else word for place, word in enumerate(honest)]
            self.chain.views["nodeOf(address)"] = lambda data: without if data[12:].hex() == joined[2:] else honest
            self.refuse("signer-unstaked", joined)

    def test_other_readers_of_the_prompt_are_named(self):
        for position, name in ((7, self.receipt["list"]["members"][7]), (200, "a node at 200")):
            self.chain.views["listOf(uint256,uint256)"][1] = self.chain.used | 1 << position
            self.refuse("reader-unknown", f"The prompt is open to {name}")

    def test_other_readers_of_the_answer_are_named(self):
        (data, topics), *_ = self.chain.events[access_granted]
        self.chain.events[access_granted].append((data, [topics[0], _stranger, 0]))
        self.refuse("reader-unknown", f"The answer is open to 0x{_stranger:040x}")

    def test_an_output_key_of_another_node_or_prompt_is_refused(self):
        honest = dict(self.chain.events)
        [([seat, mask], [high, prompt, job])] = honest[output_stored]
        granted = [([data[0] + 1], topics) for data, topics in honest[access_granted]]
        lies = [
            {output_stored: [([seat + 1, mask], [high, prompt, job])]},
            {output_stored: [([1 << 255, mask], [high, prompt, job])]},
            {output_stored: [([seat, mask], [high, prompt + 1, job])]},
            {output_stored: []},
            {access_granted: granted},
            {access_granted: []},
        ]
        for lie in lies:
            self.chain.events = {**honest, **lie}
            self.refuse("receipt-differs", "no such output key")

    def test_an_output_key_that_the_chain_rpc_does_not_have_yet_is_waited_for(self):
        honest, self.chain.events[output_stored] = self.chain.events[output_stored], []
        with patch.object(rpc.time, "sleep", lambda _: self.chain.events.update({output_stored: honest})):
            self.check()


if __name__ == "__main__":
    unittest.main()
