"""Ethereum's Keccak-256, and the ABI encoding of what this protocol hashes."""

from typing import Iterable, Sequence, Union

_mask = (1 << 64) - 1
_rate = 136


def _round_constants() -> list[int]:
    constants, register = [], 1
    for _ in range(24):
        constant = 0
        for bit in range(7):
            if register & 1:
                constant |= 1 << ((1 << bit) - 1)
            register = (register << 1) ^ (0x171 if register & 0x80 else 0)
        constants.append(constant)
    return constants


_constants = _round_constants()


def _turn(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _mask if by else value


def _permute(lanes: list[int]) -> list[int]:
    for constant in _constants:
        columns = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
        mixed = [columns[x - 1] ^ _turn(columns[(x + 1) % 5], 1) for x in range(5)]
        lanes = [lane ^ mixed[at % 5] for at, lane in enumerate(lanes)]
        x, y, current = 1, 0, lanes[1]
        for turn in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            current, lanes[x + 5 * y] = lanes[x + 5 * y], _turn(current, (turn + 1) * (turn + 2) // 2 % 64)
        lanes = [
            lanes[at] ^ (~lanes[at - at % 5 + (at + 1) % 5] & lanes[at - at % 5 + (at + 2) % 5])
            for at in range(25)
        ]
        lanes[0] ^= constant
    return lanes


def keccak256(data: bytes) -> bytes:
    padded = bytearray(data) + b"\x01" + bytes(-(len(data) + 1) % _rate)
    padded[-1] |= 0x80
    lanes = [0] * 25
    for start in range(0, len(padded), _rate):
        for at in range(_rate // 8):
            lanes[at] ^= int.from_bytes(padded[start + 8 * at : start + 8 * at + 8], "little")
        lanes = _permute(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


Value = Union[int, str, bytes, Sequence[str]]


def abi_encode(values: Iterable[Value]) -> bytes:
    """Encodes a list of arguments by ABI.

    Integers are numbers, addresses and words are `0x` and hex, texts are bytes, arrays of addresses are lists.
    """
    heads, tails = [], []
    arguments = list(values)
    for value in arguments:
        if isinstance(value, (bytes, list, tuple)):
            heads.append((32 * len(arguments) + sum(map(len, tails))).to_bytes(32, "big"))
            if isinstance(value, bytes):
                content = value + bytes(-len(value) % 32)
            else:
                content = b"".join(word(item) for item in value)
            tails.append(len(value).to_bytes(32, "big") + content)
        else:
            heads.append(word(value))
    return b"".join(heads + tails)


def word(value: Union[int, str]) -> bytes:
    return (int(value, 16) if isinstance(value, str) else value).to_bytes(32, "big")
