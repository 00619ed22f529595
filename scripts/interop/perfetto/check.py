"""Reads a trace by Perfetto's own schema and holds it against the load that it is of: TRACE LOAD.json.

Every field must be known, every slice must end within the one around it, and the load's slice last as long as the load.
"""

import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

trace_path, load_path = sys.argv[1:]
load = json.loads(open(load_path).readline())
trace = schema.Trace()
trace.ParseFromString(open(trace_path, "rb").read())
# What the schema does not know would be dropped here.
assert trace.SerializeToString() and len(trace.SerializeToString()) == len(open(trace_path, "rb").read())

tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")}
for track in tracks.values():
    assert not track.parent_uuid or track.parent_uuid in tracks, track
Event = schema.TrackEvent
open_slices, slices, counters, instants = {}, [], {}, []
last = 0
for packet in trace.packet:
    if not packet.HasField("track_event"):
        continue
    event, at = packet.track_event, packet.timestamp
    assert at >= last, "events are in order of time"
    last = at
    track = tracks[event.track_uuid]
    if event.type == Event.TYPE_SLICE_BEGIN:
        open_slices.setdefault(track.uuid, []).append((event.name, at))
    elif event.type == Event.TYPE_SLICE_END:
        name, begin = open_slices[track.uuid].pop()
        slices.append((tracks[track.uuid].name, name, begin, at))
    elif event.type == Event.TYPE_INSTANT:
        instants.append((track.name, event.name))
    else:
        assert event.type == Event.TYPE_COUNTER and track.HasField("counter"), event
        counters.setdefault((track.uuid, track.name), []).append(event.double_counter_value)
assert not any(open_slices.values()), "all slices end"

begin, end = next((begin, end) for track, name, begin, end in slices if (track, name) == ("page", "load"))
assert abs((end - begin) / 1e6 - load["plt_ms"]) < 1e-3, (begin, end, load["plt_ms"])
path = sorted((begin, end) for track, _, begin, end in slices if track == "critical path")
assert path[0][0] == begin and path[-1][1] == end, "the critical path is the whole load"
assert all(one[1] == next[0] for one, next in zip(path, path[1:])), "without gaps"
requests = sum(1 for track, name, *_ in slices if name == "receive")
assert requests >= 30, requests
ways = {name: values for (_, name), values in counters.items() if name.endswith("on the way")}
assert set(ways) == {"down, on the way", "up, on the way"} and all(min(values) == 0 for values in ways.values())
assert any(name == "cwnd" for _, name in counters)
lost = sum(1 for _, name in instants if name == "lost")
radio = sum(1 for track, *_ in slices if track == "radio")
print(f"ok: {len(tracks)} tracks, {len(slices)} slices, {sum(map(len, counters.values()))} values, {lost} packets lost, {radio} states of a radio")
