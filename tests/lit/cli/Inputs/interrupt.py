"""Interrupts a command at several moments: it ends by the signal, or with the output that it has alone. interrupt.py COMMAND…"""

import signal
import subprocess
import sys
import time

alone = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True).stdout
for wait in (0.1, 0.25, 0.4, 0.55, 0.7):
    run = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    time.sleep(wait)
    run.send_signal(signal.SIGINT)
    text = run.communicate()[0]
    if run.returncode != -signal.SIGINT and text != alone:
        sys.exit(f"after {wait} s: exit {run.returncode}, another output")
print("whole or not at all")
