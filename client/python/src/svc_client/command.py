"""The command `svc-receipt`: checks a receipt file and reports what was checked and what was not."""

import argparse
import json
import os
import re
import sys
from typing import Any, Callable, Optional, Sequence

from .acks import check_ack, read_acks
from .encoding import read_file, read_json
from .errors import SvcError
from .receipt import receipt_hash, verify_receipt
from .rpc import Rpc, host_of

_most_bytes = 1_048_576
_done, _invalid, _usage, _try_again = 0, 1, 2, 75
_interrupted, _unread = 130, 141
# Such errors say nothing of the receipt.
_of_servers = "usage", "http-refused", "answer-too-large", "answer-encoded", "chain-not-local", "chain-id-differs"
_sentences = {
    "valid": "The receipt is valid if {}: it is consistent, and the chain holds its hash and its list.",
    "consistent": "The receipt is consistent. Anyone can make one that is: compare it with the chain (--rpc).",
    "invalid": "The receipt is invalid.",
    "unknown": "The chain could not be asked: whether the receipt is valid is not known.",
}


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Returns 0 for a valid or consistent receipt, 1 for an invalid one, 2 for wrong usage, 75 to try again.

    Interrupted or without a reader of what it prints, it returns what a shell does for SIGINT and SIGPIPE.
    """
    # Escapes characters that the encoding of a pipe does not have.
    sys.stdout.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        code = _verify(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _interrupted
    except BrokenPipeError:
        # Python flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _unread
    except SvcError as error:
        print(f"error: {error}\n{error.hint}", file=sys.stderr)
        return _invalid


def _verify(options: argparse.Namespace) -> int:
    checks: list[dict[str, Any]] = []
    receipt = _checked(checks, "content", lambda: _read(options))
    if receipt is not None and options.acks is not None:
        acks = read_acks(options.acks)
        _checked(checks, "acks", lambda: _check_acks(receipt, acks, options))
    if receipt is not None and options.rpc:
        _check_on_chain(receipt, checks, options)
    return _report(receipt, checks, options)


def _check_on_chain(receipt: dict[str, Any], checks: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Checks hash and list through each RPC, whose host begins the detail, and then the draw."""
    from . import chain

    contracts = _checked(checks, "contracts", lambda: chain.contracts_of(receipt, options))
    if contracts is None:
        return
    place = None
    for url in options.rpc:
        host = host_of(url)
        place = _checked(checks, "rpc", lambda: chain.Place(Rpc(url, receipt["chain_id"]), **contracts), host)
        if place is not None:
            _checked(checks, "chain", lambda: chain.check_result(receipt, place), host)
            _checked(checks, "list", lambda: chain.check_list(receipt, place), host)
    if place is not None and options.gateway is not None:
        _checked(checks, "draw", lambda: chain.check_draw(receipt, place, options.gateway))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="svc-receipt", description="Checks receipts of inference jobs.")
    actions = parser.add_subparsers(dest="action", required=True)
    verify = actions.add_parser("verify", help="check a receipt by itself, and with --rpc against the chain")
    verify.add_argument("file", metavar="FILE")
    told = "the chain's JSON-RPC. May be repeated: all have to agree"
    verify.add_argument("--rpc", metavar="URL", type=_url, action="append", default=[], help=told)
    verify.add_argument("--result-registry", metavar="ADDRESS", type=_address, help="else the receipt's ICL is asked")
    verify.add_argument("--prompt-key-store", metavar="ADDRESS", type=_address, help="else the receipt's ICL is asked")
    verify.add_argument("--gateway", metavar="URL", type=_url, help="an IPFS gateway: draw the list again from its pool")
    verify.add_argument("--icl-key", metavar="KEY", type=_key, help="the key that has to have signed the tally: --icl-key=KEY if it begins with -")
    verify.add_argument("--with", dest="acks", metavar="FILE", help="acknowledgements of the ICL, as a node keeps them")
    verify.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _address(text: str) -> str:
    if not re.fullmatch("0x[0-9a-fA-F]{40}", text):
        raise argparse.ArgumentTypeError("write it as 0x and 40 hex digits")
    return text


def _url(text: str) -> str:
    try:
        host_of(text)
    except SvcError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _key(text: str) -> str:
    if not re.fullmatch("[A-Za-z0-9_-]{43}", text):
        raise argparse.ArgumentTypeError("write it as 43 characters of base64url")
    return text


def _read(options: argparse.Namespace) -> dict[str, Any]:
    receipt = read_json(read_file(options.file, _most_bytes, "the receipt"))
    verify_receipt(receipt, None if options.icl_key is None else [options.icl_key])
    return receipt


def _check_acks(receipt: dict[str, Any], acks: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Checks that the receipt has what the ICL acknowledged. Ignores acknowledgements for other jobs."""
    keys = [receipt["tally"]["key"], *([] if options.icl_key is None else [options.icl_key])]
    for ack in acks:
        if ack["body"]["jobId"] == receipt["jobId"]:
            check_ack(receipt, ack, keys)


def _checked(checks: list[dict[str, Any]], name: str, check: Callable[[], Any], host: Optional[str] = None) -> Any:
    try:
        found = check()
    except SvcError as error:
        if error.code in ("ack-invalid", "file-unreadable"):
            # Such an error does not concern the receipt.
            raise
        detail = str(error) if host is None else f"{host}: {error}"
        told = {"detail": detail, "remedy": error.hint, "code": error.code, "retryable": error.retryable}
        checks.append({"name": name, "status": "failed", **told})
        return None
    checks.append({"name": name, "status": "ok", **({} if host is None else {"detail": host})})
    return found


def _report(
    receipt: Optional[dict[str, Any]], checks: list[dict[str, Any]], options: argparse.Namespace
) -> int:
    failed = [check for check in checks if check["status"] == "failed"]
    if not failed:
        verdict, code = ("valid" if options.rpc else "consistent"), _done
    elif all(check["retryable"] or check["code"] in _of_servers for check in failed):
        verdict, code = "unknown", _try_again
    else:
        verdict, code = "invalid", _invalid
    name = None if receipt is None else receipt_hash(receipt)
    hosts = list(dict.fromkeys(map(host_of, options.rpc)))
    truth = _truth(hosts)
    open_points = _not_checked(options, truth)
    if options.json:
        told = {"verdict": verdict, "receipt_hash": name, "not_checked": open_points, "rpc_hosts": hosts, "checks": checks}
        print(json.dumps(told))
        return code
    for check in checks:
        detail = ": " + check["detail"] if "detail" in check else ""
        print(f"{check['status']:<7} {check['name']}{detail}")
        if "remedy" in check:
            print(f"        {check['remedy']}")
    if receipt is not None and not failed:
        terms, answers = receipt["list"]["terms"], len(receipt["answers"])
        agreed = bin(receipt["tally"]["body"]["group"]).count("1")
        print(f"Job {receipt['jobId']}: {terms['model_id']}, {agreed} of {answers} answers agreed")
        print(f"Receipt hash {name}")
        print(f"Not checked: {'; '.join(open_points)}")
    print(_sentences[verdict].format(truth))
    return code


def _truth(hosts: Sequence[str]) -> str:
    """Says of whom the verdict depends."""
    if len(hosts) < 2:
        return f"{''.join(hosts)} tells the truth"
    return f"{', '.join(hosts[:-1])} and {hosts[-1]} tell the truth"


def _not_checked(options: argparse.Namespace, truth: str) -> list[str]:
    named = options.result_registry is not None and options.prompt_key_store is not None
    points = {
        "that the chain holds its hash and its list (--rpc)": not options.rpc,
        f"that {truth} about the chain": bool(options.rpc),
        "that the contracts are not those of a made-up ICL (--result-registry, --prompt-key-store)": bool(options.rpc)
        and not named,
        "that its list was drawn from the pool of its terms (--rpc and --gateway)": not options.rpc
        or options.gateway is None,
        "that the tally is signed by the ICL (--icl-key)": options.icl_key is None,
        "that no node was called late which had answered in time (--with, of that node)": options.acks is None,
        "that its nodes have a stake, and that its pool left none out": True,
    }
    return [point for point, is_open in points.items() if is_open]


if __name__ == "__main__":
    sys.exit(main())
