#!/usr/bin/env bash
# LiteLLM 1.106.12 (PyPI) cannot send a request with `tools` where only its declared dependencies are installed: completion() imports
# litellm.responses.mcp, whose modules import the package `mcp`, which the wheel declares for its extras alone. Calls without tools work.
# 1.110.2 imports it only for tools of the type `mcp`. pip picks 1.106.12 where langchain-openai and instructor keep openai below 3.
#
# Seen on 28 November 2026, Linux x64, Python 3.11: "plain: Oslo." and "tools: ModuleNotFoundError: No module named 'mcp'" with 1.106.12,
# "tools: Oslo." with 1.110.2. Ends with 1 when this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/ask.py" <<'PY'
import http.server
import json
import threading

answer = json.dumps({
    "id": "a", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Oslo."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}).encode()


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
import litellm

tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
for name, more in [("plain", {}), ("tools", {"tools": tools})]:
    try:
        said = litellm.completion(
            model="openai/m", api_base=f"http://127.0.0.1:{server.server_port}/v1", api_key="any",
            messages=[{"role": "user", "content": "Where?"}], **more,
        ).choices[0].message.content
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    print(f"{name}: {said}")
PY

ask() {
  local venv="$folder/$1"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet "$@"
  NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 LITELLM_LOCAL_MODEL_COST_MAP=True \
    "$venv/bin/python" "$folder/ask.py" 2>/dev/null
}

old=$(ask litellm==1.106.12 openai==2.54.0)
new=$(ask litellm==1.110.2 openai==3.57.0)
printf '1.106.12\n%s\n1.110.2\n%s\n' "$old" "$new"
expected_old=$'plain: Oslo.\ntools: ModuleNotFoundError: No module named \'mcp\''
[[ $old == "$expected_old" && $new == $'plain: Oslo.\ntools: Oslo.' ]] || { echo 'This has changed.'; exit 1; }
