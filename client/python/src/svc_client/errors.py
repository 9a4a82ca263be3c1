"""The one error of this package, and checks that raise it."""

from typing import Callable


class SvcError(Exception):
    """An error with a stable `code`, a message on what happened, and in `hint` what to do about it."""

    def __init__(self, code: str, message: str, hint: str, retryable: bool = False):
        super().__init__(message)
        self.code = code
        self.hint = hint
        self.retryable = retryable


def checker(code: str, message: str, hint: str) -> Callable[[bool, str], None]:
    """Makes a check that raises SvcError unless something holds."""

    def check(holds: bool, why: str) -> None:
        if not holds:
            raise SvcError(code, f"{message}: {why}", hint)

    return check


_again = "Do not rely on this answer. Fetch the receipt again, or run the job again."
check = checker("receipt-invalid", "The receipt does not hold", _again)
