"""Checks what nodes attest: how likely the delivered text is under their models.

It decides nothing. The numbers must be those that the nodes committed to. Without the provider nobody can tell whether
they are true.
"""

from itertools import pairwise
from typing import Any, Optional

from .encoding import hash_of, unhex
from .errors import check
from .keccak import keccak256

_most_gap = 2_000


def check_attested(receipt: dict[str, Any]) -> None:
    """Raises SvcError `receipt-invalid`."""
    answer, most = receipt["delivery"]["body"]["answer"], receipt["max_output_tokens"]
    said = {verdict["body"]["address"]: verdict["body"] for verdict in receipt["verdicts"]}
    parts = receipt["list"]["terms"].get("needs", {}).get("parts", ())
    is_asked = "attested" not in receipt or "teacher" in parts
    check(is_asked, "it attests numbers that its terms do not ask for")
    seen: set[str] = set()
    for opened in receipt.get("attested", ()):
        address, score = opened["address"], opened["score"]
        check(address not in seen, f"{address} opened two checks")
        seen.add(address)
        own = said.get(address, {})
        check(own.get("verdict") == "match", f"{address} attests to a delivery that it did not accept")
        parts = {"jobId": receipt["jobId"], "address": address, "fence": own["fence"], "delivery": own["delivery"]}
        commitment = hash_of({**parts, "score": score, "salt": opened["salt"]})
        check(commitment == own.get("check"), f"{address} opened another check than it committed to")
        wrong = contradiction_in(score, answer, most)
        check(wrong is None, f"the check of {address} has {wrong}")


def places_of(answer: str, n: int) -> list[int]:
    """Returns at which of `n` tokens the likeliest are shown, from the hash of the deliverer's answer statement."""
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
