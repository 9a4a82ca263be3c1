"""Tests this package with the protocol's vectors."""

import json
import unittest
from types import SimpleNamespace

from svc_client import receipt_hash, record_hash, schema, verify_receipt
from svc_client.acks import check_ack
from svc_client.agreement import Quota, decide, deliverers, quota_of, settled
from svc_client.comparators import compare, exact_evidence, malformation
from svc_client.coprocessor import encrypt
from svc_client.encoding import canonical_json, from_base64url, hash_of, sha256_hex, to_base64url, unhex
from svc_client.envelope import EnvelopeOf, find_unsigned, open_output, seal_prompt
from svc_client.errors import SvcError
from svc_client.hpke import derive_key_pair, is_usable
from svc_client.job_secret import client_secret, evidence_key, job_secret, output_key
from svc_client.lists import (
    candidates_of,
    draw_list,
    first_positions,
    job_id_of,
    list_commitment,
    list_seed,
    read_pool,
)
from svc_client.sealing import join_key, seal, split_key, text_of, unseal
from svc_client.signatures import reading_digest, session_digest, verify_reading, verify_session, verify_signature
from svc_client.wallet import Wallet

from .vectors import changed, read


def handles(of):
    return int(of["kpHighHandle"]), int(of["kpLowHandle"])


def fits(form, value):
    try:
        form(value, "")
        return True
    except SvcError:
        return False


class Vectors(unittest.TestCase):
    def each(self, vectors, least=1):
        """Returns the vectors, and checks that there are enough: an empty file is no success."""
        self.assertGreaterEqual(len(vectors), least)
        return vectors

    def test_jobs(self):
        for job in self.each(read("lists")["jobs"]):
            made = job_id_of(
                job["chainId"], job["client"], job["promptCid"], *handles(job), int(job["clientNonce"])
            )
            self.assertEqual(made, job["jobId"])

    def test_draws(self):
        for draw in self.each(read("lists")["draws"]):
            terms, client = draw["terms"], draw["client"]
            schema.terms(terms, "")
            self.assertEqual(hash_of(terms), draw["termsHash"])
            pool = read_pool(terms["pool_cid"], lambda cid: draw["pool"][cid].encode())
            candidates = candidates_of(pool, terms, client)
            self.assertEqual(len(candidates), draw["candidates"])
            seed = list_seed(
                draw["chainId"], draw["store"], client, *handles(draw), draw["termsHash"], draw["blockHash"]
            )
            self.assertEqual("0x" + seed.hex(), draw["seed"])
            self.assertEqual(draw_list(seed, candidates, terms["list_length"]), draw["list"])

    def test_a_pool_with_a_changed_weight_is_refused(self):
        draw = read("lists")["draws"][0]
        with self.assertRaisesRegex(SvcError, "other content"):
            read_pool(draw["terms"]["pool_cid"], lambda cid: draw["pool"][cid].replace(",75,", ",76,").encode())

    def test_invalid_pools_are_refused(self):
        for one in self.each(read("lists")["invalidPools"]):
            with self.assertRaises(SvcError) as refused:
                read_pool(one["root"], lambda cid: one["pool"][cid].encode())
            self.assertEqual(refused.exception.code, "pool-snapshot-invalid")
            self.assertNotIn("other content", str(refused.exception))

    def test_first_seats(self):
        for seats in self.each(read("lists")["firstSeats"]):
            made = first_positions(seats["length"], seats["passed"], seats["quorum"])
            self.assertEqual(made, seats["positions"])

    def test_commitments_to_lists(self):
        for one in self.each(read("lists")["commitments"]):
            made = list_commitment(one["jobId"], one["activator"], one["until"], one["list"])
            self.assertEqual(made, one["commitment"])

    def test_orders_of_delivery(self):
        for one in self.each(read("lists")["deliverers"]):
            self.assertEqual([member["position"] for member in deliverers(one["group"])], one["order"])

    def test_quotas(self):
        for one in self.each(read("agreements")["quotas"], 50):
            wish = one["rule"], one["quorum"], one["listLength"], one.get("minMatches", 1)
            if "refused" in one:
                with self.assertRaises(SvcError):
                    quota_of(*wish)
            else:
                self.assertEqual(quota_of(*wish), Quota(one["quorum"], one["maxAnswers"], one["needed"]))

    def test_decisions(self):
        for one in self.each(read("agreements")["decisions"], 50):
            pairs = {frozenset(pair) for pair in one["matches"]}
            quota = Quota(one["quorum"], one["maxAnswers"], one["needed"])
            made = decide(
                range(one["answers"]), lambda a, b: frozenset((a, b)) in pairs, quota, one.get("left")
            )
            self.assertEqual(made, (one["outcome"], one.get("mask", 0), one.get("count", 0)))

    def test_deliveries(self):
        for one in self.each(read("agreements")["deliveries"]):
            self.assertEqual(settled(one["checks"], one["isTimeUp"]), one["outcome"])

    def test_evidence(self):
        for comparator in ("exact", "similar/2", "structured/1"):
            vectors = read(f"evidence-{comparator.split('/')[0]}")
            key = evidence_key(unhex(vectors["secret"]), vectors["jobId"])
            self.assertEqual(key, unhex(vectors["evidenceKey"]))
            known = {answer["name"]: answer["evidence"] for answer in vectors["answers"]}
            for a, b, outcome in self.each(vectors["pairs"], 60):
                self.assertEqual(compare(known[a], known[b], comparator), outcome)
                self.assertEqual(compare(known[b], known[a], comparator), outcome)
            for one in self.each(vectors["malformed"]):
                self.assertIsNotNone(malformation(one["evidence"], comparator))
                self.assertEqual(compare(one["evidence"], vectors["answers"][0]["evidence"], comparator), "no-match")

    def test_exact_evidence_is_made(self):
        vectors = read("evidence-exact")
        key = unhex(vectors["evidenceKey"])
        for answer in self.each(vectors["answers"]):
            text = "".join(map(chr, answer["utf16"])) if "utf16" in answer else answer["text"]
            self.assertEqual(exact_evidence(text, key), answer["evidence"])

    def test_statements(self):
        vectors = read("statements")
        for one in self.each(vectors["node"] + vectors["icl"]):
            text = one["text"].encode()
            self.assertEqual(canonical_json(json.loads(text)), text)
            self.assertTrue(verify_signature(one["key"], one["signature"], text))
            self.assertFalse(verify_signature(one["key"], one["signature"], text + b" "))
            if "hash" in one:
                self.assertEqual(sha256_hex(text), one["hash"])

    def test_commitments_to_answers(self):
        for one in self.each(read("statements")["commitments"]):
            opened = {name: value for name, value in one.items() if name != "commitment"}
            self.assertEqual(hash_of(opened), one["commitment"])

    def test_acknowledgements(self):
        vectors = read("statements")
        for one in self.each(vectors["acks"]):
            ack = {"body": json.loads(one["text"]), "key": one["key"], "signature": one["signature"]}
            if one["isKept"]:
                check_ack(vectors["receipt"], ack, [one["key"]])
            else:
                with self.assertRaisesRegex(SvcError, "the ICL acknowledged"):
                    check_ack(vectors["receipt"], ack, [one["key"]])

    def test_session_keys_and_signatures(self):
        vectors = read("statements")
        for one in self.each(vectors["weakKeys"]):
            self.assertFalse(verify_signature(one["key"], one["signature"], b"message 0"))
        for one in self.each(vectors["signatures"]):
            made = verify_signature(one["key"], one["signature"], one["message"].encode())
            self.assertEqual(made, one["holds"])

    def test_requests_of_wallets(self):
        vectors = read("requests")
        signer = vectors["signers"]["wallet"]
        wallet, nonce = Wallet(signer["privateKey"]), unhex(signer["nonce"])
        self.assertEqual(wallet.address, signer["address"])
        for one in self.each([one for one in vectors["requests"] if one["kind"] == "wallet"], 3):
            body = one["body"].encode() if "body" in one else None
            asked = signer["chainId"], one["method"], one["url"], body
            made = wallet.sign_request(*asked, at=vectors["created"], nonce=nonce)
            self.assertEqual(made, one["headers"])

    def test_grants(self):
        vectors = read("grants")
        for one in self.each(vectors["grants"]):
            of = [one["session"][name] for name in ("address", "key", "iclOrigin", "chainId", "notAfter")]
            self.assertEqual("0x" + session_digest(*of).hex(), one["digest"])
            self.assertEqual(verify_session(*of, one["signature"]), one["holds"])
        for one in self.each(vectors["spellings"]):
            self.assertEqual(fits(schema.wallet_signature, one["signature"]), one["isOne"])
        for one in self.each(vectors["keys"]):
            self.assertTrue(fits(schema.session_key, one["publicKey"]))

    def test_sealing(self):
        vectors = read("sealing")
        key = unhex(vectors["halves"]["key"])
        self.assertEqual(split_key(key), (int(vectors["halves"]["high"]), int(vectors["halves"]["low"])))
        self.assertEqual(join_key(*split_key(key)), key)
        for one in self.each(vectors["blobs"]):
            self.assertEqual(text_of(unseal(unhex(one["blob"]), key, one["label"])), one["text"])
            made = seal(one["text"].encode(), key, one["label"], unhex(one["iv"]))
            self.assertEqual(made, unhex(one["blob"]))
        for one in self.each(vectors["unreadable"]):
            with self.assertRaisesRegex(SvcError, "cannot be decrypted"):
                unseal(unhex(one["blob"]), key, one["label"])

    def test_secrets_of_a_client_and_a_job(self):
        vectors = read("envelopes")
        of, output = vectors["of"], vectors["output"]
        one, secret = vectors["client"], unhex(vectors["keys"]["secret"])
        made = client_secret(Wallet(one["privateKey"]), one["origin"], one["chainId"])
        self.assertEqual(made, unhex(one["secret"]))
        self.assertEqual(job_secret(made, int(of["highHandle"]), int(of["lowHandle"])), secret)
        self.assertEqual(evidence_key(secret, output["jobId"]), unhex(vectors["evidenceKey"]))
        self.assertEqual(output_key(secret, output["jobId"], output["fence"]), unhex(output["innerKey"]))

    def test_reading_keys(self):
        vectors = read("envelopes")
        for node in self.each(vectors["nodes"], 3):
            signed = node["address"], node["key"], 31_337
            digest = reading_digest(*signed)
            self.assertEqual("0x" + Wallet(node["privateKey"]).sign_digest(digest).hex(), node["signature"])
            self.assertTrue(verify_reading(*signed, node["signature"]))
            self.assertFalse(verify_reading(*signed[:2], 1, node["signature"]))
            self.assertTrue(is_usable(from_base64url(node["key"])))
            self.assertTrue(fits(schema.reading_grant, {name: node[name] for name in ("key", "signature")}))
        weak = vectors["weak"]
        self.assertTrue(fits(schema.reading_grant, weak))
        self.assertTrue(verify_reading(vectors["nodes"][2]["address"], weak["key"], 31_337, weak["signature"]))
        self.assertFalse(is_usable(from_base64url(weak["key"])))

    def test_a_reading_key_has_one_spelling(self):
        signature = read("envelopes")["weak"]["signature"]
        for number, is_one in ((2**255 - 20, True), (2**255 - 19, False), (2**255 - 1, False), (2**255 + 9, False)):
            grant = {"key": to_base64url(number.to_bytes(32, "little")), "signature": signature}
            self.assertEqual(fits(schema.reading_grant, grant), is_one)

    def test_a_key_pair_of_rfc_9180(self):
        seed = unhex("7268600d403fce431561aef583ee1613527cff655c1343f29812e66706df3234")
        public = unhex("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431")
        self.assertEqual(derive_key_pair(seed).public_key().public_bytes_raw(), public)

    def test_prompts_sealed_twice(self):
        vectors = read("envelopes")
        prompt, of = vectors["prompt"], vectors["of"]
        key, secret = (unhex(vectors["keys"][name]) for name in ("promptKey", "secret"))
        names = of["chainId"], of["store"], of["client"], int(of["highHandle"]), int(of["lowHandle"])
        whole = EnvelopeOf(*names, of["list"])
        made = seal_prompt(prompt["text"], key, secret, whole, vectors["nodes"], b"\x0c" * 12)
        self.assertEqual(made, unhex(prompt["blob"]))
        label = f"svc-envelope-v1:{of['client']}"
        self.assertEqual(unseal(made, key, label), unhex(prompt["under"]))
        self.assertIsNone(find_unsigned(of["chainId"], of["list"], vectors["nodes"]))
        refused = {}
        for one in self.each(vectors["invalid"], 16):
            envelope = unseal(unhex(one["blob"]), key, label)
            self.assertNotEqual(envelope, unhex(prompt["under"]))
            if envelope[:2] == bytes([2, len(of["list"])]):
                unsigned = find_unsigned(of["chainId"], of["list"], grants_in(envelope))
                if unsigned is not None:
                    refused[one["name"]] = of["list"].index(unsigned)
        # What else is wrong is made by a client, and seen by nodes alone.
        last, second = "a stranger in place of the last node", "a key that its node did not sign"
        others = {"two nodes in the other order": 1, "another signature of the second node": 1}
        self.assertEqual(refused, {last: 2, second: 1, **others})

    def test_outputs_sealed_twice(self):
        vectors = read("envelopes")
        one, secret = vectors["output"], unhex(vectors["keys"]["secret"])
        key, job_id, fence = unhex(one["outputKey"]), one["jobId"], one["fence"]
        self.assertEqual(open_output(unhex(one["blob"]), key, secret, job_id, fence), one["text"])
        once = seal(one["text"].encode(), key, f"svc-sealed-output-v2:{job_id}")
        for blob, of_job, at in ((one["blob"], key, fence), (one["blob"], secret, fence + 1), (once.hex(), secret, fence)):
            with self.assertRaisesRegex(SvcError, "cannot be decrypted"):
                open_output(unhex(blob), key, of_job, job_id, at)

    def test_inputs_of_the_local_chain(self):
        one, calls = read("sealing")["localInput"], []
        rpc = SimpleNamespace(call=lambda *call: calls.append(call))
        made = encrypt(rpc, one["chainId"], int(one["half"]), one["sender"], int(one["ctHash"]))
        self.assertEqual([call[2:] for call in calls], [(one["slot"], one["value"])])
        self.assertIn(unhex(one["signature"]), made)

    def test_receipts_that_hold(self):
        for one in self.each(read("receipts-valid")["receipts"], 10):
            verify_receipt(one["receipt"], one["iclKeys"])
            self.assertEqual(receipt_hash(one["receipt"]), one["hash"])
            self.assertEqual(record_hash(one["receipt"]), one["record"])

    def test_receipts_that_do_not_hold(self):
        valid = {one["name"]: one for one in read("receipts-valid")["receipts"]}
        for one in self.each(read("receipts-invalid")["receipts"], 50):
            good = valid[one["of"]]
            with self.assertRaises(SvcError) as refused:
                verify_receipt(changed(good["receipt"], one["changes"]), one.get("iclKeys", good["iclKeys"]))
            # A refusal of the form would hide what the vector is about.
            self.assertEqual(refused.exception.code, "receipt-invalid")

    def test_receipts_of_another_form(self):
        valid = {one["name"]: one["receipt"] for one in read("receipts-valid")["receipts"]}
        vectors = read("receipts-invalid")["malformed"]
        # The vectors have no half of a surrogate pair, which strict readers of JSON refuse.
        changes = [[path, "https://icl.test\ud800"] for path in ("/icl_origin", "/list/terms/icl_origin")]
        for one in self.each([*vectors, {"of": vectors[0]["of"], "changes": changes}], 2):
            with self.assertRaises(SvcError) as refused:
                verify_receipt(changed(valid[one["of"]], one["changes"]))
            self.assertEqual(refused.exception.code, "receipt-form")


def grants_in(envelope):
    """Reads the members' reading keys and signatures from an envelope."""
    members = (envelope[at : at + 145] for at in range(66, 66 + envelope[1] * 145, 145))
    return [{"key": to_base64url(one[:32]), "signature": "0x" + one[32:97].hex()} for one in members]


if __name__ == "__main__":
    unittest.main()
