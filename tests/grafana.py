# Reads a dashboard with Grafana's own library and writes it again: whatever gets lost on the way, Grafana's model of a
# dashboard does not know. Tells each such place; exit 0 where there is none. Must never change the file.
import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

# What the model leaves to the source of data: here, Prometheus' own setting of an annotation.
LEFT_OPEN = {"$.annotations.list[0].titleFormat"}


def lost(written, known, place):
    if isinstance(written, dict) and isinstance(known, dict):
        for name, value in written.items():
            if name in known:
                yield from lost(value, known[name], f"{place}.{name}")
            else:
                yield f"{place}.{name}"
    elif isinstance(written, list) and isinstance(known, list) and len(written) == len(known):
        for number, (value, other) in enumerate(zip(written, known)):
            yield from lost(value, other, f"{place}[{number}]")
    elif written != known:
        yield f"{place}: {written!r} became {known!r}"


with open(sys.argv[1], encoding="utf-8") as file:
    dashboard = json.load(file)
known = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
places = [place for place in lost(dashboard, known, "$") if place not in LEFT_OPEN]
print("\n".join(places))
sys.exit(bool(places))
