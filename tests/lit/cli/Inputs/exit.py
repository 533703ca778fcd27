"""exit.py CODE COMMAND…: succeeds when the command ends with that exit status."""

import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
if code != int(sys.argv[1]):
    sys.exit(f"exit status {code}, expected {sys.argv[1]}")
