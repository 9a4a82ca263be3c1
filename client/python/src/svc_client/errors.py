"""The one error of this package, and checks that raise it."""

import re
from typing import Callable, Optional

# Characters that control a terminal or have no encoding: text of a file or a server could forge the lines around it.
_controlling = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_most_characters = 2_000


class SvcError(Exception):
    """An error with a stable `code`, a message on what happened, and in `hint` what to do about it.

    `retry_after` has the seconds to wait before, if they are known. Message and hint are one printable line of limited
    length, because servers and files write parts of them.
    """

    def __init__(self, code: str, message: str, hint: str, retryable: bool = False, retry_after: Optional[int] = None):
        super().__init__(_on_one_line(message))
        self.code = code
        self.hint = _on_one_line(hint)
        self.retryable = retryable
        self.retry_after = retry_after


def _on_one_line(text: str) -> str:
    return _controlling.sub(lambda character: f"\\u{ord(character[0]):04x}", text[:_most_characters])


def checker(code: str, message: str, hint: str) -> Callable[[bool, str], None]:
    """Makes a check that raises SvcError unless something holds."""

    def check(holds: bool, why: str) -> None:
        if not holds:
            raise SvcError(code, f"{message}: {why}", hint)

    return check


_again = "Do not rely on this answer. Fetch the receipt again, or run the job again."
check = checker("receipt-invalid", "The receipt does not hold", _again)
