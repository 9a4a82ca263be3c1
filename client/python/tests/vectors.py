"""Reads the protocol's vectors, which are among the TypeScript tests."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

folder = Path(__file__).resolve().parents[3] / "tests" / "vectors"


def read(name: str) -> dict[str, Any]:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def changed(receipt: dict[str, Any], changes: list[list[Any]]) -> dict[str, Any]:
    """Returns the receipt with changes: `[path, value]` sets what the JSON pointer names, `[path]` removes it."""
    whole = deepcopy(receipt)
    for path, *values in changes:
        *way, last = path.split("/")[1:]
        place: Any = whole
        for step in way:
            place = place[int(step) if isinstance(place, list) else step]
        at = int(last) if isinstance(place, list) else last
        if values:
            place[at] = values[0]
        else:
            del place[at]
    return whole
