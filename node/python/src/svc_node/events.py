"""The events that the log of a node shows, by the fragments of the specification (section 6)."""

import re
from dataclasses import dataclass
from typing import Any, Callable, Literal, Mapping, Optional

EventName = Literal[
    "daemon-starting", "heartbeat-sent", "heartbeat-failed", "no-assignments", "assignments-received", "job-spawning",
    "job-starting", "job-claimed", "prompt-key-decrypted", "prompt-downloaded", "inference-running",
    "inference-complete", "output-uploaded", "result-accepted", "verdict", "decrypt-failed", "job-aborted",
]  # fmt: skip


@dataclass(frozen=True)
class Event:
    """What a message says. A value that its kind of message does not have is None.

    `role` is `leader` or `verifier`, `verdict` `match` or `no-match`. `seconds` are those that the certificate has left
    or the inference took. `why` ends in `(<n> more times in <n> s)` if it counts repeats. `aborted` says whether a
    failed decryption ended the job. `tiers` is None if the chain did not name them in time.
    """

    name: EventName
    job_id: Optional[str] = None
    role: Optional[str] = None
    count: Optional[int] = None
    model: Optional[str] = None
    seconds: Optional[float] = None
    bytes: Optional[int] = None
    cid: Optional[str] = None
    verdict: Optional[str] = None
    reason: Optional[str] = None
    why: Optional[str] = None
    aborted: Optional[bool] = None
    version: Optional[str] = None
    address: Optional[str] = None
    tiers: Optional[tuple[int, ...]] = None
    models: Optional[tuple[str, ...]] = None


_id = "(?P<job_id>0x[0-9a-f]{64})"
_job = f"Job {_id}: "
_role = "(?P<role>leader|verifier)"
_messages: tuple[tuple[EventName, str], ...] = (
    (
        "daemon-starting",
        r"Daemon starting: version (?P<version>\S+), address (?P<address>0x[0-9a-f]{40}), "
        r"tier (?P<tiers>unknown|none|[0-9]{1,3}(?:, [0-9]{1,3})*), models (?P<models>.+), "
        r"certificate valid for (?P<seconds>[0-9]{1,12}) s",
    ),
    ("heartbeat-sent", "Heartbeat sent to ICL"),
    ("heartbeat-failed", "Heartbeat failed: (?P<why>.*)"),
    ("no-assignments", "No assignments for last 60s"),
    ("assignments-received", r"Received (?P<count>[0-9]{1,12}) assignment\(s\)"),
    ("job-spawning", f"Spawning {_role} job {_id}"),
    ("job-starting", f"{_job}starting as {_role}"),
    ("job-claimed", f"{_job}claimed"),
    ("prompt-key-decrypted", f"{_job}Decrypted prompt key"),
    ("prompt-downloaded", rf"{_job}Downloaded prompt blob \((?P<bytes>[0-9]{{1,12}}) bytes\)"),
    ("inference-running", rf"{_job}Running inference on the prompt via (?P<model>.+)"),
    ("inference-complete", rf"{_job}Inference complete in (?P<seconds>[0-9]{{1,12}}\.[0-9]) s"),
    ("output-uploaded", rf"{_job}uploaded encrypted output (?P<cid>.+)"),
    ("result-accepted", f"{_job}Leader result accepted"),
    ("verdict", rf"{_job}Verdict: (?P<verdict>match|no-match)(?: \((?P<reason>.*)\))?"),
    ("decrypt-failed", f"{_job}(?P<aborted>aborted: )?CoFHE decrypt failed: (?P<why>.*)"),
    ("job-aborted", f"{_job}aborted: (?P<why>.*)"),
)
# Each is compared with the whole message: a prompt or an error that a message quotes makes no event.
_patterns = tuple((name, re.compile(pattern, re.DOTALL)) for name, pattern in _messages)


def _list(text: str) -> tuple[str, ...]:
    return () if text == "none" else tuple(text.split(", "))


def _models(text: str) -> tuple[str, ...]:
    # The banner shows each as `openai:gpt-4.1-mini (gpt-4.1-mini)`.
    return tuple(model.partition(" (")[0] for model in _list(text))


_readings: Mapping[str, Callable[[str], Any]] = {
    "bytes": int,
    "count": int,
    "models": _models,
    "seconds": float,
    "tiers": lambda text: None if text == "unknown" else tuple(map(int, _list(text))),
}


def event_of(message: str) -> Optional[Event]:
    """Returns the event that a message shows, None for any other message."""
    for name, pattern in _patterns:
        found = pattern.fullmatch(message)
        if found is not None:
            told = found.groupdict()
            values = {key: _readings.get(key, str)(text) for key, text in told.items() if text is not None}
            if "aborted" in told:
                values["aborted"] = told["aborted"] is not None
            return Event(name, **values)
    return None
