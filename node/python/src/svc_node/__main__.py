"""`python -m svc_node COMMAND ...` is `svc-node COMMAND ...`."""

import json
import sys

from .errors import SvcError
from .executable import run_executable

# A shell returns this for a command that it does not find. No command of svc-node does.
_not_run = 127


def main() -> int:
    """Runs svc-node with the arguments of this process. Returns its exit code, or 127 where it cannot be run."""
    arguments = sys.argv[1:]
    try:
        return run_executable(arguments)
    except SvcError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        if "--json" in arguments:
            print(json.dumps({"error": {"code": error.code, "message": str(error), "hint": error.hint}}))
        return _not_run


if __name__ == "__main__":
    sys.exit(main())
