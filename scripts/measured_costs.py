#!/usr/bin/env python3
"""Writes what gpu/micro.py measured into a machine model: scripts/measured_costs.py micro.json machines/h200.json"""

import json
import sys


def figure(value, unit, what, found):
    return {"value": round(value, 2), "unit": unit, "source": f"measured: {what}; {found['command']} on one {found['device']}"}


def cost(model, op, variant=None):
    """The entry of an operation; one of a new variant is put before the operation's general entry."""
    for entry in model["costs"]:
        if entry["op"] == op and entry.get("variant") == variant:
            return entry
    place = next(i for i, entry in enumerate(model["costs"]) if entry["op"] == op and "variant" not in entry)
    entry = {"op": op, "variant": variant}
    model["costs"].insert(place, entry)
    return entry


def update(model, found):
    for name, figures in found["wgmma"].items():
        shape, operand = name.split(" A from ")
        entry = cost(model, "wgmma", f"{shape} bf16" + (" A in registers" if operand == "registers" else ""))
        for key in ("latency", "interval"):
            what = "one awaited before the next" if key == "latency" else "four a group, one group under way"
            entry[key] = figure(figures[key], "cycles", what, found)
    box = found["tma"]["box 64x64 bf16, 1 blocks"]
    cost(model, "tma_load")["latency"] = figure(box["latency"], "cycles", "a box of 64 rows of 128 bytes from L2, issue to wait", found)
    widest = found["tma"]["box 256x64 bf16, 1 blocks"]
    model["units"]["tma"]["all"] = figure(widest["bytes_per_cycle"], "B/cycle", "boxes of 32 KiB from L2, four under way, one block", found)
    model["units"]["l2"]["all"] = figure(widest["bytes_per_cycle"], "B/cycle", "what TMA draws from L2 for one block", found)
    vector = found["vector"]
    sfu = vector["ex2, 16 warps of 16 elements a thread"]["elements_per_cycle"]
    model["units"]["sfu"]["all"] = figure(sfu, "op/cycle", "ex2, 16 warps", found)
    port = 4 * vector["shared load, 4-byte elements, 16 warps of 16 elements a thread"]["elements_per_cycle"]
    model["units"]["smem"]["all"] = figure(port, "B/cycle", "16-byte loads of 16 warps", found)
    barriers = found["barriers"]
    arrival = cost(model, "mbarrier_arrive")["latency"]["value"]
    one_way = barriers["mbarrier round trip"]["latency"] / 2
    cost(model, "mbarrier_wait")["latency"] = figure(
        one_way - arrival, "cycles", f"half a round trip of {2 * one_way:.0f} between two warps, less the arrival", found)
    named = figure(barriers["named barrier of 128 threads"]["latency"], "cycles", "128 threads", found)
    cost(model, "named_barrier")["latency"] = named
    cost(model, "fence_proxy")["latency"] = figure(barriers["fence proxy_async"]["latency"], "cycles", "fences in a row", found)


def text(value, indent=0):
    """JSON with figures and lists of words on one line each."""
    pad = "  " * (indent + 1)
    if isinstance(value, dict) and "value" not in value:
        inner = ",\n".join(f"{pad}{json.dumps(key)}: {text(item, indent + 1)}" for key, item in value.items())
        return "{\n" + inner + "\n" + "  " * indent + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(pad + text(item, indent + 1) for item in value) + "\n" + "  " * indent + "]"
    return json.dumps(value, ensure_ascii=False)


def main():
    with open(sys.argv[1]) as file:
        found = json.load(file)
    with open(sys.argv[2]) as file:
        model = json.load(file)
    update(model, found)
    with open(sys.argv[2], "w") as file:
        file.write(text(model) + "\n")


main()
