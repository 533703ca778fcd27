"""Makes and prints .npy files without numpy.

npy.py make FILE DESCR SHAPE [--fortran] VALUE…   SHAPE as 2x3; values in file order
npy.py show FILE                                  header and values
npy.py cut FILE BYTES                             shortens a file
"""

import ast
import struct
import sys

FORMATS = {"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f2": "e", "f4": "f", "f8": "d"}


def pack(descr, count):
    return (">" if descr[0] == ">" else "<") + FORMATS[descr[1:]] * count


def make(path, descr, shape, *values):
    fortran = "--fortran" in values
    values = [v for v in values if v != "--fortran"]
    extents = tuple(int(n) for n in shape.split("x"))
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {extents}, }}\n".encode()
    number = float if descr[1] == "f" else int
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        file.write(struct.pack(pack(descr, len(values)), *map(number, values)))


def show(path):
    with open(path, "rb") as file:
        bytes = file.read()
    (length,) = struct.unpack("<H", bytes[8:10])
    header = ast.literal_eval(bytes[10 : 10 + length].decode())
    data = bytes[10 + length :]
    descr = header["descr"]
    values = struct.unpack(pack(descr, len(data) // int(descr[2:])), data)
    print(descr, "F" if header["fortran_order"] else "C", header["shape"], *values)


def cut(path, size):
    with open(path, "r+b") as file:
        file.truncate(int(size))


{"make": make, "show": show, "cut": cut}[sys.argv[1]](*sys.argv[2:])
