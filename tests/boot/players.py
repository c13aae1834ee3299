# players.py COUNT END: eight players who take turns on the socket, each on a new connection, until the file END is
# there. COUNT always holds how many turns were answered. Tells what they were told, and exits 1 if one of them was not
# answered, was refused, or got another's reply. Must never wait without an end.
import collections
import http.client
import json
import os
import socket
import sys
import threading
import time

PLAYERS = 8
SOCKET = "/run/kidoban/kidoban.sock"
# Longer than a restart takes on a machine that has other things to do.
ANSWER_SECONDS_MAX = 60
PLAY_SECONDS_MAX = 600
PAUSE_SECONDS = 0.02

count_file, end_file = sys.argv[1:]
over = threading.Event()
told = collections.Counter()


def turn(state):
    connection = http.client.HTTPConnection("kidoban")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(ANSWER_SECONDS_MAX)
    connection.sock.connect(SOCKET)
    asked = json.dumps({"kind": "look", "state": state})
    connection.request("POST", "/api/turn", asked, {"Connection": "close"})
    reply = connection.getresponse()
    body = json.loads(reply.read())
    connection.close()
    if reply.status == 200 and body["state"] == state + 1:
        return "ok"
    return f"{reply.status} {body}"


def play(number):
    # Far from each other's numbers, and from those that the engine takes for something else.
    state = 1_000_000 * (number + 1)
    while not over.is_set():
        state += 1
        try:
            told[turn(state)] += 1
        except Exception as error:
            told[repr(error)] += 1
        time.sleep(PAUSE_SECONDS)


def write_count():
    with open(count_file + ".new", "w", encoding="utf-8") as file:
        file.write(str(told["ok"]))
    os.replace(count_file + ".new", count_file)


players = [threading.Thread(target=play, args=(number,)) for number in range(PLAYERS)]
for player in players:
    player.start()
end = time.monotonic() + PLAY_SECONDS_MAX
while not os.path.exists(end_file) and time.monotonic() < end:
    write_count()
    time.sleep(0.05)
over.set()
for player in players:
    player.join()
print(dict(told))
sys.exit(set(told) != {"ok"})
