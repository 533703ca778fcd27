"""Writes docs/diagnostics.md, the list of all rules, from src/support/rules_*.def; with --check only compares."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GROUPS = [
    ("syntax", "Text"),
    ("lang", "Names, types, arguments"),
    ("verify", "Typed programs"),
    ("run", "Calls, files, running programs"),
    ("gpu", "NVIDIA devices"),
    ("bundle", "Bundles"),
    ("emit", "Generated CUDA"),
    ("machine", "Machine models and layouts"),
    ("place", "Placement and pipelining"),
    ("plan", "Schedules"),
    ("roles", "Role programs"),
    ("sim", "Simulated role programs"),
]
STRING = r'"((?:[^"\\]|\\.)*)"'
RULE = re.compile(r"PLAIT_RULE\(\s*\w+,\s*" + r"\s*,\s*".join([f"((?:{STRING}\\s*)+)"] * 3) + r"\s*\)")


def text(literals):
    """The value of adjacent C string literals."""
    parts = re.findall(STRING, literals)
    return "".join(parts).replace('\\"', '"').replace("\\\\", "\\").replace("|", "\\|")


def page():
    out = [
        "# Diagnostics",
        "",
        "Every rule plait checks, by the layer that checks it. A message has the form `file:line:column: error: message [rule]`, the line with a caret,",
        "and `fix:` with what to do. This page is made by `scripts/diagnostics.py`.",
    ]
    for group, title in GROUPS:
        source = (ROOT / f"src/support/rules_{group}.def").read_text()
        head = source.splitlines()[0].removeprefix("// ")
        out += ["", f"## {title}", "", head, "", "| rule | what it says | what to do |", "| --- | --- | --- |"]
        rules = RULE.findall(source)
        if len(rules) != len(re.findall(r"^\s*PLAIT_RULE\(", source, re.M)):
            sys.exit(f"rules_{group}.def: a rule does not have the form PLAIT_RULE(id, \"name\", \"rule\", \"fix\")")
        for match in rules:
            name, rule, fix = text(match[0]), text(match[2]), text(match[4])
            out.append(f"| `{name}` | {rule} | {fix} |")
    return "\n".join(out) + "\n"


def main():
    target = ROOT / "docs/diagnostics.md"
    if "--check" in sys.argv:
        if not target.exists() or target.read_text() != page():
            sys.exit("docs/diagnostics.md is not up to date: run scripts/diagnostics.py")
    else:
        target.write_text(page())


if __name__ == "__main__":
    main()
