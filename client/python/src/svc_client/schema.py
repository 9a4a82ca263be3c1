"""The form of a receipt, with the limits of each field. Unknown fields and other spellings are refused."""

import re
from typing import Any, Callable, Optional, Sequence

from .encoding import from_base64url
from .errors import SvcError
from .signatures import half_order, is_strong_key

Form = Callable[[Any, str], None]


def _refuse(path: str, what: str) -> None:
    raise SvcError(
        "receipt-form",
        f"This is no receipt: {path or 'it'} {what}",
        "Fetch the receipt again. Do not rely on this file.",
    )


def _form(fits: Callable[[Any], bool], what: str) -> Form:
    def form(value: Any, path: str) -> None:
        if not fits(value):
            _refuse(path, what)

    return form


def text(pattern: str, where: Callable[[str], bool] = lambda text: True) -> Form:
    matches = re.compile(pattern).fullmatch
    return _form(lambda value: isinstance(value, str) and bool(matches(value)) and where(value), "is not in its form")


def integer(least: int, most: int) -> Form:
    return _form(lambda value: type(value) is int and least <= value <= most, f"is no integer of {least} to {most}")


def one_of(*values: Any) -> Form:
    known = {(type(value), value) for value in values}
    return _form(lambda value: isinstance(value, (str, int)) and (type(value), value) in known, "is none of the known values")


def array(item: Form, least: int, most: int) -> Form:
    def form(value: Any, path: str) -> None:
        if not isinstance(value, list) or not least <= len(value) <= most:
            _refuse(path, f"is no list of {least} to {most}")
        for at, element in enumerate(value):
            item(element, f"{path}/{at}")

    return form


def record(optional: Sequence[str] = (), **fields: Form) -> Form:
    """The form of an object with exactly these fields."""

    def form(value: Any, path: str) -> None:
        if not isinstance(value, dict):
            return _refuse(path, "is no object")
        for name in value.keys() - fields.keys():
            _refuse(f"{path}/{name}", "is no known field")
        for name, field in fields.items():
            if name in value:
                field(value[name], f"{path}/{name}")
            elif name not in optional:
                _refuse(f"{path}/{name}", "is missing")

    return form


# The last character of base64url or base32 has bits that no byte uses. They must be zero.
_last2, _last3 = "[AQgw]", "[AEIMQUYcgkosw048]"
address = text("0x[0-9a-f]{40}")
hash32 = text("0x[0-9a-f]{64}")
uint256 = text("0|[1-9][0-9]{0,77}", lambda digits: int(digits) < 2**256)
amount = text("0|[1-9][0-9]{0,28}", lambda digits: int(digits) < 2**96)
icl_origin = text(r"[\x21-\x7e]{1,512}")
# The first character after the prefix also ends the digest's length.
cid_pattern = "bafkrei[a-h][a-z2-7]{50}[aeimquy4]"
cid = text(cid_pattern)
base64url32 = text(f"[A-Za-z0-9_-]{{42}}{_last3}")
base64url = text(
    f"([A-Za-z0-9_-]{{4}})*([A-Za-z0-9_-]{_last2}|[A-Za-z0-9_-]{{2}}{_last3})?", lambda data: len(data) <= 2_731
)
unix_seconds = integer(0, 99_999_999_999)
model_id = text("[a-z0-9][a-z0-9-]{0,31}:[A-Za-z0-9._:/@+-]{1,96}")
comparator = one_of("exact", "similar/2", "structured/1")
session_key = text(f"[A-Za-z0-9_-]{{42}}{_last3}", lambda key: is_strong_key(from_base64url(key)))
session_signature = text(f"[A-Za-z0-9_-]{{85}}{_last2}")
wallet_signature = text("0x[0-9a-f]{128}(1b|1c)", lambda signature: int(signature[66:130], 16) <= half_order)
# A u of X25519 in its only spelling: X25519 itself accepts more.
reading_grant = record(
    key=text(
        f"[A-Za-z0-9_-]{{42}}{_last3}", lambda key: int.from_bytes(from_base64url(key), "little") < 2**255 - 19
    ),
    signature=wallet_signature,
)
_fence = integer(1, 1_000_000)
_position = integer(0, 15)
_output_tokens = integer(1, 8_192)

prompt_parts = (
    "json_object json_schema late_system names parallel_tool_calls reasoning_effort seed stop teacher tools"
).split()
abort_reasons = (
    "key-handles-missing prompt-unavailable prompt-unreadable envelope-invalid prompt-not-supported fhe-decrypt-denied "
    "coprocessor-unavailable chain-rate-limited node-chain-unavailable model-not-offered provider-key-missing "
    "provider-key-refused provider-model-unknown provider-rate-limited provider-quota-used-up provider-prompt-too-long "
    "provider-refused provider-unreachable provider-unavailable provider-silent provider-protocol-wrong provider-answer-empty "
    "provider-answer-too-large list-untrusted encryption-failed wallet-empty store-key-reverted "
    "output-upload-failed answer-lost deadline-too-close journal-unwritable signed-before node-stopping node-crashed "
    "node-failed"
).split()
over_reasons = abort_reasons + "offer-lapsed lease-lapsed never-revealed grant-refused node-busy node-left".split()
delivery_reasons = abort_reasons + "never-delivered output-refused never-checked".split()
pass_reasons = (
    "not-registered chain-inactive stake-unbonding no-model no-comparator no-tier no-recent-poll no-free-slot "
    "leaving certificate-expired no-heartbeat chain-unavailable busy"
).split()

terms = record(
    icl_origin=icl_origin,
    pool_cid=cid,
    model_id=model_id,
    min_tier=integer(0, 255),
    comparator=comparator,
    needs=record(
        parts=array(one_of(*prompt_parts), 1, len(prompt_parts)),
        prompt_bytes=integer(8_193, 1_048_576),
        output_tokens=integer(1_025, 8_192),
        optional=("parts", "prompt_bytes", "output_tokens"),
    ),
    offer=record(input=amount, output=amount, delivery=amount),
    rule=one_of("three", "any-two", "majority"),
    quorum=integer(3, 6),
    max_answers=integer(3, 7),
    min_matches=integer(1, 6),
    list_length=integer(3, 16),
    salt=base64url32,
    optional=("needs", "offer"),
)
_block = record(number=uint256, hash=hash32)
_members = array(address, 3, 16)


def _keyed(body: Form, **more: Form) -> Form:
    """The form of an ICL's statement, with the key that signed it."""
    return record(body=body, key=session_key, signature=session_signature, **more)


_passed = record(position=_position, reason=one_of(*pass_reasons), at=unix_seconds)
list_statement = record(
    statement=one_of("svc-list-v2"),
    client=address,
    kpHighHandle=uint256,
    kpLowHandle=uint256,
    terms=terms,
    block=_block,
    list=_members,
    passed=array(_passed, 0, 16),
    coordinator=address,
    at=unix_seconds,
)
drawn_list = _keyed(list_statement, reading=array(reading_grant, 0, 16))
_job_list = record(
    terms=terms,
    block=_block,
    members=_members,
    passed=array(_passed, 0, 64),
    activator=address,
    until=unix_seconds,
)
_evidence = record(
    comparator=comparator,
    digest=base64url32,
    sketch=base64url,
    tokens=integer(0, 1_048_576),
    units=integer(0, 1_048_576),
    optional=("sketch",),
)


def _about(statement: str) -> dict[str, Form]:
    return {"statement": one_of(statement), "jobId": hash32, "address": address, "fence": _fence}


_token_count = integer(0, 1_000_000_000)
answer_statement = record(
    **_about("svc-answer-v3"),
    position=_position,
    list=hash32,
    model_id=model_id,
    max_output_tokens=_output_tokens,
    evidence=_evidence,
    ended=one_of("stop", "length", "tool_calls"),
    usage=record(input_tokens=_token_count, output_tokens=_token_count),
    salt=base64url32,
    seen=hash32,
    optional=("usage",),
)
delivery_statement = record(
    **_about("svc-delivery-v2"), answer=hash32, output_cid=cid, outHighHandle=uint256, outLowHandle=uint256
)
verdict_statement = record(
    **_about("svc-verdict-v2"),
    answer=hash32,
    delivery=hash32,
    verdict=one_of("match", "no-match"),
    reason=one_of("different-answer", "inconclusive", "output-mismatch", "output-unavailable"),
    optional=("reason",),
)
abort_statement = record(**_about("svc-abort-v2"), turn=integer(0, 6), reason=one_of(*abort_reasons))
tally_statement = record(
    statement=one_of("svc-tally-v3"),
    jobId=hash32,
    record=hash32,
    group=integer(1, 127),
    deliverer=address,
    settled_at=unix_seconds,
)
ack_statement = record(
    **_about("svc-ack-v2"), step=one_of("commit", "reveal", "result"), body_hash=hash32, at=unix_seconds
)

ack = _keyed(ack_statement)


def _signed(body: Form, **more: Form) -> Form:
    session = record(not_after=unix_seconds, signature=wallet_signature, key=session_key)
    return record(body=body, signature=session_signature, session=session, **more)


def _pair(value: Any, path: str) -> None:
    array(integer(0, 2**32 - 1), 2, 2)(value, path)
    integer(0, 100_000)(value[1], f"{path}/1")


_gap = integer(0, 2_000 * 8_192)
_score = record(
    check=one_of("teacher/1"),
    n=_output_tokens,
    agree=integer(0, 8_192),
    gap=_gap,
    trimmed=_gap,
    far=integer(0, 8_192),
    quarters=array(_gap, 4, 4),
    transcript=hash32,
    top=array(array(_pair, 1, 5), 1, 8),
)
numbers_statement = record(
    **_about("svc-numbers-v1"),
    weighed=array(record(answer=hash32, score=_score, optional=("score",)), 1, 2),
    salt=base64url32,
)
_delivery = _signed(delivery_statement)
_verdicts = array(_signed(verdict_statement), 0, 6)
receipt = record(
    version=one_of(4),
    icl_origin=icl_origin,
    chain_id=integer(1, 2**53 - 1),
    jobId=hash32,
    client=address,
    client_nonce=uint256,
    kpHighHandle=uint256,
    kpLowHandle=uint256,
    prompt_cid=cid,
    max_output_tokens=_output_tokens,
    list=_job_list,
    answers=array(_signed(answer_statement, batch=integer(0, 63)), 3, 7),
    seen=array(array(record(address=address, fence=_fence, commitment=hash32), 1, 7), 1, 64),
    over=array(
        record(position=_position, fence=_fence, reason=one_of(*over_reasons), at=unix_seconds),
        0,
        64,
    ),
    failed_deliveries=array(
        record(
            address=address,
            reason=one_of(*delivery_reasons),
            abort=_signed(abort_statement),
            delivery=_delivery,
            verdicts=_verdicts,
            optional=("abort", "delivery"),
        ),
        0,
        6,
    ),
    delivery=_delivery,
    verdicts=_verdicts,
    attested=array(_signed(numbers_statement), 1, 7),
    tally=_keyed(tally_statement),
    optional=("attested",),
)
