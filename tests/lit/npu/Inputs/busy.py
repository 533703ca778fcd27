"""Plans a loop alone, and then many times at once, which keeps each from the processor for seconds: busy.py COMMAND…; prints how many plans come out."""

import subprocess
import sys

AT_ONCE = 8


def planned(count):
    runs = [subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True) for _ in range(count)]
    plans = {run.communicate()[0] for run in runs}
    assert all(run.returncode == 0 for run in runs)
    return plans


print(len(planned(1) | planned(AT_ONCE)), "plans")
