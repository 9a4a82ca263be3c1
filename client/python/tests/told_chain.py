"""A chain RPC that tells of a receipt what an honest one would tell of a receipt on chain. Tests change what it tells."""

from typing import Any

from svc_client.encoding import hash_of
from svc_client.keccak import keccak256
from svc_client.lists import list_commitment
from svc_client.receipt import receipt_hash

from .server import serve

key_stored = "KeyStored(address,uint256,uint256,bytes32)"
output_stored = "OutputKeyStored(uint256,uint256,bytes32,uint8,uint16)"
access_granted = "AccessGranted(uint256,uint256,address,address)"
stake = 10


class ToldChain:
    """`views` maps a function to words, or to a function of the call's data; `events` has data and topics of logs."""

    def __init__(self, test: Any, receipt: dict[str, Any]):
        chosen, body, delivery = receipt["list"], receipt["tally"]["body"], receipt["delivery"]["body"]
        answers = [answer["body"] for answer in receipt["answers"]]
        names = receipt["jobId"], chosen["activator"], chosen["until"], chosen["members"]
        high, out_high, out_low = (
            int(of[name])
            for of, name in ((receipt, "kpHighHandle"), (delivery, "outHighHandle"), (delivery, "outLowHandle"))
        )
        self.used = sum(1 << one["position"] for one in [*answers, *receipt["over"]])
        self.views: dict[str, Any] = {
            "resultOf(bytes32)": [int(receipt_hash(receipt), 16)],
            "listOf(uint256,uint256)": [int(list_commitment(*names), 16), self.used, 0],
            "minStake()": [stake],
            "nodeOf(address)": [32, stake, 224, 1, 1, 0, 0, 0, 1, 0],
        }
        readers = [receipt["client"], *(one["address"] for one in answers)]
        seat = chosen["members"].index(delivery["address"])
        self.events: dict[str, list[tuple[list[int], list[int]]]] = {
            key_stored: [
                ([int(hash_of(chosen["terms"]), 16)], [int(receipt["client"], 16), high, int(receipt["kpLowHandle"])])
            ],
            output_stored: [([seat, 0], [out_high, high, int(receipt["jobId"], 16)])],
            access_granted: [([out_low], [out_high, int(reader, 16), 0]) for reader in readers],
        }
        self.block, self.time = chosen["block"]["hash"], body["settled_at"]
        self.url = serve(test, lambda *_: None, lambda _, asked: {"result": self.answer(asked["method"], asked["params"])})

    def answer(self, method: str, params: list[Any]) -> Any:
        if method == "eth_call":
            data = bytes.fromhex(params[0]["data"][2:])
            found = next(of for name, of in self.views.items() if keccak256(name.encode())[:4] == data[:4])
            return "0x" + _hex(found(data[4:]) if callable(found) else found)
        if method == "eth_getLogs":
            wanted = params[0]["topics"][0]
            name = next(name for name in self.events if "0x" + keccak256(name.encode()).hex() == wanted)
            return [
                {"data": "0x" + _hex(data), "topics": [wanted, *("0x" + _hex([one]) for one in topics)], "blockHash": self.block}
                for data, topics in self.events[name]
            ]
        return {"eth_chainId": "0x7a69", "eth_getBlockByNumber": {"hash": self.block, "timestamp": hex(self.time)}}[method]


def _hex(words: list[int]) -> str:
    return "".join(f"{one:064x}" for one in words)
