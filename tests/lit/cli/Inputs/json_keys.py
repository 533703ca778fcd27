"""json_keys.py KEY…: standard input is exactly one JSON object; prints `key: value` for each key, nested ones as a.b.0.c."""

import json
import sys

text = sys.stdin.read()
report = json.loads(text)
assert isinstance(report, dict)
for key in sys.argv[1:]:
    value = report
    for part in key.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    print(f"{key}: {json.dumps(value)}")
