#!/usr/bin/env python3
"""clang-tidy over the files of a compilation database, several at once, files left out that were clean as they are now.

tidy.py BUILD [--checks LIST] [--jobs N] [PREFIX…]: PREFIXes of paths below the tree choose the files. What was clean is kept in BUILD/tidy by a hash of all
that the outcome depends on: the checks, the command, the file and every file of the tree that it includes.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

TIDY = "clang-tidy-22"
ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


class Tree:
    """Which files of the tree a file includes, directly or not."""

    def __init__(self):
        self.direct = {}

    def includes(self, path):
        if path not in self.direct:
            found = []
            for name in INCLUDE.findall(path.read_bytes()):
                for folder in (path.parent, ROOT / "src", ROOT / "include", ROOT / "tests"):
                    candidate = folder / os.fsdecode(name)
                    if candidate.is_file():
                        found.append(candidate.resolve())
                        break
            self.direct[path] = found
        return self.direct[path]

    def reached(self, path):
        seen, todo = {path}, [path]
        while todo:
            for other in self.includes(todo.pop()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return sorted(seen)


def key(entry, checks, tree, version):
    """The name under which a clean outcome is kept."""
    digest = hashlib.sha256(f"{version}\0{checks}\0{entry['command']}".encode())
    path = pathlib.Path(entry["file"]).resolve()
    configs = [folder / ".clang-tidy" for folder in path.parents if folder == ROOT or ROOT in folder.parents]
    for part in [config for config in configs if config.is_file()] + tree.reached(path):
        digest.update(part.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()[:40]


def run(entry, build, checks):
    """The findings in one file: text, empty when there are none."""
    command = [TIDY, "-p", str(build), "--quiet", "--warnings-as-errors=*"]
    if checks:
        command.append("--checks=" + checks)
    done = subprocess.run(command + [entry["file"]], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    return done.stdout or done.stderr or f"{entry['file']}: {TIDY} failed ({done.returncode})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("prefixes", nargs="*", default=["src/", "tools/"])
    parser.add_argument("--checks", default="", help="added to those of .clang-tidy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    database = json.loads((options.build / "compile_commands.json").read_text())
    entries = {}
    for entry in database:
        path = pathlib.Path(entry["file"]).resolve()
        if ROOT in path.parents and str(path.relative_to(ROOT)).startswith(tuple(options.prefixes)):
            entries[path] = entry
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    clean = options.build / "tidy"
    clean.mkdir(exist_ok=True)
    tree = Tree()
    stamps = {path: clean / key(entry, options.checks, tree, version) for path, entry in entries.items()}
    todo = [path for path in sorted(entries) if not stamps[path].exists()]

    start = time.monotonic()
    seen, dirty = set(), 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, text in zip(todo, pool.map(lambda path: run(entries[path], options.build, options.checks), todo)):
            if not text:
                stamps[path].touch()
                continue
            dirty += 1
            if text not in seen:
                print(text, flush=True)
            seen.add(text)
    print(f"clang-tidy: {len(todo)} of {len(entries)} files looked at in {time.monotonic() - start:.0f} s, {dirty} with findings")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
