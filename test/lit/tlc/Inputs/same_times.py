# SPDX-License-Identifier: Apache-2.0
"""same_times.py <log> <json>: whether what was timed in both has the same times."""
import json
import sys

log = [json.loads(line) for line in open(sys.argv[1])]
times = {str(line["values"]): line["us"] for line in log if "us" in line}
others = {str(each["values"]): each["us"][0] for each in json.load(open(sys.argv[2]))["candidates"]}
print(len(times), "times,", "the same" if times == others else f"but {times} and {others}")
