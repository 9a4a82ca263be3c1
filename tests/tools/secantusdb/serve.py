"""Serves SecantusDB for tests: `serve.py FOLDER PORT` keeps its data in FOLDER, listens at PORT (0: one of its choice) of this
machine, prints the port, and ends when its input does."""

import os
import sys
import threading
import time

import bson
from secantus import update
from secantus.server import SecantusDBServer

apply_op = update._apply_op
lock = threading.Lock()
last = bson.Timestamp(0, 0)


def next_stamp():
    """As MongoDB's: two of one second differ. SecantusDB gives both the increment 0."""
    global last
    with lock:
        now = bson.Timestamp(int(time.time()), 1)
        last = now if now > last else bson.Timestamp(last.time, last.inc + 1)
        return last


def apply_counting(doc, op, payload, *others):
    if op == "$currentDate" and all(kind == {"$type": "timestamp"} for kind in payload.values()):
        op, payload = "$set", {path: next_stamp() for path in payload}
    apply_op(doc, op, payload, *others)


update._apply_op = apply_counting
folder, port = sys.argv[1:]
server = SecantusDBServer(port=int(port), storage_path=folder)
server.start()
print(server.port, flush=True)
sys.stdin.read()
os._exit(0)
