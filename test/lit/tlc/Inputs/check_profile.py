# SPDX-License-Identifier: Apache-2.0
"""Checks the two files of `tlc profile` on the emulator, whose clock is the model's.

    check_profile.py <profile.json> <profile.svg>

Prints the names of the tracks, and the recorded waits with the ones of the model."""
import collections
import json
import sys
import xml.etree.ElementTree

events = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
measured = {pid for pid, name in processes.items() if ", measured on " in name}
assert measured and len(measured) * 2 == len(processes), processes
names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}

# Spans of a track follow each other.
ends = {}
waits = collections.defaultdict(lambda: [0, 0])
for span in (event for event in events if event["ph"] == "X"):
    track, begin, length = (span["pid"], span["tid"]), span["args"]["begin"], span["args"]["cycles"]
    assert length > 0 and begin >= ends.get(track, 0), span
    ends[track] = begin + length
    if span["cat"] == "wait":
        assert ":" in span["args"]["location"], span
        side = 0 if span["pid"] in measured else 1
        waits[names[track], span["name"].rsplit("[", 1)[0]][side] += length

xml.etree.ElementTree.parse(sys.argv[2])
for name in sorted({name for (pid, _), name in names.items() if pid in measured}):
    print(name)
for (track, name), (recorded, modelled) in sorted(waits.items()):
    print(f"{track} {name}: {recorded} recorded, {modelled} modelled")
    # A record costs some cycles itself, so short waits differ.
    if "a.b." in name and modelled > 500:
        assert 0.5 * modelled < recorded < 1.5 * modelled, (track, name, recorded, modelled)
