"""stages.py PLAIT FILE.tile DEVICE DIM VALUES OPTIONS…: simulates the kernel with 0 to 4 stages for each value of a dim."""
import re, subprocess, sys, tempfile

plait, path, device, dim, values = sys.argv[1:6]
text = open(path).read()
for stages in range(5):
    with tempfile.NamedTemporaryFile("w", suffix=".tile") as program:
        program.write(re.sub(r"stages=\d", f"stages={stages}", text))
        program.flush()
        sizes = [option for value in values.split(",") for option in ("--size", f"{dim}={value}")]
        first = ["--dim", f"{dim}={values.split(',')[0]}"]
        subprocess.run([plait, "sim", program.name, "--device", device, "--seeds", "2"] + first + sizes + sys.argv[6:],
                       check=True, stdout=subprocess.DEVNULL)
