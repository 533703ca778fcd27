"""`compare_launches.py PLAIT PRODUCT FOLDER LIBCUDA MATMUL_NT.tile`: the launches of a bundle and of `plait run` as a driver sees them."""
import os
import pathlib
import subprocess
import sys

plait, product, folder, libcuda, kernel = sys.argv[1:]
home = pathlib.Path(libcuda).parent
# Whole, at lines of 128 bytes, in lines, at 8, 4 and 2 bytes, each of the two dims that decide; one row, one column, nothing.
CASES = [(300, 512, 256), (300, 520, 264), (300, 516, 256), (300, 512, 252), (300, 514, 250), (300, 511, 249), (1, 520, 8), (257, 1, 64), (128, 128, 0), (0, 64, 64)]


def launch(command, arch, **more):
    trace = home / "trace"
    trace.unlink(missing_ok=True)
    env = dict(os.environ, FAKE_CUDA_TRACE=str(trace), FAKE_CUDA_ARCH=arch, LD_LIBRARY_PATH=str(home), PLAIT_LIBCUDA=libcuda, **more)
    done = subprocess.run(command, env=env, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stdout} {done.stderr}")
    text = trace.read_text() if trace.exists() else ""
    return [line for line in text.splitlines() if line.startswith(("map", "launch", "fill"))]


for arch, device in [("90", "h200"), ("80", "a100"), ("86", "a100")]:
    for m, n, k in CASES:
        dims = ["--dim", f"M={m}", "--dim", f"N={n}", "--dim", f"K={k}"]
        # An alignment of every tensor at 256 bytes, as `plait run` reserves them.
        ours = launch([product, folder, str(m), str(n), str(k), "0"], arch)
        theirs = launch([plait, "run", kernel, "-D", "dtype=bf16", "--device", device, "--arch", "sm_90a" if arch == "90" else "sm_80", *dims], arch)
        if m * n == 0:
            # Without blocks there is nothing to encode.
            theirs = [line for line in theirs if not line.startswith("map")]
        if ours != theirs or (m * n > 0 and not any("launch" in line for line in ours)):
            sys.exit(f"sm_{arch} M={m} N={n} K={k}:\nbundle: {ours}\nplait:  {theirs}")
