"""A client of the inference coordination service: checks receipts, follows jobs, opens outputs."""

from .errors import SvcError
from .receipt import receipt_hash, record_hash, verify_receipt

__all__ = ["SvcError", "receipt_hash", "record_hash", "verify_receipt"]
