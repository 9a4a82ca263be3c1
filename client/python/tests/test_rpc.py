"""Tests how the client asks servers, how long it waits for them, and which answers it refuses."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import traceback
import unittest
from unittest.mock import patch

from svc_client import rpc
from svc_client.errors import SvcError


class Request(unittest.TestCase):
    def serve(self, *answers):
        """Serves each connection an answer: bytes, then a function that makes more until the client leaves."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def run():
            for first, more in answers:
                connection, _ = server.accept()
                connection.recv(65_536)
                try:
                    connection.sendall(first)
                    while more:
                        time.sleep(0.1)
                        connection.sendall(more)
                except OSError:
                    pass
                connection.close()

        threading.Thread(target=run, daemon=True).start()
        return f"http://127.0.0.1:{server.getsockname()[1]}/"

    def test_an_address_that_is_none_is_not_called_a_server(self):
        for url in ("here", "ftp://a.test", "http://", "http://[::1", "http://a.test:b"):
            with self.assertRaises(SvcError) as refused:
                rpc.request(url)
            self.assertEqual(refused.exception.code, "usage")

    def test_an_answer_that_does_not_end_is_given_up(self):
        body = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", b" "
        headers = b"HTTP/1.1 200 OK\r\n", b"a"
        for endless in (body, headers):
            url = self.serve(endless)
            began = time.monotonic()
            with patch.multiple(rpc, _timeout_s=0.5, _attempts=1), self.assertRaises(SvcError) as refused:
                rpc.request(url)
            self.assertEqual(refused.exception.code, "unreachable")
            self.assertLess(time.monotonic() - began, 10)

    def test_an_encoded_answer_is_refused_by_name(self):
        head = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-encoding: %s\r\n\r\n{}"
        self.assertEqual(rpc.request(self.serve((head % b"identity", b""))), b"{}")
        with self.assertRaisesRegex(SvcError, "content-encoding gzip") as refused:
            rpc.request(self.serve((head % b"gzip", b"")))
        self.assertEqual(refused.exception.code, "answer-encoded")

    def test_a_proxy_gets_no_request_for_this_machine(self):
        head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"
        direct, proxy = (self.serve((head + name, b"")) for name in (b"here.", b"proxy"))
        code = "import sys; from svc_client import rpc; print([rpc.request(url) for url in sys.argv[1:]])"
        settings = {**os.environ, "http_proxy": proxy, "no_proxy": "", "NO_PROXY": ""}
        asked = [sys.executable, "-c", code, direct, "http://icl.test/"]
        told = subprocess.run(asked, env=settings, capture_output=True, text=True, check=True)
        self.assertEqual(told.stdout.strip(), "[b'here.', b'proxy']")

    def test_texts_of_a_server_forge_no_lines(self):
        text = "\x1b[2J\r\nThe receipt is valid\x7f\x9b\u202e\ud800" + "a" * 5_000
        problem = json.dumps({"code": text, "detail": text}).encode()
        unknown = json.dumps({"error": {"code": -32601, "message": text}}).encode()

        def sent(status, body):
            return b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body), b""

        place = rpc.Rpc.__new__(rpc.Rpc)
        asks = [
            (lambda: rpc.request(place.url), sent(b"404 No", problem)),
            (lambda: rpc.request(place.url), sent(b"404 \x1b[2J\x9b", b"")),
            (lambda: rpc.request(place.url), (b"\x1b[2J\x9b" + b"a" * 5_000 + b"\r\n\r\n", b"")),
            (lambda: place.call("eth_chainId"), sent(b"200 OK", unknown)),
        ]
        for ask, answer in asks:
            place.url = self.serve(answer)
            with patch.object(rpc, "_attempts", 1), self.assertRaises(SvcError) as refused:
                ask()
            self.assertLess(len(str(refused.exception)), 3_000)
            told = "".join(traceback.format_exception(refused.exception))
            self.assertNotRegex(told, "[\ud800\x1b\r\x7f\x9b\u202e]|\nThe receipt is valid")

    def test_user_and_password_of_an_address_are_sent_and_not_told(self):
        server, seen = socket.create_server(("127.0.0.1", 0)), []
        self.addCleanup(server.close)

        def run():
            connection, _ = server.accept()
            seen.append(connection.recv(65_536).decode())
            connection.sendall(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n")
            connection.close()

        threading.Thread(target=run, daemon=True).start()
        port = server.getsockname()[1]
        with self.assertRaises(SvcError) as refused:
            rpc.request(f"http://user:pass%20word@127.0.0.1:{port}/key?key=value")
        self.assertEqual(str(refused.exception), f"127.0.0.1:{port} refused with 404")
        self.assertIn("Authorization: Basic dXNlcjpwYXNzIHdvcmQ=", seen[0])

    def test_a_wallet_without_funds_is_named_and_not_the_rpc(self):
        def answer(error):
            body = b'{"error": {"code": -32003, "message": "%s"}}' % error
            return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body), body

        place = rpc.Rpc.__new__(rpc.Rpc)
        no_funds = b"Insufficient funds for gas * price + value"
        for error, code in ((no_funds, "chain-wallet-empty"), (b"No", "answer-wrong")):
            place.url = self.serve(answer(error))
            with self.assertRaises(SvcError) as refused:
                place.call("eth_sendTransaction", {})
            self.assertEqual(refused.exception.code, code)

    def test_a_server_is_asked_again_when_it_says_and_no_later_than_in_a_minute(self):
        busy = b"HTTP/1.1 429 Busy\r\ncontent-length: 0\r\nretry-after: %s\r\n\r\n"
        for asked, waits in ((b"7", 7), (b"999999", 60), (b"soon", 1), (b"-1", 1)):
            url = self.serve((busy % asked, b""), (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", b""))
            with patch.object(rpc.time, "sleep") as sleep:
                self.assertEqual(rpc.request(url), b"{}")
            self.assertEqual([call.args[0] for call in sleep.call_args_list], [waits])

    def test_a_model_that_providers_limit_is_an_error_at_once_with_the_time_to_wait(self):
        body = b'{"code":"model-limited","detail":"Used up"}'
        head = b"HTTP/1.1 429 Busy\r\ncontent-length: %d\r\nretry-after: 3600\r\n\r\n" % len(body)
        with self.assertRaises(SvcError) as raised:
            rpc.request(self.serve((head + body, b"")))
        self.assertEqual((raised.exception.code, raised.exception.retry_after), ("model-limited", 3_600))

    def test_a_lack_of_nodes_is_an_error_at_once_that_may_pass(self):
        for status, code in ((b"400", "not-enough-nodes"), (b"409", "not-enough-serving")):
            body = b'{"code":"%s","detail":"Too few"}' % code.encode()
            head = b"HTTP/1.1 %s No\r\ncontent-length: %d\r\n\r\n" % (status, len(body))
            with self.assertRaises(SvcError) as raised:
                rpc.request(self.serve((head + body, b"")))
            self.assertEqual((raised.exception.code, raised.exception.retryable), (code, True))


if __name__ == "__main__":
    unittest.main()
