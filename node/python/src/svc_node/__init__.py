"""The node of the inference coordination service from Python: runs svc-node, and reads its log."""

from .errors import SvcError
from .executable import find_executable
from .log import LogLine, follow, parse_line, read_log

__all__ = ["LogLine", "SvcError", "find_executable", "follow", "parse_line", "read_log"]
