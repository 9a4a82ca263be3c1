"""Asks a node for its status: what `svc-node status --json` prints, with types."""

import json
import re
import subprocess
from typing import Any, NamedTuple, Optional, Union, get_args, get_origin, get_type_hints

from .errors import SvcError
from .executable import find_executable, not_runnable

_most_characters = 4 * 1_048_576


class Icl(NamedTuple):
    url: str
    reachable: bool


class Chain(NamedTuple):
    """What NodeRegistry has. `withdrawable_at` is Unix seconds, None unless the node is leaving."""

    balance_wei: int
    min_stake_wei: int
    registered: bool
    active: bool
    stake_wei: int
    model_tiers: tuple[int, ...]
    withdrawable_at: Optional[int]
    pending_slashes: int
    slashed_wei: int


class Certificate(NamedTuple):
    """`backend` is `mock` or `tpm`, `expires_at` Unix seconds."""

    backend: str
    expires_at: int
    seconds_left: int


class Model(NamedTuple):
    """A configured model. `key_variable` names the variable of its provider's key."""

    model_id: str
    key_variable: str
    key_needed: bool
    key_present: bool


class Metrics(NamedTuple):
    """`total_slash_amount` is gwei, `last_heartbeat` Unix seconds."""

    tasks_completed: int
    tasks_accepted: int
    tasks_rejected: int
    reputation_score: int
    total_slash_amount: int
    last_heartbeat: int


class Record(NamedTuple):
    """What the ICL has of the node."""

    model_tiers: tuple[int, ...]
    active: bool
    metrics: Metrics


class Trouble(NamedTuple):
    """`retryable`: it may pass without the operator."""

    code: str
    message: str
    remedy: Optional[str]
    retryable: bool


class Usage(NamedTuple):
    """Tokens of a model's jobs since `since` (Unix seconds), and their cost at the configured price."""

    model_id: str
    jobs: int
    input_tokens: int
    output_tokens: int
    cost: Optional[float]
    since: int


class Status(NamedTuple):
    """The state of a node. What is away, or not there, is None. `eligible`: the ICL considers the node for jobs.

    `troubles` has accusations and pending transactions that the operator has to act on, in words.
    """

    address: str
    icl: Icl
    eligible: Optional[bool]
    takes_work: bool
    chain: Optional[Chain]
    certificate: Optional[Certificate]
    models: tuple[Model, ...]
    record: Optional[Record]
    troubles: tuple[Trouble, ...]
    usage: tuple[Usage, ...]


def ask_status(timeout_seconds: float = 120) -> Status:
    """Runs `svc-node status --json` with this environment.

    Raises SvcError `status-timeout`, `executable-missing`, `executable-unusable`, and those of parse_status.
    """
    path = find_executable()
    command = [path, "status", "--json"]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_seconds)
    except OSError as error:
        raise not_runnable(path, error) from error
    except subprocess.TimeoutExpired as error:
        what = f"svc-node status did not end within {timeout_seconds} s"
        raise SvcError("status-timeout", what, "Try again, or give it more time.") from error
    return parse_status(ended.stdout.decode("utf-8", "replace"))


def parse_status(text: str) -> Status:
    """Reads what `svc-node status --json` printed, and ignores fields that Status does not have.

    Raises SvcError `status-unreadable`, or the error that svc-node printed in place of a status.
    """
    try:
        told = json.loads(text) if len(text) <= _most_characters else None
    except (ValueError, RecursionError):
        told = None
    if isinstance(told, dict) and isinstance(told.get("error"), dict):
        code, message, hint = (str(told["error"].get(name) or "") for name in ("code", "message", "hint"))
        raise SvcError(code, message, hint)
    status: Status = _decode(Status, told, "status")
    return status


def _decode(kind: Any, value: Any, name: str) -> Any:
    """Returns a value of JSON as one of `kind`. Amounts in wei are decimal texts there."""
    if get_origin(kind) is Union:
        return None if value is None else _decode(get_args(kind)[0], value, name)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_decode(get_args(kind)[0], item, name) for item in value)
    if hasattr(kind, "_fields") and isinstance(value, dict):
        return kind(**{key: _decode(hint, value.get(key), key) for key, hint in get_type_hints(kind).items()})
    if name.endswith("_wei") and isinstance(value, str) and re.fullmatch("[0-9]{1,78}", value):
        return int(value)
    if type(value) is kind or (kind is float and type(value) is int):
        return value
    what = f"`svc-node status --json` printed no {name} of the expected type"
    raise SvcError("status-unreadable", what, "Use svc-node and svc_node of the same version.")
