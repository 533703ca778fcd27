#!/usr/bin/env python3
"""Predicted against measured times, one point a schedule, as an SVG: scripts/prediction_plot.py bench/results/gpu/planners.json >docs/pictures/predicted.svg"""

import json
import math
import sys

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 560, 420, 56, 40, 16, 48
COLOURS = {"attention": "#c2410c", "matmul_nt": "#1d4ed8"}


def main():
    rows = [row for row in json.load(open(sys.argv[1]))["rows"] if "points" in row]
    values = [p[key] for row in rows for p in row["points"] for key in ("predicted_us", "measured_us")]
    low, high = math.log(min(values) * 0.9), math.log(max(values) * 1.1)

    def place(value, begin, length, down=False):
        share = (math.log(value) - low) / (high - low)
        return begin + length * (1 - share if down else share)

    inner = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<rect x="{LEFT}" y="{TOP}" width="{inner[0]}" height="{inner[1]}" fill="none" stroke="#9ca3af"/>']
    for tick in (10, 20, 50, 100, 200, 500):
        if not low <= math.log(tick) <= high:
            continue
        x, y = place(tick, LEFT, inner[0]), place(tick, TOP, inner[1], True)
        out += [f'<path d="M{x:.1f} {TOP}V{TOP + inner[1]}M{LEFT} {y:.1f}H{LEFT + inner[0]}" stroke="#e5e7eb"/>',
                f'<text x="{x:.1f}" y="{TOP + inner[1] + 16}" text-anchor="middle">{tick}</text>',
                f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>']
    out.append(f'<path d="M{LEFT} {TOP + inner[1]}L{LEFT + inner[0]} {TOP}" stroke="#9ca3af" stroke-dasharray="4 4"/>')
    for n, row in enumerate(rows):
        kernel = row["name"].split()[-1]
        colour = COLOURS.get(kernel, "#111827")
        for p in row["points"]:
            x, y = place(p["predicted_us"], LEFT, inner[0]), place(p["measured_us"], TOP, inner[1], True)
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}" fill-opacity="0.7"><title>{kernel} {p["what"]}</title></circle>')
        out += [f'<circle cx="{LEFT + 10 + 260 * n}" cy="22" r="4" fill="{colour}"/>',
                f'<text x="{LEFT + 20 + 260 * n}" y="26">{kernel}: {len(row["points"])} schedules, Spearman {row["spearman"]:.2f}</text>']
    out += [f'<text x="{LEFT + inner[0] / 2}" y="{HEIGHT - 10}" text-anchor="middle">predicted, us</text>',
            f'<text transform="translate(14 {TOP + inner[1] / 2}) rotate(-90)" text-anchor="middle">measured, us</text>', "</svg>"]
    print("\n".join(out))


main()
