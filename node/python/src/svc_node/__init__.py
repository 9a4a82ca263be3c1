"""The node of the inference coordination service from Python: runs svc-node, reads its log and its status."""

from .errors import SvcError
from .events import Event
from .executable import find_executable
from .log import LogLine, follow, parse_line, read_log
from .status import Status, ask_status, parse_status

__all__ = [
    "Event",
    "LogLine",
    "Status",
    "SvcError",
    "ask_status",
    "find_executable",
    "follow",
    "parse_line",
    "parse_status",
    "read_log",
]
