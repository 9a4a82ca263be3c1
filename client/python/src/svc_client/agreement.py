"""Decides which answers agree, who delivers them, and whether a delivery settles. Pure, in integers."""

from typing import Any, Callable, NamedTuple, Optional, Sequence, TypeVar

from .errors import check

T = TypeVar("T")
_most_answers = 7
_default_max_answers = {"three": 7, "any-two": 5, "majority": 5}


class Quota(NamedTuple):
    """The answers of the first batch, the most answers of a job, and how many have to match one another."""

    quorum: int
    max_answers: int
    needed: int


def quota_of(
    rule: str, quorum: int, list_length: int, min_matches: int = 1, max_answers: Optional[int] = None
) -> Quota:
    """Returns the quota of the terms; raises SvcError `receipt-invalid` when there is none."""
    limit = _default_max_answers[rule] if max_answers is None else max_answers
    check(quorum >= 3, f"a quorum has at least 3 nodes, not {quorum}")
    check(limit <= _most_answers, f"a job has at most {_most_answers} answers, not {limit}")
    check(quorum <= limit, f"a quorum of {quorum} is more than the {limit} answers that the job may have")
    check(quorum <= list_length, f"a quorum of {quorum} needs as many nodes, and the list has {list_length}")
    most = min(limit, list_length)
    base = {"any-two": 2, "three": 2 if most == 3 else 3, "majority": most // 2 + 1}[rule]
    needed = max(base, quorum // 2 + 1, min_matches + 1)
    check(needed <= most, f"{needed} answers have to match one another, and the job has at most {most}")
    return Quota(quorum, most, needed)


class Decision(NamedTuple):
    """`accepted` with the mask of the group, `more` with a count, or `disputed`."""

    outcome: str
    mask: int = 0
    count: int = 0


def decide(
    answers: Sequence[T], is_match: Callable[[T, T], bool], quota: Quota, left: Optional[int] = None
) -> Decision:
    """Decides on the answers so far, by batch and position. `left` is how many more the job can get."""
    size = len(answers)
    if size < quota.quorum:
        return Decision("more", count=quota.quorum - size)
    matched = [
        sum(1 << other for other in range(at) if is_match(answers[other], answers[at])) for at in range(size)
    ]
    best, most = 0, 0
    for mask in range(1, 1 << size):
        members = [at for at in range(size) if mask >> at & 1]
        if len(members) > most and all(mask & ((1 << at) - 1) & ~matched[at] == 0 for at in members):
            best, most = mask, len(members)
    if most >= quota.needed:
        return Decision("accepted", mask=best)
    count = quota.needed - most
    if (left is not None and count > left) or size + count > quota.max_answers:
        return Decision("disputed")
    return Decision("more", count=count)


def deliverers(group: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the members in order of delivery: those of later batches first, and then by position on the list."""
    return sorted(group, key=lambda member: (-member["batch"], member["position"]))


def settled(checks: Sequence[Optional[str]], is_time_up: bool) -> str:
    """Returns `settled`, `waiting`, or why a delivery failed, by the other members' verdicts on it."""
    if not is_time_up and None in checks:
        return "waiting"
    matches, mismatches = checks.count("match"), checks.count("no-match")
    if matches >= 1 and matches >= mismatches:
        return "settled"
    return "output-refused" if mismatches >= 1 else "never-checked"
