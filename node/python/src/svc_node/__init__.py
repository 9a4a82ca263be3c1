"""The node of the inference coordination service from Python: runs svc-node."""

from .errors import SvcError
from .executable import find_executable

__all__ = ["SvcError", "find_executable"]
