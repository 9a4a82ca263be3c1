"""The one error of this package."""


class SvcError(Exception):
    """An error with a stable `code`, a message on what happened, and in `hint` what to do about it."""

    def __init__(self, code: str, message: str, hint: str, retryable: bool = False):
        super().__init__(message)
        self.code = code
        self.hint = hint
        self.retryable = retryable


def receipt_invalid(why: str) -> SvcError:
    return SvcError(
        "receipt-invalid",
        f"The receipt does not hold: {why}",
        "Do not rely on this answer. Fetch the receipt again, or run the job again.",
    )


def check(holds: bool, why: str) -> None:
    """Refuses a receipt unless the condition holds."""
    if not holds:
        raise receipt_invalid(why)
