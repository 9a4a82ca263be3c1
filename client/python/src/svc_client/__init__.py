"""A client of the inference coordination service: asks on a local chain, checks receipts, opens outputs."""

from .errors import SvcError
from .receipt import receipt_hash, record_hash, verify_receipt

__all__ = ["SvcError", "receipt_hash", "record_hash", "verify_receipt"]
