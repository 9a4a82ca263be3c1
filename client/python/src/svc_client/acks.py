"""Compares receipts with the ICL's acknowledgements to nodes."""

from typing import Any, Sequence

from . import schema
from .encoding import canonical_json, hash_of, read_file, read_json
from .errors import SvcError, check
from .signatures import verify_signature

_most_bytes = 64 * 1_048_576


def read_acks(path: str) -> list[dict[str, Any]]:
    """Reads acknowledgements from a file: one, or one a line. Raises SvcError `file-unreadable` or `ack-invalid`."""
    data = read_file(path, _most_bytes, "the acknowledgements")
    try:
        return [_read(data)]
    except SvcError:
        lines = enumerate(data.split(b"\n"), 1)
    return [_read(line, at) for at, line in lines if line.strip()]


def _read(data: bytes, at: int = 1) -> dict[str, Any]:
    try:
        found = read_json(data)
        schema.ack(found, "")
    except SvcError as error:
        raise SvcError(
            "ack-invalid",
            f"Line {at} is no acknowledgement",
            "Name a file with acknowledgements as the ICL signs them, one a line.",
        ) from error
    return found


def check_ack(receipt: dict[str, Any], ack: dict[str, Any], icl_keys: Sequence[str]) -> bool:
    """False for another job's acknowledgement. Raises SvcError `ack-invalid` or `receipt-invalid`."""
    schema.ack(ack, "")
    body = ack["body"]
    if ack["key"] not in icl_keys or not verify_signature(ack["key"], ack["signature"], canonical_json(body)):
        raise SvcError(
            "ack-invalid",
            "The acknowledgement does not hold: no key of the ICL signed it",
            "Do not rely on it: only what the ICL has signed binds it.",
        )
    if body["jobId"] != receipt["jobId"]:
        return False
    step, who = f"the ICL acknowledged the {body['step']} of {body['address']}", (body["address"], body["fence"])
    if body["step"] == "result":
        turns = [receipt["delivery"]] + [turn.get("delivery") for turn in receipt["failed_deliveries"]]
        names = [hash_of(delivery["body"]) for delivery in turns if delivery is not None]
        check(body["body_hash"] in names, f"{step}, and the receipt has no such delivery")
        return True
    bodies = [answer["body"] for answer in receipt["answers"]]
    answer = next((one for one in bodies if (one["address"], one["fence"]) == who), None)
    if body["step"] == "reveal":
        check(answer is not None, f"{step}, and the receipt has no answer of it")
        check(hash_of(answer) == body["body_hash"], f"{step}, and the receipt has another answer of it")
        return True
    if answer is not None:
        opened = hash_of({name: answer[name] for name in ("jobId", "address", "fence", "evidence", "salt")})
        check(opened == body["body_hash"], f"{step}, and its answer in the receipt opens another")
        return True
    members = receipt["list"]["members"]
    over = [seat["reason"] for seat in receipt["over"] if (members[seat["position"]], seat["fence"]) == who]
    check(bool(over), f"{step}, and the receipt leaves it out")
    seen = [one["commitment"] for batch in receipt["seen"] for one in batch if (one["address"], one["fence"]) == who]
    check(seen in ([], [body["body_hash"]]), f"{step}, and its batch saw another in the receipt")
    may_follow = over[0] == "never-revealed" or over[0] in schema.abort_reasons
    check(may_follow, f"{step}, and in the receipt its seat was over before ({over[0]})")
    return True
