"""damage.py FOLDER [--version]: changes a byte of every file of compiled code, or the version of plait in its summary."""
import pathlib
import sys

for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.code")):
    content = bytearray(path.read_bytes())
    if "--version" in sys.argv:
        at = content.index(b'"build":"plait ') + len(b'"build":"plait ')
        content[at : at + 1] = b"x"
    else:
        content[-1] ^= 1
    path.write_bytes(content)
