"""Determines which nodes may answer: the names of jobs and lists, the pool, and the draw from it."""

import re
from typing import Any, Callable, NamedTuple, Optional, Sequence

from .encoding import cid_of, hash_of, unhex
from .errors import checker
from .keccak import abi_encode, keccak256
from .schema import cid_pattern, prompt_parts

_model = re.compile("[a-z0-9][a-z0-9-]{0,31}:[A-Za-z0-9._:/@+-]{1,96}")
_number = "(?:0|[1-9][0-9]{0,6})"
_comparators = "exact(?:,similar/2)?(?:,structured/1)?|similar/2(?:,structured/1)?|structured/1"
_amount = "(?:0|[1-9][0-9]{0,28})"
_page = re.compile(f"({cid_pattern}) ({_number}(?:,{_number})*)")
_line = re.compile(
    f"(0x[0-9a-f]{{40}}) ({_number}(?:,{_number})*) ([^ ]+) ({_comparators})(?: ({_amount}))?"
)
_told = re.compile(f"(?:([a-z_+]*):({_number}?):({_number}?))?(?:@({_amount})/({_amount}))?")
_most_nodes, _most_pages, _most_bytes = 100_000, 1_024, 64 * 1_048_576
_check = checker(
    "pool-snapshot-invalid",
    "The pool snapshot does not hold",
    "Fetch it again. If that changes nothing, its source has changed it.",
)


class PoolNode(NamedTuple):
    """`models` maps each model to what it takes beyond a short conversation (parts, most bytes, most tokens) and asks for (input, output)."""

    address: str
    weight: int
    tiers: Sequence[int]
    models: dict[str, tuple[Sequence[str], Optional[int], Optional[int], int, int]]
    comparators: Sequence[str]
    delivery: int


def job_id_of(chain_id: int, client: str, prompt_cid: str, high: int, low: int, nonce: int) -> str:
    return "0x" + keccak256(abi_encode([chain_id, client, prompt_cid.encode(), high, low, nonce])).hex()


def list_commitment(job_id: str, activator: str, until: int, members: Sequence[str]) -> str:
    """Returns the commitment that PromptKeyStore keeps of a list."""
    return "0x" + keccak256(abi_encode([job_id, activator, until, list(members)])).hex()


def list_seed(
    chain_id: int, store: str, client: str, high: int, low: int, terms_hash: str, block_hash: str
) -> bytes:
    return keccak256(
        abi_encode([b"svc-list-v2", chain_id, store, client, high, low, terms_hash, block_hash])
    )


def candidates_of(pool: Sequence[PoolNode], terms: dict[str, Any], client: str) -> list[PoolNode]:
    """Returns the nodes of a pool that can serve the terms."""
    return [
        node
        for node in pool
        if node.address != client
        and terms["model_id"] in node.models
        and _takes(node, terms["model_id"], terms.get("needs", {}), terms.get("offer"))
        and terms["comparator"] in node.comparators
        and max(node.tiers) >= terms["min_tier"]
    ]


def _takes(node: PoolNode, model: str, needs: dict[str, Any], offer: Optional[dict[str, str]]) -> bool:
    parts, most_bytes, most_tokens, *asks = node.models[model]
    most = [int(offer[name]) for name in ("input", "output", "delivery")] if offer else None
    return (
        (most is None or all(ask <= limit for ask, limit in zip([*asks, node.delivery], most)))
        and all(part in parts for part in needs.get("parts", ()))
        and (most_bytes is None or needs.get("prompt_bytes", 0) <= most_bytes)
        and (most_tokens is None or needs.get("output_tokens", 0) <= most_tokens)
    )


def draw_list(seed: bytes, candidates: Sequence[PoolNode], length: int) -> list[str]:
    """Draws the list: at each turn the candidate at which the running sum of weights exceeds the turn's point."""
    left, chosen = list(candidates), []
    while left and len(chosen) < length:
        total = sum(node.weight for node in left)
        point = int.from_bytes(keccak256(seed + len(chosen).to_bytes(4, "big")), "big") % total
        for at, node in enumerate(left):
            point -= node.weight
            if point < 0:
                chosen.append(left.pop(at).address)
                break
    return chosen


def drawn_list(receipt: dict[str, Any], store: str, pool: Sequence[PoolNode]) -> list[str]:
    """Draws the list of a receipt again from its pool."""
    chosen, client = receipt["list"], receipt["client"]
    high, low = int(receipt["kpHighHandle"]), int(receipt["kpLowHandle"])
    names = hash_of(chosen["terms"]), chosen["block"]["hash"]
    seed = list_seed(receipt["chain_id"], store, client, high, low, *names)
    return draw_list(seed, candidates_of(pool, chosen["terms"], client), chosen["terms"]["list_length"])


def first_positions(length: int, passed: Sequence[dict[str, Any]], quorum: int) -> list[int]:
    """Returns the positions that are seated first. Busy nodes are seated only when too few others are left."""
    reasons = {one["position"]: one["reason"] for one in passed}
    free = [position for position in range(length) if position not in reasons]
    busy = [position for position in range(length) if reasons.get(position) == "busy"]
    return sorted(free[:quorum] + busy[: max(0, quorum - len(free))])


def read_pool(root: str, load: Callable[[str], bytes]) -> list[PoolNode]:
    """Reads a pool's nodes from its blobs, each checked against its CID. Raises SvcError `pool-snapshot-invalid`."""

    left = _most_bytes

    def read(cid: str, header: str) -> list[str]:
        nonlocal left
        blob = load(cid)
        left -= len(blob)
        _check(left >= 0, "it is too large")
        _check(cid_of(blob) == cid, f"{cid} has other content than its name says")
        first, *lines = blob.decode(errors="replace").split("\n")
        _check(first == header, f"{cid} is no part of a pool")
        return lines

    pages = [_page_in(line) for line in read(root, "svc-pool-v3")]
    _check(len(pages) <= _most_pages, "it has too many parts")
    _check(sum(len(weights) for _, weights in pages) <= _most_nodes, "it has too many nodes")
    nodes: list[PoolNode] = []
    for cid, weights in pages:
        lines = read(cid, "svc-pool-page-v3")
        _check(len(lines) == len(weights), f"{cid} has {len(lines)} nodes and {len(weights)} weights")
        nodes.extend(map(_node_of, lines, weights))
    ordered = all(one.address < next.address for one, next in zip(nodes, nodes[1:]))
    _check(ordered, "its nodes are out of order, or there twice")
    return nodes


def _page_in(line: str) -> tuple[str, list[int]]:
    found = _page.fullmatch(line)
    weights = [int(weight) for weight in found[2].split(",")] if found else [0]
    _check(min(weights) >= 1 and max(weights) <= 200, f"{line[:80]!r} is no part")
    return found[1], weights


def _node_of(line: str, weight: int) -> PoolNode:
    wrong = f"{line[:80]!r} is no node"
    found = _line.fullmatch(line)
    _check(found is not None, wrong)
    address, tiers, told, comparators, delivery = found.groups()
    models = {}
    names = told.split(",")
    for name in names:
        model, mark, more = name.partition("=")
        _check(_model.fullmatch(model) is not None and bool(more) == bool(mark), wrong)
        models[model] = _told_of(more, wrong)
    tier_list = [int(tier) for tier in tiers.split(",")]
    _check(max(tier_list) <= 255 and len(names) == len(models) <= 64, wrong)
    _check(list(models) == sorted(models) and tier_list == sorted(set(tier_list)), wrong)
    return PoolNode(address, weight, tier_list, models, comparators.split(","), _amount_of(delivery, wrong))


def _told_of(text: str, wrong: str) -> tuple[Sequence[str], Optional[int], Optional[int], int, int]:
    found = _told.fullmatch(text)
    _check(found is not None and text.partition("@")[0] != "::", wrong)
    parts = found[1].split("+") if found[1] else []
    most_bytes, most_tokens = (int(found[at]) if found[at] else None for at in (2, 3))
    _check(parts == sorted(set(parts) & set(prompt_parts)), wrong)
    _check(most_bytes is None or 8_192 <= most_bytes <= 1_048_576, wrong)
    _check(most_tokens is None or 1_024 <= most_tokens <= 1_000_000, wrong)
    return parts, most_bytes, most_tokens, _amount_of(found[4], wrong), _amount_of(found[5], wrong)


def _amount_of(text: Optional[str], wrong: str) -> int:
    _check(int(text or 0) < 2**96, wrong)
    return int(text or 0)
