"""interval.py PLAIT FILE.tile STAGES CYCLES: an iteration of the 256 x 224 x 128 product follows the one before after so many cycles."""
import json, subprocess, sys

plait, path, stages, want = sys.argv[1:5]

def cycles(trips):
    command = [plait, "sim", path, "--device", "ascend950", "--json", "--time-only", "-D", f"stages={stages}", "-D", "dtype=bf16",
               "-D", "block_M=256", "-D", "block_N=224", "-D", "block_K=128", "--dim", "M=256", "--dim", "N=224", "--dim", f"K={128 * trips}"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return report.get("cycles", report.get("runs", [{}])[0].get("cycles"))

found = cycles(12) - cycles(11)
print(f"{found} cycles from one iteration to the next with stages={stages}")
sys.exit(found != int(want))
