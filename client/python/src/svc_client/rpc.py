"""Requests that leave this process: JSON over HTTP and a chain's JSON-RPC, with a deadline, a limit and retries."""

import base64
import http.client
import io
import ipaddress
import json
import re
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Optional, Sequence, TypeVar, Union

from .errors import SvcError
from .keccak import abi_encode, keccak256

_timeout_s = 20
_attempts = 3
# A model or its nodes may be away for a day: the caller decides whether to wait.
_handed_on = ("model-limited", "model-withdrawn", "not-enough-nodes", "not-enough-serving")
_most_bytes = 4_194_304
_most_wait_s = 60
_looks, _look_s = 200, 0.1

T = TypeVar("T")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the read token elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Proxy(urllib.request.ProxyHandler):
    """A proxy would see what is sent to this machine, and has another loopback."""

    def proxy_open(self, req: urllib.request.Request, proxy: str, type: str) -> Any:
        host = urllib.parse.urlsplit(req.full_url).hostname
        return None if is_loopback(host or "") else super().proxy_open(req, proxy, type)


class _Pieces(io.RawIOBase):
    """Reads an answer. A socket's timeout is for each piece of it, this one for headers and body together."""

    def __init__(self, raw: io.RawIOBase, connection: socket.socket):
        self._raw, self._connection = raw, connection
        self._until = time.monotonic() + _timeout_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("its answer does not end")
        self._connection.settimeout(left_s)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **named: Any):
        super().__init__(sock, *args, **named)
        self.fp = io.BufferedReader(_Pieces(self.fp.detach(), sock))


class _Plain(http.client.HTTPConnection):
    response_class = _Answer


class _Secure(http.client.HTTPSConnection):
    response_class = _Answer


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_Plain, req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_Secure, req)


_opener = urllib.request.build_opener(_NoRedirect, _Proxy, _Http, _Https)


def request(
    url: str,
    body: Optional[Any] = None,
    token: Optional[str] = None,
    most_bytes: int = _most_bytes,
    sign: Optional[Callable[[str, str, Optional[bytes]], dict[str, str]]] = None,
) -> bytes:
    """Sends a request and returns the body of a 2xx answer.

    Raises SvcError `http-refused` with the server's code, `model-limited`, `model-withdrawn`, `not-enough-nodes`,
    `not-enough-serving` or `unreachable`. Bytes are sent as they are, any other body as JSON. `sign` makes the headers
    of an attempt.
    """
    host = host_of(url)
    kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
    headers = {"content-type": kind} if body is not None else {}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    parts = urllib.parse.urlsplit(url)
    user, at, place = parts.netloc.rpartition("@")
    if at:
        url = parts._replace(netloc=place).geturl()
        headers.setdefault("authorization", "Basic " + base64.b64encode(urllib.parse.unquote_to_bytes(user)).decode())
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    asked_s = 0
    for attempt in range(_attempts):
        if attempt:
            time.sleep(max(0.5 * 2**attempt, min(asked_s, _most_wait_s)))
        asked_s = 0
        try:
            signed = {} if sign is None else sign("GET" if data is None else "POST", url, data)
            asked = urllib.request.Request(url, data=data, headers={**headers, **signed})
            with _opener.open(asked, timeout=_timeout_s) as answer:
                coding = answer.headers.get("content-encoding", "identity").strip()
                if coding.lower() != "identity":
                    raise SvcError("answer-encoded", f"{host} sent a content-encoding {coding[:100]}", "Ask another.")
                read = answer.read(most_bytes + 1)
            if len(read) > most_bytes:
                raise SvcError("answer-too-large", f"{host} sent more than {most_bytes} bytes", "Ask another.")
            return read
        except urllib.error.HTTPError as error:
            wait = error.headers.get("retry-after", "")
            asked_s = int(wait) if re.fullmatch("[0-9]{1,9}", wait) else 0
            with error:
                code, told = _told(host, error)
            if code in _handed_on:
                hint = "Ask again later, or choose another model."
                raise SvcError(code, told, hint, retryable=True, retry_after=asked_s or None) from None
            if error.code not in (429, 500, 502, 503, 504):
                raise SvcError("http-refused", told, "Correct the request.") from None
            why: Exception = error
        except (OSError, http.client.HTTPException) as error:
            why = error
    # The cause is left out, because a traceback would show its text as the server wrote it.
    raise SvcError("unreachable", f"{host} cannot be reached: {why}", "Try again later.", retryable=True) from None


def host_of(url: str) -> str:
    """Returns host and port of an http or https URL. Raises SvcError `usage` for anything else."""
    try:
        parts = urllib.parse.urlsplit(url)
        # Reading the port checks it.
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            usual = 80 if parts.scheme == "http" else 443
            return name if parts.port in (None, usual) else f"{name}:{parts.port}"
    except ValueError:
        pass
    raise SvcError("usage", "An address has to be like https://name.example", "Correct it.")


def _told(host: str, error: urllib.error.HTTPError) -> tuple[str, str]:
    try:
        problem = json.loads(error.read(65_536))
        code = str(problem["code"])[:100]
        return code, f"{host} refused: {code}: {str(problem['detail'])[:500]}"
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return "", f"{host} refused with {error.code}"


def get_json(url: str, token: Optional[str] = None) -> Any:
    try:
        return json.loads(request(url, token=token))
    except (ValueError, RecursionError) as error:
        raise wrong_answer("the server", str(error)) from error


def wrong_answer(who: str, why: str) -> SvcError:
    return SvcError("answer-wrong", f"The answer of {who} cannot be used: {why}", "Ask another.", retryable=True)


class Rpc:
    """A chain's JSON-RPC, checked to be on the expected chain."""

    def __init__(self, url: str, chain_id: int):
        self.url, host = url, host_of(url)
        if chain_id == 31_337 and not is_loopback(urllib.parse.urlsplit(url).hostname or ""):
            raise SvcError(
                "chain-not-local",
                f"the receipt is of the local chain {chain_id}, but the chain RPC is at {host}",
                "Use an RPC on this machine (127.0.0.1).",
            )
        actual = _number(self.call("eth_chainId"))
        if actual != chain_id:
            raise SvcError(
                "chain-id-differs",
                f"the chain RPC at {host} is for chain {actual}, not {chain_id}",
                "Name an RPC of the right chain.",
            )

    def call(self, method: str, *params: Any) -> Any:
        """Returns the result of a method. Raises SvcErrors."""
        host = host_of(self.url)
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            answer = json.loads(request(self.url, message))
            if "error" not in answer:
                return answer["result"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise wrong_answer(f"the chain RPC at {host}", str(error)) from error
        why = str(answer["error"])[:300]
        if "insufficient funds" in why.lower():
            told = f"The wallet cannot pay for the gas: {why}"
            raise SvcError("chain-wallet-empty", told, "Send gas money to the wallet.", retryable=True)
        raise wrong_answer(f"the chain RPC at {host}", why)

    def time(self) -> int:
        """Returns the time of the latest block, Unix seconds."""
        block = self.call("eth_getBlockByNumber", "latest", False)
        return _number(block.get("timestamp") if isinstance(block, dict) else None)

    def read(self, contract: str, function: str, *arguments: Union[int, str]) -> list[int]:
        """Returns the words that a view function returns."""
        data = keccak256(function.encode())[:4] + abi_encode(arguments)
        found = self.call("eth_call", {"to": contract, "data": "0x" + data.hex()}, "latest")
        try:
            raw = bytes.fromhex(found.removeprefix("0x"))
        except (ValueError, AttributeError) as error:
            raise wrong_answer("the chain RPC", str(error)) from error
        if not raw or len(raw) % 32:
            raise wrong_answer("the chain RPC", f"{contract} has no {function}")
        return [int.from_bytes(raw[at : at + 32], "big") for at in range(0, len(raw), 32)]

    def events(
        self, contract: str, event: str, topics: Sequence[Optional[int]], first: int, last: Optional[int] = None
    ) -> list[dict[str, Any]]:
        """Returns a contract's events with these indexed values."""
        wanted = ["0x" + keccak256(event.encode()).hex()]
        wanted += [None if topic is None else f"0x{topic:064x}" for topic in topics]
        until = "latest" if last is None else hex(last)
        asked = {"address": contract, "topics": wanted, "fromBlock": hex(first), "toBlock": until}
        return self.call("eth_getLogs", asked)


def _number(text: Any) -> int:
    try:
        return int(text, 16)
    except (TypeError, ValueError) as error:
        raise wrong_answer("the chain RPC", str(error)) from error


def look_for(find: Callable[[], T]) -> T:
    """Asks for 20 s until something is found, because an RPC may be a few blocks late. Returns the last answer."""
    for _ in range(_looks - 1):
        found = find()
        if found:
            return found
        time.sleep(_look_s)
    return find()


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
