"""Tests how long the client waits for a server."""

import socket
import threading
import time
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
        head = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n"
        url = self.serve(*[(head, b" ")] * 3)
        began = time.monotonic()
        with patch.object(rpc, "_timeout_s", 0.5), self.assertRaises(SvcError) as refused:
            rpc.request(url)
        self.assertEqual(refused.exception.code, "unreachable")
        self.assertLess(time.monotonic() - began, 10)

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


if __name__ == "__main__":
    unittest.main()
