"""Finds the executable svc-node, and lets it take the place of this process."""

import os
import shutil
import signal
import subprocess
import sys
from typing import Sequence

from .errors import SvcError

variable = "SVC_NODE_EXECUTABLE"
_remedy = (
    "Download or build svc-node for this platform and compare it with SHA256SUMS (docs/build.md). "
    f"Then put it in PATH as svc-node, or set {variable} to its path."
)


def find_executable() -> str:
    """Returns the path of the executable that SVC_NODE_EXECUTABLE names, or without that of `svc-node` in PATH.

    Raises SvcError `executable-missing`. It takes no other executable where the named one is missing.
    """
    named = os.environ.get(variable, "").strip()
    found = shutil.which(named or "svc-node")
    if found is not None:
        return found
    what = f"{variable} names no executable: {named!r}" if named else "svc-node is not in PATH"
    raise SvcError("executable-missing", what, _remedy)


def run_executable(arguments: Sequence[str]) -> int:
    """Runs `svc-node` with this environment, terminal, input and output.

    On POSIX it replaces this process and does not return: signals and the exit code are those of svc-node. Elsewhere it
    waits and returns the exit code. Raises SvcError `executable-missing`, and `executable-unusable` for a file that the
    system does not start.
    """
    path = find_executable()
    try:
        if os.name != "posix":
            # Ctrl-C reaches both processes. svc-node ends in order, and this one waits for it.
            signal.signal(signal.SIGINT, lambda *_: None)
            return subprocess.call([path, *arguments])
        sys.stdout.flush()
        # Python ignores these signals, and a program that replaces it would inherit that.
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        os.execv(path, [path, *arguments])
    except OSError as error:
        raise not_runnable(path, error) from error


def not_runnable(path: str, error: OSError) -> SvcError:
    """Makes the error of an executable that the system does not start, such as one for another platform."""
    return SvcError("executable-unusable", f"{path!r} cannot be run: {error.strerror}", _remedy)
