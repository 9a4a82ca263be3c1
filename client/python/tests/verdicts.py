"""Says for each text in a JSON list whether it is a valid receipt: python -m tests.verdicts FILE ICL_KEY."""

import base64
import json
import sys
from pathlib import Path

from svc_client.encoding import read_json
from svc_client.errors import SvcError
from svc_client.receipt import verify_receipt


def holds(data: bytes, icl_key: str) -> bool:
    try:
        verify_receipt(read_json(data), [icl_key])
        return True
    except SvcError:
        return False


if __name__ == "__main__":
    _, file, key = sys.argv
    texts = json.loads(Path(file).read_text(encoding="utf-8"))
    print(json.dumps([holds(base64.b64decode(text), key) for text in texts]))
