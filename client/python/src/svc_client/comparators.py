"""Compares two pieces of evidence without a key (docs/comparators.md), and makes the evidence of `exact`."""

import hmac
import re
import unicodedata
from collections import Counter
from typing import Any, NamedTuple, Optional

from .encoding import from_base64url, to_base64url

Evidence = dict[str, Any]

_channels = {"trigrams": 512, "words": 384, "numbers": 128, "names": 128, "negators": 64, "links": 64}
_most_of_one_value = {512: 96, 384: 80, 128: 42, 64: 28}
_start_of_channels = 36
_sketch_bytes = 676
_least_length_ratio = 650
# By length class: pairs of the least share of trigrams, and the least sum of trigrams and words.
_worded_alike = {1: [(400, 0), (225, 740)], 2: [(275, 900)], 3: [(275, 900)]}
_near_copy = {1: 550, 2: 800, 3: 920}


def malformation(evidence: Evidence, comparator: str) -> Optional[str]:
    """Says what is wrong with the evidence, or None."""
    if evidence["comparator"] != comparator:
        return f"it was made by {evidence['comparator']}, not {comparator}"
    if evidence["tokens"] > 0 and evidence["units"] == 0:
        return "it has tokens and no units"
    sketch = evidence.get("sketch")
    if comparator == "exact":
        return None if sketch is None else "exact evidence has no sketch"
    if comparator == "structured/1":
        text = _text_in(evidence)
        if text is None:
            return None
        kind, likeness = text
        return malformation(likeness, "similar/2") if kind in ("stop", "cut_") else "its sketch is of no known kind"
    if sketch is None:
        return "there is no sketch in base64url"
    return _sketch_malformation(from_base64url(sketch), evidence["tokens"])


def _text_in(evidence: Evidence) -> Optional[tuple[str, Evidence]]:
    """The kind of a text under `structured/1`, and its evidence as `similar/2` makes it. None for calls and JSON."""
    sketch = evidence.get("sketch")
    if sketch is None:
        return None
    return sketch[:4], {**evidence, "comparator": "similar/2", "sketch": sketch[4:]}


def _sketch_malformation(sketch: bytes, tokens: int) -> Optional[str]:
    if len(sketch) != _sketch_bytes:
        return f"the sketch has {len(sketch)} bytes, not {_sketch_bytes}"
    if sketch[:2] != b"\x01\x01":
        return f"the sketch has version {sketch[0]}.{sketch[1]}, not 1.1"
    if sketch[2] & ~0x0F or sketch[3]:
        return "the sketch has unknown flags"
    if sketch[2] & 3 != sum(tokens > most for most in (12, 40, 160)):
        return f"the sketch is of another length class than {tokens} tokens"
    return "the sketch has hardly any entropy" if _is_monotonous(sketch) else None


def _is_monotonous(sketch: bytes) -> bool:
    if any(len(set(tag)) == 1 for tag in (sketch[4:20], sketch[20:28], sketch[28:36])):
        return True
    at = _start_of_channels
    for slots in _channels.values():
        counts = Counter(nibble for byte in sketch[at : at + slots // 2] for nibble in (byte & 15, byte >> 4))
        if max(counts.values()) > _most_of_one_value[slots]:
            return True
        at += slots // 2
    part = sketch[_start_of_channels:]
    return any(sum(a == b for a, b in zip(part, part[distance:])) > 40 for distance in range(1, 65))


def compare(a: Evidence, b: Evidence, comparator: str) -> str:
    """Returns `match`, `no-match` or `inconclusive`."""
    if malformation(a, comparator) or malformation(b, comparator):
        return "no-match"
    if comparator == "structured/1":
        one, other = _text_in(a), _text_in(b)
        if (one and one[0]) != (other and other[0]):
            return "no-match"
        if one and other:
            return compare(one[1], other[1], "similar/2")
    if comparator in ("exact", "structured/1") or a["digest"] == b["digest"]:
        return "match" if all(a[field] == b[field] for field in ("digest", "tokens", "units")) else "no-match"
    ratio = min(a["tokens"], b["tokens"]) * 1_000 // max(a["tokens"], b["tokens"], 1)
    return _verdict(from_base64url(a["sketch"]), from_base64url(b["sketch"]), ratio)


class _Shared(NamedTuple):
    trigrams: int
    words: int
    numbers: int
    names: int
    negators: int
    links: int


def _shared(a: bytes, b: bytes) -> _Shared:
    shares, at = [], _start_of_channels
    for slots in _channels.values():
        different = [x ^ y for x, y in zip(a[at : at + slots // 2], b[at : at + slots // 2])]
        agreeing = sum((byte & 0x0F == 0) + (byte & 0xF0 == 0) for byte in different)
        shares.append(max(0, (16 * agreeing - slots) * 1_000 // (15 * slots)))
        at += slots // 2
    return _Shared(*shares)


def _verdict(a: bytes, b: bytes, ratio: int) -> str:
    if a[4:20] == b[4:20]:
        return "match"
    shared = _shared(a, b)
    both_answer = bool(a[2] & b[2] & 0x0C)
    same_answer = a[20:28] == b[20:28] or a[28:36] == b[28:36]
    shorter, longer = sorted((a[2] & 3, b[2] & 3))
    is_much_shorter = ratio < _least_length_ratio
    if shorter == 0:
        if longer and is_much_shorter:
            return "inconclusive"
        return "match" if both_answer and same_answer and shared.links == 1_000 else "inconclusive"
    if shared.trigrams < 40 and shared.words < 60 and shared.words * 1_000 < 300 * ratio:
        return "no-match"
    together = shared.trigrams + shared.words
    is_alike = any(shared.trigrams >= least and together >= both for least, both in _worded_alike[shorter])
    differs = (both_answer and not same_answer) or not is_alike or is_much_shorter or shared.links < 1_000
    same_facts = shared.numbers == shared.names == shared.negators == 1_000
    is_wrong_copy = shared.trigrams >= _near_copy[shorter] and not same_facts
    return "inconclusive" if differs or is_wrong_copy else "match"


# White space by JavaScript's trim, which differs from Python's.
_white = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def normalise(text: str) -> str:
    """Returns the text that a digest covers."""
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    well_formed = re.sub("[\ud800-\udfff]", "\ufffd", paired)
    safe, run = [], 0
    for character in well_formed:
        is_mark = unicodedata.category(character)[0] == "M" or character in "\uff9e\uff9f"
        if is_mark and run == 30:
            safe.append("\u034f")
            run = 0
        run = run + 1 if is_mark else 0
        safe.append(character)
    lines = re.sub("\r\n?", "\n", unicodedata.normalize("NFC", "".join(safe))).split("\n")
    return _trim_end("\n".join(map(_trim_end, lines)))


def _trim_end(text: str) -> str:
    return re.sub(f"[{_white}]+\\Z", "", text)


def exact_evidence(text: str, key: bytes) -> Evidence:
    """Makes the evidence of an answer under `exact`."""
    normal = normalise(text)
    digest = to_base64url(hmac.digest(key, normal.encode(), "sha256"))
    words = [word for word in re.split(f"[{_white}]+", normal) if word]
    return {"comparator": "exact", "digest": digest, "tokens": len(words), "units": -(-len(normal.encode()) // 4)}
