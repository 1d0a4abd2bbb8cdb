# SPDX-License-Identifier: Apache-2.0
"""Checks the two files of `tlc trace`: what every timeline must keep.

    check_trace.py <timeline.json> <timeline.svg>
"""
import json
import sys
import xml.etree.ElementTree

trace = json.load(open(sys.argv[1], encoding="utf-8"))
events = trace["traceEvents"]
cycles = trace["otherData"]["cycles"]
spans = [event for event in events if event["ph"] == "X"]
assert spans and cycles > 0

# Spans of a thread follow each other.
threads = {}
for span in spans:
    begin, length = span["args"]["begin"], span["args"]["cycles"]
    assert length > 0 and begin + length <= cycles, span
    assert begin >= threads.get(span["tid"], 0), ("overlaps the one before", span)
    threads[span["tid"]] = begin + length

# Every wait has ended by someone, not after the wait, and an arrow says so.
waits = [span for span in spans if span["cat"] == "wait"]
arrows = {ph: [event["id"] for event in events if event["ph"] == ph] for ph in "sf"}
assert waits and arrows["s"] == arrows["f"] and len(arrows["s"]) == len(waits)
for wait in waits:
    assert wait["args"]["released"] <= wait["args"]["begin"] + wait["args"]["cycles"], wait
    assert wait["args"]["released_by"]

# Copies and products begin after they were issued.
for span in spans:
    if span["cat"] in ("copy", "product"):
        assert span["args"]["issued"] <= span["args"]["begin"], span

names = {event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
counters = {event["name"] for event in events if event["ph"] == "C"}
assert {"bytes in flight", "tensor cores busy"} <= counters, counters

svg = xml.etree.ElementTree.parse(sys.argv[2]).getroot()
text = "".join(svg.itertext())
assert svg.tag.endswith("svg") and "Where the time of each warp goes" in text
for name in sorted(names):
    print(name)
print(len(waits), "waits")
