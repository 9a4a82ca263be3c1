"""Checks a receipt without a network and without trusting the ICL.

The list fits the terms. A node of the list signed each answer, and none is left out. Deciding again gives the same
batches, group and deliverer. The verdicts settle the delivery. Only `chain.py` checks that the list is the one on
chain.
"""

from typing import Any, Callable, Optional, Sequence

from . import schema
from .agreement import Quota, decide, deliverers, quota_of, settled
from .comparators import compare, malformation
from .encoding import canonical_json, hash_of
from .errors import check
from .lists import job_id_of, list_commitment
from .signatures import verify_session, verify_signature
from .teacher import check_attested

Receipt = dict[str, Any]
Answer = dict[str, Any]
CheckSigned = Callable[[dict[str, Any]], None]


def receipt_hash(receipt: Receipt) -> str:
    """The hash that ResultRegistry holds."""
    return hash_of(receipt)


def record_hash(receipt: Receipt) -> str:
    """The hash that the tally signs: of the receipt without it."""
    return hash_of({name: value for name, value in receipt.items() if name != "tally"})


def verify_receipt(receipt: Any, icl_keys: Optional[Sequence[str]] = None) -> None:
    """Raises SvcError `receipt-form` or `receipt-invalid`. `icl_keys` are the ICL's published keys, if known."""
    schema.receipt(receipt, "")
    identity = [receipt[name] for name in ("kpHighHandle", "kpLowHandle", "client_nonce")]
    job_id = job_id_of(receipt["chain_id"], receipt["client"], receipt["prompt_cid"], *map(int, identity))
    check(job_id == receipt["jobId"], "the jobId is not that of its parts")
    _check_list(receipt)
    quota = _quota(receipt)
    check_signed = _signed_checker(receipt)
    answers = _check_answers(receipt, check_signed)
    _check_seats(receipt)
    _check_seen(receipt, answers)
    group = _replay(receipt, answers, quota)
    _check_deliveries(receipt, answers, group, check_signed)
    check_attested(receipt, answers, check_signed)
    _check_tally(receipt, icl_keys)


def _quota(receipt: Receipt) -> Quota:
    terms, members = receipt["list"]["terms"], receipt["list"]["members"]
    return quota_of(terms["rule"], terms["quorum"], len(members), terms["min_matches"], terms["max_answers"])


def _check_list(receipt: Receipt) -> None:
    chosen = receipt["list"]
    members, terms = chosen["members"], chosen["terms"]
    check(terms["icl_origin"] == receipt["icl_origin"], "its list is for another ICL")
    check(len(set(members)) == len(members), "a node is on its list twice")
    check(receipt["client"] not in members, "the client is on its own list")
    check(len(members) <= terms["list_length"], "its list is longer than the terms allow")
    on_list = all(one["position"] < len(members) for one in chosen["passed"])
    check(on_list, "it passes over a node that is not on its list")


def _signed_checker(receipt: Receipt) -> CheckSigned:
    """Makes a checker of statements: of this job, by a key that only this wallet uses and granted until it settled."""
    owners: dict[str, str] = {}

    def check_signed(signed: dict[str, Any]) -> None:
        body, session = signed["body"], signed["session"]
        address, key = body["address"], session["key"]
        check(body["jobId"] == receipt["jobId"], f"{address} spoke of another job")
        owner = owners.setdefault(key, address)
        check(owner == address, f"{owner} and {address} have the same session key")
        grant = receipt["icl_origin"], receipt["chain_id"], session["not_after"], session["signature"]
        check(verify_session(address, key, *grant), f"the wallet of {address} did not grant the session key")
        has_lasted = session["not_after"] >= receipt["tally"]["body"]["settled_at"]
        check(has_lasted, f"the session of {address} had ended")
        is_signed = verify_signature(key, signed["signature"], canonical_json(body))
        check(is_signed, f"{address} did not sign its statement")

    return check_signed


def _check_answers(receipt: Receipt, check_signed: CheckSigned) -> list[Answer]:
    """Checks each answer and its place; returns the statements with their batch and hash."""
    chosen = receipt["list"]
    members, terms = chosen["members"], chosen["terms"]
    commitment = list_commitment(receipt["jobId"], chosen["activator"], chosen["until"], members)
    named: list[Answer] = []
    for answer in receipt["answers"]:
        body, batch = answer["body"], answer["batch"]
        address, place = body["address"], (batch, body["position"])
        check(all(other["address"] != address for other in named), f"{address} answered twice")
        is_later = not named or place > (named[-1]["batch"], named[-1]["position"])
        check(is_later, f"the answer of {address} is out of order")
        is_placed = body["position"] < len(members) and members[body["position"]] == address
        check(is_placed, f"{address} is not at its place on the list")
        check(body["list"] == commitment, f"{address} answered for another list")
        check(body["model_id"] == terms["model_id"], f"{address} ran another model")
        is_length = body["max_output_tokens"] == receipt["max_output_tokens"]
        check(is_length, f"{address} allowed another length of answer")
        wrong = malformation(body["evidence"], terms["comparator"])
        check(wrong is None, f"the evidence of {address} is malformed: {wrong}")
        check_signed(answer)
        named.append({**body, "batch": batch, "hash": hash_of(body)})
    return named


def _check_seats(receipt: Receipt) -> None:
    """Checks that no node is skipped silently: each, up to the last seat, answered, failed or was passed over.

    A node that has committed to an answer got no other seat.
    """
    members, over = receipt["list"]["members"], receipt["over"]
    check(all(seat["position"] < len(members) for seat in over), "it seats a node that is not on its list")
    answers = [answer["body"] for answer in receipt["answers"]]
    committed, seats = answers + [seat for seat in over if seat["reason"] == "never-revealed"], answers + over
    check(len({seat["fence"] for seat in seats}) == len(seats), "two of its assignments have the same fence")
    for one in committed:
        position = one["position"]
        is_last = all(seat["position"] != position or seat["fence"] <= one["fence"] for seat in seats)
        check(is_last, f"{members[position]} got another seat after its commitment")
    seated = {seat["position"] for seat in seats}
    known = seated | {one["position"] for one in receipt["list"]["passed"]}
    for position in range(max(seated)):
        check(position in known, f"it does not say what became of {members[position]}")


def _check_seen(receipt: Receipt, answers: list[Answer]) -> None:
    """Checks that no node could know another answer of its batch when it committed to its own.

    Each signed that it saw the same commitments before it revealed, and revealed what it had committed to.
    """
    members = receipt["list"]["members"]
    fences = [one["fence"] for commitments in receipt["seen"] for one in commitments]
    is_ordered = all(one < other for one, other in zip(fences, fences[1:]))
    check(is_ordered, "its commitments are not in the order of their seats")
    unrevealed = {seat["fence"]: seat for seat in receipt["over"] if seat["reason"] == "never-revealed"}
    by_fence = {answer["fence"]: answer for answer in answers}
    for batch, commitments in enumerate(receipt["seen"]):
        seen = hash_of(commitments)
        for one in commitments:
            address, answer = one["address"], by_fence.get(one["fence"])
            if answer is None:
                seat = unrevealed.get(one["fence"])
                is_known = seat is not None and members[seat["position"]] == address
                check(is_known, f"it lacks the answer that {address} committed to")
                continue
            check(answer["address"] == address, f"the commitment of {answer['address']} is of another node")
            check(answer["batch"] == batch, f"{address} committed in another batch")
            check(answer["seen"] == seen, f"{address} saw other commitments before it revealed")
            opened = {name: answer[name] for name in ("jobId", "address", "fence", "evidence", "salt")}
            is_opened = hash_of(opened) == one["commitment"]
            check(is_opened, f"{address} revealed another answer than it committed to")
    is_whole = len(fences) == len(answers) + len(unrevealed)
    check(is_whole, "a node revealed, or was to reveal, without a commitment")


def _replay(receipt: Receipt, answers: list[Answer], quota: Quota) -> list[Answer]:
    """Decides again after each batch; returns the answers of the group."""
    comparator = receipt["list"]["terms"]["comparator"]

    def is_match(one: Answer, other: Answer) -> bool:
        return compare(one["evidence"], other["evidence"], comparator) == "match"

    check(len(answers) <= quota.max_answers, "it has more answers than its terms allow")
    last, missing = len(receipt["seen"]) - 1, quota.quorum
    for batch, commitments in enumerate(receipt["seen"]):
        size = len(commitments)
        check(size == missing, f"batch {batch} has {size} nodes, where {missing} were missing")
        known = [answer for answer in answers if answer["batch"] <= batch]
        # The next batch takes the seats of those that did not reveal before anything is decided.
        missing = size - sum(answer["batch"] == batch for answer in known)
        if missing > 0:
            continue
        decision = decide(known, is_match, quota)
        if decision.outcome == "accepted":
            check(batch == last, f"its answers agreed before batch {last}")
            check(decision.mask == receipt["tally"]["body"]["group"], "the tally has another group")
            return [answer for at, answer in enumerate(known) if decision.mask >> at & 1]
        if decision.outcome == "disputed":
            break
        missing = decision.count
    check(False, "its answers do not agree")


def _check_deliveries(
    receipt: Receipt, answers: list[Answer], group: list[Answer], check_signed: CheckSigned
) -> None:
    """Checks who delivered, the order of the turns, and the verdicts on each delivery."""
    order = [member["address"] for member in deliverers(group)]

    def outcome_of(delivery: dict[str, Any], verdicts: list[dict[str, Any]]) -> str:
        return _outcome_of(delivery, verdicts, answers, group, check_signed)

    for turn, failed in enumerate(receipt["failed_deliveries"]):
        address, delivery = failed["address"], failed.get("delivery")
        check(turn < len(order) and order[turn] == address, f"it was not the turn of {address} to deliver")
        check(turn + 1 < len(order), "no member is left to deliver")
        is_given_back = failed["reason"] in schema.abort_reasons
        check(is_given_back == ("abort" in failed), f"{address} failed to deliver for another reason")
        if is_given_back:
            _check_abort(failed, turn, group)
            check_signed(failed["abort"])
        is_checked = failed["reason"] in ("output-refused", "never-checked")
        check(is_checked == (delivery is not None), f"{address} failed to deliver for another reason")
        check(delivery is not None or not failed["verdicts"], f"{address} had delivered nothing")
        if delivery is not None:
            check(delivery["body"]["address"] == address, f"the delivery of {address} is of another node")
            outcome = outcome_of(delivery, failed["verdicts"])
            check(outcome == failed["reason"], f"the verdicts call the delivery of {address} {outcome}")
    deliverer = order[len(receipt["failed_deliveries"])]
    check(receipt["tally"]["body"]["deliverer"] == deliverer, "it was the turn of another node to deliver")
    check(receipt["delivery"]["body"]["address"] == deliverer, "another node delivered")
    outcome = outcome_of(receipt["delivery"], receipt["verdicts"])
    check(outcome == "settled", "the verdicts do not accept the delivery")


def _check_abort(failed: dict[str, Any], turn: int, group: list[Answer]) -> None:
    """Checks that the member itself signed that it gives its turn back."""
    address, body = failed["address"], failed["abort"]["body"]
    fence = next((member["fence"] for member in group if member["address"] == address), None)
    said = [body[name] for name in ("address", "fence", "turn", "reason")]
    check(said == [address, fence, turn, failed["reason"]], f"{address} gave back something else than its turn")


def _outcome_of(
    delivery: dict[str, Any],
    verdicts: list[dict[str, Any]],
    answers: list[Answer],
    group: list[Answer],
    check_signed: CheckSigned,
) -> str:
    """Decides on a delivery by its verdicts, and checks each of them."""
    address, own_answers = delivery["body"]["address"], {answer["address"]: answer for answer in answers}
    delivered = next((member for member in group if member["address"] == address), None)
    is_seat = delivered is not None and delivered["fence"] == delivery["body"]["fence"]
    check(is_seat, f"{address} delivered for another assignment")
    check(delivered["hash"] == delivery["body"]["answer"], f"{address} delivered another answer")
    check_signed(delivery)
    name = hash_of(delivery["body"])
    said: dict[str, str] = {}
    for verdict in verdicts:
        body = verdict["body"]
        checker, own = body["address"], own_answers.get(body["address"])
        check(own is not None, f"{checker} gave a verdict without an answer")
        check(checker != address, f"{address} gave a verdict on its own delivery")
        check(checker not in said, f"{checker} gave two verdicts")
        said[checker] = body["verdict"]
        check(own["fence"] == body["fence"], f"the verdict of {checker} is for another assignment")
        check(body["answer"] == own["hash"], f"{checker} compared another answer of its own")
        check(body["delivery"] == name, f"{checker} looked at another delivery")
        has_reason = (body["verdict"] == "no-match") == ("reason" in body)
        check(has_reason, f"{checker} gave no reason, or one too many")
        check(not _is_refuted(delivered, own, body), f"the evidence of {checker} refutes its verdict")
        check_signed(verdict)
    return settled([said.get(member["address"]) for member in group if member["address"] != address], True)


def _is_refuted(delivered: Answer, own: Answer, body: dict[str, Any]) -> bool:
    """True when the evidence of the two answers contradicts the verdict."""
    comparison = compare(delivered["evidence"], own["evidence"], delivered["evidence"]["comparator"])
    says = "match" if body["verdict"] == "match" else body["reason"]
    expected = {"match": "match", "different-answer": "no-match", "inconclusive": "inconclusive"}.get(says)
    return expected is not None and comparison != expected


def _check_tally(receipt: Receipt, icl_keys: Optional[Sequence[str]]) -> None:
    tally = receipt["tally"]
    check(icl_keys is None or tally["key"] in icl_keys, "the tally key is not one of the ICL")
    is_signed = verify_signature(tally["key"], tally["signature"], canonical_json(tally["body"]))
    check(is_signed, "the ICL did not sign the tally")
    check(tally["body"]["jobId"] == receipt["jobId"], "the tally is of another job")
    check(tally["body"]["record"] == record_hash(receipt), "the tally is of another record")
