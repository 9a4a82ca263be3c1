"""Follows a job by its read token, and fetches, checks and opens its output."""

import time
from typing import Any, Callable, TypeVar

from .chain import load_blob
from .coprocessor import decrypt
from .encoding import cid_of
from .envelope import open_output
from .errors import SvcError, check
from .receipt import Receipt, verify_receipt
from .rpc import Rpc, get_json, request, wrong_answer
from .sealing import join_key

_settled = ("accepted", "disputed", "expired", "cancelled")
_poll_s = 1.0
_outage_s = 300

T = TypeVar("T")


def outlast(call: Callable[[], T]) -> T:
    """Retries a call for five minutes, after 0.5 to 10 s each time. Raises the last SvcError."""
    began, wait_s = time.monotonic(), 0.5
    while True:
        try:
            return call()
        except SvcError as error:
            if not error.retryable or time.monotonic() - began >= _outage_s:
                raise
        time.sleep(wait_s)
        wait_s = min(wait_s * 2, 10)


def follow(
    icl: str,
    job_id: str,
    read_token: str,
    on_view: Callable[[dict[str, Any]], None] = lambda view: None,
    timeout_s: float = 930,
) -> dict[str, Any]:
    """Waits for the settled job; `on_view` gets the job each second. Raises `job-overdue`, or what a request does."""
    began = time.monotonic()
    while True:
        view = outlast(lambda: get_json(f"{icl}/v1/inference/{job_id}", read_token))
        if not isinstance(view, dict) or not isinstance(view.get("status"), str):
            raise wrong_answer("the ICL", "a job without a status")
        on_view(view)
        if view["status"] in _settled:
            return view
        if time.monotonic() - began > timeout_s:
            raise SvcError(
                "job-overdue",
                f"The job has not settled within {timeout_s} s",
                "Follow it again, or use another ICL.",
                retryable=True,
            )
        time.sleep(_poll_s)


def cancel(icl: str, job_id: str, read_token: str) -> str:
    """Asks to cancel a job that its user does not wait for, and says what became of it. Raises no SvcError."""
    try:
        request(f"{icl}/v1/inference/{job_id}/cancel", b"", read_token)
    except SvcError:
        # A node has committed, the job has settled, or the ICL is away.
        return f"The job {job_id} continues or has ended. `svc infer --open {job_id}` opens its answer if it has one"
    return f"The job {job_id} is cancelled"


def fetch_receipt(icl: str, job_id: str, read_token: str) -> Receipt:
    """Returns an accepted job's receipt, checked and signed by a published key of this ICL. Raises SvcErrors."""
    receipt = get_json(f"{icl}/v1/inference/{job_id}/receipt", read_token)
    verify_receipt(receipt, published_keys(icl))
    check(receipt["jobId"] == job_id, "it is about another job")
    return receipt


def published_keys(icl: str) -> list[str]:
    """Returns the keys with which this ICL signs statements."""
    jwks = get_json(f"{icl}/.well-known/jwks.json")
    try:
        return [key["x"] for key in jwks["keys"] if (key["kty"], key.get("crv")) == ("OKP", "Ed25519")]
    except (KeyError, TypeError, AttributeError) as error:
        raise wrong_answer("the ICL", f"keys without {error}") from error


def fetch_output(icl: str, receipt: Receipt, rpc: Rpc, secret: bytes) -> str:
    """Returns the delivered text, opened with the job's secret. Raises SvcErrors, elsewhere `needs-gateway`."""
    body = receipt["delivery"]["body"]
    halves = [decrypt(rpc, receipt["chain_id"], int(body[name])) for name in ("outHighHandle", "outLowHandle")]
    blob = load_blob(icl, body["output_cid"])
    check(cid_of(blob) == body["output_cid"], "the output has other content than its name says")
    return open_output(blob, join_key(*halves), secret, receipt["jobId"], body["fence"])
