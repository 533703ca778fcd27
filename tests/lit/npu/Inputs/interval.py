"""interval.py CYCLES PLAIT FILE.tile [OPTION…]: an iteration of the 256 x 224 x 128 product follows the one before after so many cycles."""
import json, subprocess, sys

want, plait, path, options = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]

def cycles(trips):
    command = [plait, "sim", path, "--device", "ascend950", "--json", "--time-only", "-D", "dtype=bf16", "-D", "block_M=256",
               "-D", "block_N=224", "-D", "block_K=128", "--dim", "M=256", "--dim", "N=224", "--dim", f"K={128 * trips}", *options]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return report.get("cycles", report.get("runs", [{}])[0].get("cycles"))

found = cycles(12) - cycles(11)
print(f"{found} cycles from one iteration to the next {' '.join(options)}")
sys.exit(found != want)
