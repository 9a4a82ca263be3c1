"""Tests `svc-node status --json` of an executable that fails. A real one is asked by tests/node/python."""

import json
import os
from unittest.mock import patch

from svc_node import SvcError, ask_status

from .scripts import Scripts


class Status(Scripts):
    def status_of(self, *lines, timeout_seconds=60):
        named = {"SVC_NODE_EXECUTABLE": self.script("svc-node", *lines)}
        with patch.dict(os.environ, named), self.assertRaises(SvcError) as raised:
            ask_status(timeout_seconds)
        return raised.exception.code, str(raised.exception), raised.exception.hint

    def test_an_error_in_place_of_a_status_is_raised_as_it_is(self):
        error = {"code": "config-missing", "message": "no configuration", "hint": "Run `svc-node init`."}
        told = self.status_of(f"echo '{json.dumps({'error': error})}'", "exit 1")
        self.assertEqual(told, tuple(error.values()))

    def test_a_status_that_is_none_is_refused(self):
        for printed in ("", "no JSON", '{"address":1}', "[" * 100_000):
            self.assertEqual(self.status_of(f"echo '{printed}'")[0], "status-unreadable")

    def test_a_status_that_does_not_come_is_given_up(self):
        self.assertEqual(self.status_of("exec sleep 60", timeout_seconds=0.2)[0], "status-timeout")
