"""Checks what nodes attest: how likely the answers are under their models.

The numbers must be of the answers that their nodes weigh, signed and possible. Without the provider nobody can tell
whether they are true.
"""

from itertools import pairwise
from typing import Any, Callable, Optional

from .encoding import unhex
from .errors import check
from .keccak import keccak256

_most_gap = 2_000


def check_attested(
    receipt: dict[str, Any], answers: list[dict[str, Any]], check_signed: Callable[[dict[str, Any]], None]
) -> None:
    """Checks the numbers against the answers in their order, each with its hash. Raises SvcError `receipt-invalid`."""
    parts = receipt["list"]["terms"].get("needs", {}).get("parts", ())
    is_asked = "attested" not in receipt or "teacher" in parts
    check(is_asked, "it attests numbers that its terms do not ask for")
    seats = [(answer["address"], answer["fence"]) for answer in answers]
    seen: set[str] = set()
    for signed in receipt.get("attested", ()):
        body = signed["body"]
        address, seat = body["address"], (body["address"], body["fence"])
        check(address not in seen, f"{address} opened numbers twice")
        seen.add(address)
        check(seat in seats, f"{address} attests without an answer")
        wrong = _wrong_numbers(body["weighed"], weighed_at(answers, seats.index(seat)), receipt["max_output_tokens"])
        check(wrong is None, f"the numbers of {address} have {wrong}")
        check_signed(signed)


def weighed_at(answers: list[dict[str, Any]], index: int) -> list[str]:
    """Returns the hashes of the two answers before this one, the last ones before the first."""
    return [answers[index - back]["hash"] for back in (1, 2)]


def _wrong_numbers(weighed: list[dict[str, Any]], to_weigh: list[str], most: int) -> Optional[str]:
    for at, one in enumerate(weighed):
        if one["answer"] not in to_weigh:
            return "an answer that its node does not weigh"
        if any(other["answer"] == one["answer"] for other in weighed[:at]):
            return "an answer twice"
        wrong = contradiction_in(one["score"], one["answer"], most) if "score" in one else None
        if wrong is not None:
            return wrong
    return None


def places_of(answer: str, n: int) -> list[int]:
    """Returns at which of `n` tokens the likeliest are shown, from the hash of the text's answer statement."""
    draws = (keccak256(unhex(answer) + draw.to_bytes(4, "big")) for draw in range(8))
    return sorted({int.from_bytes(draw, "big") % n for draw in draws})


def contradiction_in(score: dict[str, Any], answer: str, most: int) -> Optional[str]:
    """Says why numbers are impossible, or None."""
    n, agree, gap, far = (score[name] for name in ("n", "agree", "gap", "far"))
    if n > most:
        return "more tokens than the answer may have"
    if agree + far > n:
        return "more tokens counted than there are"
    if not far * _most_gap <= gap <= (n - agree) * _most_gap:
        return "a gap that its tokens cannot have"
    if not 0 <= gap - score["trimmed"] <= -(-n // 32) * _most_gap:
        return "a trimmed gap that its gap cannot have"
    if sum(score["quarters"]) != gap:
        return "quarters that do not add up"
    bounds = pairwise(quarter * n // 4 for quarter in range(5))
    if any(own > (end - start) * _most_gap for own, (start, end) in zip(score["quarters"], bounds)):
        return "a quarter that its tokens cannot have"
    if len(score["top"]) != len(places_of(answer, n)):
        return "another number of places than are drawn"
    in_order = all(one[1] <= other[1] for row in score["top"] for one, other in pairwise(row))
    return None if in_order else "likeliest tokens out of order"
