# The engine of the checks: tells its version and what it sees of the machine that it runs on. What it does depends on
# the number in "state", and the next one is in the reply. Must never grow without end: where no limit stops it, the
# machine's memory is not what it takes.
import json
import socket
import sys
import time

VERSION = 1
STATE_GROW = 13
STATE_REACH = 14
STATE_KEEP = 15
STATE_SLOW = 16
# Twice MemoryMax=.
CHUNKS_MAX = 64
CHUNK_BYTES = 16 << 20
CADDY_ADMIN = ("127.0.0.1", 2019)
KEPT = "/var/lib/game/turns"
# So that there is always a turn on its way when the gateway is told to end.
TURN_SECONDS = 0.01
# Longer than the checks let a stop take unasked.
SLOW_TURN_SECONDS = 6


def reaches(address):
    try:
        socket.create_connection(address, timeout=5).close()
    except OSError:
        return False
    return True


def keep_one_more():
    with open(KEPT, "a+", encoding="utf-8") as file:
        file.write("turn\n")
        file.seek(0)
        return len(file.readlines())


for line in sys.stdin.buffer:
    state = json.loads(line).get("state", 0)
    time.sleep(TURN_SECONDS)
    reply = {"ok": True, "state": state + 1, "version": VERSION}
    if state == STATE_GROW:
        held = [b"x" * CHUNK_BYTES for _ in range(CHUNKS_MAX)]
        reply["grown"] = len(held)
    elif state == STATE_REACH:
        reply["caddy"] = reaches(CADDY_ADMIN)
    elif state == STATE_KEEP:
        reply["kept"] = keep_one_more()
    elif state == STATE_SLOW:
        time.sleep(SLOW_TURN_SECONDS)
    print(json.dumps(reply), flush=True)
