"""Writes float_tables.h: what numpy and ml_dtypes, which share nothing with plait, make of the small float formats.

    python3 -m venv env && env/bin/pip install numpy ml_dtypes && env/bin/python make_float_tables.py > float_tables.h
"""

import ml_dtypes
import numpy as np

FORMATS = {
    "e4m3": (ml_dtypes.float8_e4m3fn, 8),
    "e5m2": (ml_dtypes.float8_e5m2, 8),
    "e2m1": (ml_dtypes.float4_e2m1fn, 4),
    "f16": (np.float16, 16),
    "bf16": (ml_dtypes.bfloat16, 16),
}


def decoded(dtype, bits):
    """The f32 bits of every code; NaN as 0x7fc00000."""
    storage = np.uint16 if bits == 16 else np.uint8
    values = np.arange(1 << bits, dtype=storage).view(dtype).astype(np.float32)
    out = values.view(np.uint32).copy()
    out[np.isnan(values)] = 0x7FC00000
    return out


def fnv(words):
    state = 0xCBF29CE484222325
    for word in words.tolist():
        state = ((state ^ word) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return state


def samples():
    """Values around every kind of edge: ties and their neighbours, subnormals, the ends of each format, integers."""
    rng = np.random.default_rng(20240607)
    values = [0.0, 1.0, 5.0, 6.0, 6.9, 33000.0, 259.0, 2049.0, 2051.0, 447.0, 448.0, 463.9, 464.0, 57344.0, 61439.0]
    values += [65504.0, 65519.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 2.0**-16]
    values += [2.0**-17, 1.5 * 2.0**-17, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-126, 2.0**-133, 2.0**-134, 1e-45]
    values += (2.0 ** rng.uniform(-28, 17, 60)).tolist() + (2.0 ** rng.uniform(-12, 9, 60)).tolist()
    exact = np.array(values, dtype=np.float32)
    exact = np.concatenate([exact, np.nextafter(exact, np.float32(0)), np.nextafter(exact, np.float32(np.inf))])
    signs = np.where(np.arange(exact.size) % 3 == 0, np.float32(-1), np.float32(1))
    return exact * signs


def table(name, ctype, words, per_line=8, digits=8):
    print(f"inline constexpr {ctype} {name}[] = {{")
    for i in range(0, len(words), per_line):
        print("    " + " ".join(f"0x{w:0{digits}x}," for w in words[i : i + per_line]))
    print("};\n")


def main():
    print("// Written by make_float_tables.py with numpy and ml_dtypes.\n// clang-format off\n#pragma once\n")
    print("#include <cstdint>\n\nnamespace plait::ir::tables {\n")
    for name in ("e4m3", "e5m2", "e2m1"):
        print(f"/// f32 bits of each {name} code; NaN as 0x7fc00000.")
        table(f"k_{name}", "std::uint32_t", decoded(*FORMATS[name]).tolist())
    for name in ("f16", "bf16"):
        print(f"/// FNV-1a of the f32 bits, as words, of all {name} codes; NaN as 0x7fc00000.")
        print(f"inline constexpr std::uint64_t k_{name}_hash = 0x{fnv(decoded(*FORMATS[name])):016x};\n")
    values = samples()
    print("/// f32 bits, and the codes to which they round (to nearest even).")
    print("struct Sample {\n  std::uint32_t f32;\n  std::uint16_t f16, bf16;\n  std::uint8_t e4m3, e5m2, e2m1;\n};")
    print("inline constexpr Sample k_samples[] = {")
    codes = {n: values.astype(d).view(np.uint16 if b == 16 else np.uint8) for n, (d, b) in FORMATS.items()}
    for i, bits in enumerate(values.view(np.uint32).tolist()):
        f16, bf16, e4m3, e5m2, e2m1 = (int(codes[n][i]) for n in ("f16", "bf16", "e4m3", "e5m2", "e2m1"))
        print(f"    {{0x{bits:08x}, 0x{f16:04x}, 0x{bf16:04x}, 0x{e4m3:02x}, 0x{e5m2:02x}, 0x{e2m1 & 15:02x}}},")
    print("};\n\n}  // namespace plait::ir::tables")


main()
