"""The one error of this package."""


class SvcError(Exception):
    """An error with a stable `code`, a message on what happened, and in `hint` what to do about it."""

    def __init__(self, code: str, message: str, hint: str):
        super().__init__(message)
        self.code = code
        self.hint = hint
