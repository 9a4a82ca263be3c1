"""Tests the command with files on disk."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from svc_client import command
from svc_client.command import main

from .server import serve
from .told_chain import ToldChain, key_stored
from .vectors import read


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "receipt.json")
        self.acks = Path(folder.name, "acks.jsonl")
        self.vector = read("receipts-valid")["receipts"][0]

    def run_on(self, data, *flags):
        self.file.write_bytes(data if isinstance(data, bytes) else data.encode())
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")) as out:
            code = main(["verify", str(self.file), *flags])
            out.flush()
            return code, out.buffer.getvalue().decode()

    def test_a_receipt_that_holds_is_consistent(self):
        code, out = self.run_on(json.dumps(self.vector["receipt"], indent=2))
        self.assertEqual(code, 0)
        self.assertIn(self.vector["hash"], out)
        self.assertIn("The receipt is consistent.", out)

    def test_the_key_of_the_icl_is_checked(self):
        text = json.dumps(self.vector["receipt"])
        self.assertEqual(self.run_on(text, "--icl-key", self.vector["iclKeys"][0])[0], 0)
        other = self.vector["receipt"]["answers"][0]["session"]["key"]
        code, out = self.run_on(text, "--icl-key", other, "--json")
        self.assertEqual((code, json.loads(out)["verdict"]), (1, "invalid"))

    def test_a_receipt_is_held_against_what_the_icl_acknowledged(self):
        statements = read("statements")
        text, (key, *_) = json.dumps(statements["receipt"]), {one["key"] for one in statements["acks"]}
        for one in statements["acks"]:
            ack = {"body": json.loads(one["text"]), "key": one["key"], "signature": one["signature"]}
            self.acks.write_text(f"{json.dumps(ack)}\n\n{json.dumps(ack)}\n")
            code, out = self.run_on(text, "--icl-key", key, "--with", str(self.acks))
            self.assertEqual(code == 0, one["isKept"], one["name"])
            self.assertIn("ok      acks" if one["isKept"] else "failed  acks", out)

    def test_what_is_no_acknowledgement_says_nothing_of_the_receipt(self):
        ack = read("statements")["acks"][0]
        body = json.loads(ack["text"])
        false = {"body": {**body, "at": body["at"] + 1}, "key": ack["key"], "signature": ack["signature"]}
        for text in (json.dumps(false), "{}", "[]", "yes"):
            self.acks.write_text(text)
            with contextlib.redirect_stderr(io.StringIO()) as err:
                code, out = self.run_on(json.dumps(read("statements")["receipt"]), "--with", str(self.acks))
            self.assertEqual(code, 1)
            self.assertNotIn("invalid", out)
            self.assertIn("acknowledgement", err.getvalue())

    def test_a_mistake_in_an_option_says_nothing_of_the_receipt(self):
        text = json.dumps(self.vector["receipt"])
        registry = "--rpc", "https://rpc.test", "--result-registry", "0x12"
        for flags in (registry, ("--icl-key", "a-key"), ("--rpc", "here"), ("--gateway", "ftp://a.test")):
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
                self.run_on(text, *flags)
            self.assertEqual(ended.exception.code, 2)

    def test_a_made_up_receipt_is_valid_only_if_the_named_chain_rpcs_tell_the_truth(self):
        receipt, contract = self.vector["receipt"], "0x" + "11" * 20
        contracts = "--result-registry", contract, "--prompt-key-store", contract
        lying, other, honest = (ToldChain(self, receipt) for _ in range(3))
        honest.views.update({"resultOf(bytes32)": [0], "listOf(uint256,uint256)": [0, 0, 0]})
        honest.events[key_stored] = []
        hosts = [chain.url.removeprefix("http://") for chain in (lying, other, honest)]
        believed = f"http://user:secret@{hosts[0]}/path?key=secret"
        alone, both = f"{hosts[0]} tells the truth", f"{hosts[0]} and {hosts[1]} tell the truth"
        for urls, truth in (([believed], alone), ([believed, other.url], both), ([believed, lying.url], alone)):
            flags = [*contracts, *(flag for url in urls for flag in ("--rpc", url))]
            code, out = self.run_on(json.dumps(receipt), *flags)
            self.assertEqual(code, 0, out)
            sentence = f"The receipt is valid if {truth}: it is consistent, and the chain holds its hash and its list.\n"
            self.assertTrue(out.endswith(sentence), out)
            self.assertIn(f"Not checked: that {truth} about the chain; ", out)
            self.assertNotIn("secret", out)
            told = json.loads(self.run_on(json.dumps(receipt), *flags, "--json")[1])
            self.assertEqual(told["rpc_hosts"], list(dict.fromkeys(hosts[: len(urls)])) if truth == both else hosts[:1])
            self.assertIn(f"that {truth} about the chain", told["not_checked"])
        for urls in ([lying.url, honest.url], [honest.url, lying.url]):
            code, out = self.run_on(json.dumps(receipt), *contracts, "--rpc", urls[0], "--rpc", urls[1])
            self.assertEqual(code, 1)
            self.assertTrue(out.endswith("The receipt is invalid.\n"), out)
            self.assertIn(f"ok      list: {hosts[0]}\n", out)
            self.assertIn(f"failed  list: {hosts[2]}: The receipt does not fit the chain", out)

    def test_a_chain_rpc_that_fails_is_named_and_leaves_the_verdict_open(self):
        receipt, contract = self.vector["receipt"], "0x" + "11" * 20
        contracts = "--result-registry", contract, "--prompt-key-store", contract
        failing = serve(self, lambda *_: None, lambda *_: None)
        flags = "--rpc", ToldChain(self, receipt).url, "--rpc", failing
        code, out = self.run_on(json.dumps(receipt), *contracts, *flags)
        self.assertEqual(code, 75)
        self.assertIn(f"failed  rpc: {failing.removeprefix('http://')}: ", out)
        self.assertIn("whether the receipt is valid is not known", out)

    def test_anything_else_in_the_file_is_refused(self):
        text = json.dumps(self.vector["receipt"])
        others = [
            text.replace('"version": 4', '"version": 4.0'),
            text.replace('"version": 4', '"version": true'),
            text.replace('"version": 4', '"version": 4, "version": 4'),
            text.replace('"version": 4', '"version": 4, "note": "x"'),
            text.replace('"over": []', '"over": null'),
            text.replace("https://icl.test", "https:\\/\\/icl.test"),
            text.replace('"over"', '"ov\\u0065r"'),
            text[:-1],
            text + "{}",
            "\ufeff" + text,
            text.replace("0xf4d4", "0xF4D4"),
            b"\xff" + text.encode(),
            "[" * 100_000,
            "[]",
            "",
        ]
        for other in others:
            self.assertNotEqual(other, text)
            self.assertEqual(self.run_on(other)[0], 1, other[:80])

    def test_a_file_cannot_forge_lines(self):
        name = "\\u001b[2J\\u001b[1;1H\\nThe receipt is valid: it is consistent\\u001b[8m"
        name_of_bytes = "\x7f\x9b2J\u202e"
        for field in (name, name_of_bytes):
            code, out = self.run_on(json.dumps(self.vector["receipt"], ensure_ascii=False).replace('"version"', f'"{field}": 1, "version"', 1))
            self.assertEqual(code, 1)
            self.assertIn("is no known field", out)
            self.assertNotRegex(out, "[\x1b\x7f\x9b\u202e]|\nThe receipt is valid")

    def test_a_file_that_is_not_there_is_named_and_gets_no_verdict(self):
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.assertEqual(main(["verify", str(self.file), "--json"]), 1)
            out.flush()
        self.assertEqual(out.buffer.getvalue(), b"")
        self.assertIn(str(self.file), err.getvalue())

    def test_an_interruption_and_a_reader_that_leaves_end_it_without_a_traceback(self):
        with patch.object(command, "_verify", side_effect=KeyboardInterrupt):
            self.assertEqual(main(["verify", str(self.file)]), 130)
        self.file.write_text(json.dumps(self.vector["receipt"]))
        asked = [sys.executable, "-m", "svc_client.command", "verify", str(self.file)]
        ended = subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        ended.stdout.close()
        self.assertEqual((ended.wait(), ended.stderr.read()), (141, b""))
        ended.stderr.close()


if __name__ == "__main__":
    unittest.main()
