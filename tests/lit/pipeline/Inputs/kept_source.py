"""`kept_source.py FOLDER SOURCE`: fails unless the one kernel that the folder of compiled code keeps was compiled of SOURCE."""
import pathlib
import sys

folder, source = map(pathlib.Path, sys.argv[1:])
(kept,) = folder.rglob("*.code")
text = source.read_bytes()
if not text or text not in kept.read_bytes():
    sys.exit(f"{kept} was not compiled of {source}")
