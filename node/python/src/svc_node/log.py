"""Reads the log of a node, in both of its formats, from text, a stream or a file that grows."""

import json
import os
import re
import threading
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import BinaryIO, Iterator, Optional

from .events import Event, event_of

# The node writes bodies of up to 1 MiB, and escapes some of their characters.
most_bytes = 8 * 1_048_576
_piece_bytes = 65_536
_levels = ("DEBUG", "INFO", "WARNING", "ERROR")
_text = re.compile(r"\[([^]]{19})] \[(DEBUG|INFO|WARNING|ERROR)] \[(0x[0-9a-f]{4}\.\.[0-9a-f]{4})] (.*)", re.DOTALL)
_time = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?", re.ASCII)


@dataclass(frozen=True)
class LogLine:
    """One line of the log.

    `time` is in UTC. `level` is DEBUG, INFO, WARNING or ERROR. `address` is short (`0x1234..abcd`), but whole in a log
    as JSON. All three are None for a line that is not the log's: `message` has it whole. `event` is None for most
    messages.
    """

    message: str
    time: Optional[datetime] = None
    level: Optional[str] = None
    address: Optional[str] = None
    event: Optional[Event] = None


def parse_line(line: str) -> LogLine:
    """Reads one line, without its line break, of a log as text or as JSON."""
    found = _text.fullmatch(line)
    time, level, address, message = found.groups() if found is not None else _of_json(line)
    at = _utc(time)
    if at is None:
        return LogLine(line)
    return LogLine(message, at, level, address, event_of(message))


def _of_json(line: str) -> tuple[str, ...]:
    none = ("", "", "", "")
    if not line.startswith("{"):
        return none
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return none
    values = tuple(told.get(name) for name in ("time", "level", "address", "message"))
    if not all(isinstance(value, str) for value in values) or values[1] not in _levels:
        return none
    return (values[0].removesuffix("Z"), *values[1:])


def _utc(text: str) -> Optional[datetime]:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=timezone.utc) if _time.fullmatch(text) else None
    except ValueError:
        return None


class _Joiner:
    """Joins the pieces of a line. What is longer than `most_bytes` is cut."""

    def __init__(self) -> None:
        self._held = bytearray()

    def add(self, piece: bytes) -> Iterator[LogLine]:
        self._held += piece[: most_bytes - len(self._held)]
        if piece.endswith(b"\n"):
            yield from self.end()

    def end(self) -> Iterator[LogLine]:
        text = self._held.decode("utf-8", "replace").rstrip("\r\n")
        self._held.clear()
        if text:
            yield parse_line(text)


def read_log(stream: BinaryIO) -> Iterator[LogLine]:
    """Reads lines to the end of a stream, such as the standard output of `svc-node run`. A line is cut at 8 MiB."""
    joiner = _Joiner()
    for piece in iter(lambda: stream.readline(_piece_bytes), b""):
        yield from joiner.add(piece)
    yield from joiner.end()


def follow(path: str, stop: Optional[threading.Event] = None, poll_seconds: float = 0.5) -> Iterator[LogLine]:
    """Reads a log file from its start, then what is added to it, until `stop` is set.

    Waits for a file that is not there. Reads the file that takes its place (rotation) once it has the old one whole. An
    unfinished line waits for its end. Raises OSError when the file cannot be read.
    """
    stop = stop or threading.Event()
    while not stop.is_set():
        try:
            with open(path, "rb") as file:
                yield from _follow_one(file, path, stop, poll_seconds)
        except FileNotFoundError:
            stop.wait(poll_seconds)


def _follow_one(file: BinaryIO, path: str, stop: threading.Event, poll_seconds: float) -> Iterator[LogLine]:
    """Reads until another file has taken the place of this one, or until it was emptied."""
    joiner = _Joiner()
    is_last = False
    while True:
        for piece in iter(lambda: file.readline(_piece_bytes), b""):
            yield from joiner.add(piece)
        if is_last or os.fstat(file.fileno()).st_size < file.tell():
            return
        # Lines written before the rotation, or before the stop, are read before the file is left.
        is_last = stop.wait(poll_seconds) or not _is_at(file, path)


def _is_at(file: BinaryIO, path: str) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
