"""Tests what the log of a node may hold. The lines of a real one are read by tests/node/python."""

import io
import json
import tempfile
import threading
import unittest
from datetime import datetime, timezone
from pathlib import Path

from svc_node import Event, LogLine, follow, log, parse_line, read_log

start = "[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] "
job = f"Job 0x{'11' * 32}: "


class Line(unittest.TestCase):
    def test_has_time_level_address_and_message(self):
        at = datetime(2027, 1, 15, 8, tzinfo=timezone.utc)
        self.assertEqual(parse_line(f"{start}it [works]"), LogLine("it [works]", at, "INFO", "0xa1a1..a1a1"))

    def test_of_another_form_is_kept_whole(self):
        told = {"time": "2027-01-15T08:00:00.007Z", "level": "INFO", "address": "0xa1", "message": "it works"}
        changed = ("time", "08:00"), ("level", "NOTE"), ("address", None), ("message", ["it works"])
        for text in (
            "error: no attestation found",
            start.replace("-15", "-45"),
            start.replace("INFO", "NOTE"),
            '{"a":' * 100_000,
            *(json.dumps({**told, name: value}) for name, value in changed),
        ):
            self.assertEqual(parse_line(text), LogLine(text))

    def test_as_json_has_the_same_with_milliseconds_and_the_whole_address(self):
        told = {"time": "2027-01-15T08:00:00.007Z", "level": "ERROR", "address": "0xa1", "message": "a\nb"}
        at = datetime(2027, 1, 15, 8, 0, 0, 7_000, timezone.utc)
        self.assertEqual(parse_line(json.dumps(told)), LogLine("a\nb", at, "ERROR", "0xa1"))

    def test_that_quotes_an_event_shows_none(self):
        for quoted in (f"{job}claimed", "Heartbeat sent to ICL", "Received 3 assignment(s)"):
            self.assertIsNotNone(parse_line(start + quoted).event)
            for text in (f"{job}prompt: {quoted}", f"{quoted} and more", f" {quoted}"):
                self.assertIsNone(parse_line(start + text).event)

    def test_of_an_abort_says_why_and_whether_a_decryption_failed(self):
        name = job[4:-2]
        for text, event in (
            ("aborted: no blob", Event("job-aborted", name, why="no blob")),
            ("aborted: CoFHE decrypt failed: denied", Event("decrypt-failed", name, why="denied", aborted=True)),
            ("CoFHE decrypt failed: denied", Event("decrypt-failed", name, why="denied", aborted=False)),
        ):
            self.assertEqual(parse_line(start + job + text).event, event)


class Stream(unittest.TestCase):
    def test_is_read_to_its_end_in_bounded_memory(self):
        long = start + "é" * log.most_bytes
        lines = list(read_log(io.BytesIO(f"one\r\n\n{long}\n{start}last".encode())))
        self.assertEqual([line.message for line in (lines[0], lines[2])], ["one", "last"])
        self.assertEqual(len(lines), 3)
        self.assertLessEqual(len(lines[1].message.encode()), log.most_bytes)
        self.assertEqual(lines[1].level, "INFO")


class File(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "node.log")
        self.stop = threading.Event()
        self.lines = (line.message for line in follow(str(self.path), self.stop, poll_seconds=0.01))

    def write(self, text, mode="a"):
        with open(self.path, mode, encoding="utf-8") as file:
            file.write(text)

    def test_is_followed_while_it_grows_is_rotated_and_emptied(self):
        threading.Timer(0.05, self.write, ["first\n"]).start()
        self.assertEqual(next(self.lines), "first")
        self.write("sec")
        threading.Timer(0.05, self.write, ["ond\nthird\n"]).start()
        self.assertEqual([next(self.lines) for _ in range(2)], ["second", "third"])
        self.write("before\n")
        self.path.rename(self.path.with_suffix(".1"))
        self.write("after, a longer text\n")
        self.assertEqual([next(self.lines) for _ in range(2)], ["before", "after, a longer text"])
        self.write("new\n", "w")
        self.assertEqual(next(self.lines), "new")
        self.write("last\n")
        self.stop.set()
        self.assertEqual(list(self.lines), ["last"])
