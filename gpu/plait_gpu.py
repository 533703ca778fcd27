"""Role programs on torch tensors, through plait's C interface.

    import plait_gpu
    product = plait_gpu.Roles.file("matmul_coop", stages=4)
    launch = product.prepare(A=a, B=b, C=c)   # torch tensors on the GPU
    launch()                                  # on torch's current stream; may be captured into a graph
"""

import ctypes
import glob
import json
import os
import pathlib

import torch

HERE = pathlib.Path(__file__).resolve().parent

DTYPES = {
    "bool": 0, "int8": 4, "int16": 5, "int32": 6, "int64": 7, "uint8": 11, "uint16": 12, "uint32": 13, "uint64": 14,
    "float8_e4m3fn": 16, "float8_e5m2": 17, "float16": 18, "bfloat16": 19, "float32": 21, "float64": 22,
}
PACKED = {"i1": (1, 1), "i2": (2, 2), "i4": (3, 4), "u1": (8, 1), "u2": (9, 2), "u4": (10, 4), "e2m1": (15, 4)}  # code, bits
PLAIT_TF32, PLAIT_F32 = 20, 21
SCALAR = 3  # PLAIT_PARAMETER_SCALAR
TENSOR, INTEGER, FLOAT = 0, 1, 2  # plait_argument_kind


class Error(Exception):
    """What plait says about a program or a call."""


class Binding(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("architecture", ctypes.c_char_p),
                ("allow_serialized", ctypes.c_int32), ("source_only", ctypes.c_int32), ("cuda_source", ctypes.c_char_p),
                ("kernel", ctypes.c_char_p), ("device", ctypes.c_char_p), ("schedule", ctypes.c_char_p), ("dims", ctypes.c_void_p),
                ("dim_count", ctypes.c_size_t), ("planner", ctypes.c_char_p)]


class Parameter(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int32), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("has_default", ctypes.c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("bytes", ctypes.c_int64), ("device", ctypes.c_char_p)]


class Argument(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int32), ("tensor", Tensor), ("integer", ctypes.c_int64),
                ("floating", ctypes.c_double)]


def find_library():
    """PLAIT_LIBRARY, the bundle's, or the newest build of the source tree."""
    if "PLAIT_LIBRARY" in os.environ:
        return os.environ["PLAIT_LIBRARY"]
    places = [str(HERE.parent / "lib" / "libplait.so")] + sorted(
        glob.glob(str(HERE.parent / "build" / "*" / "src" / "api" / "libplait.so")), key=os.path.getmtime, reverse=True)
    for place in places:
        if os.path.exists(place):
            return place
    raise Error("libplait.so was not found; name it in PLAIT_LIBRARY")


def find_program():
    """The command line: PLAIT_PROGRAM, the bundle's, or the newest build of the source tree."""
    if "PLAIT_PROGRAM" in os.environ:
        return os.environ["PLAIT_PROGRAM"]
    places = [str(HERE.parent / "bin" / "plait")] + sorted(
        glob.glob(str(HERE.parent / "build" / "*" / "tools" / "plait" / "plait")), key=os.path.getmtime, reverse=True)
    for place in places:
        if os.path.exists(place):
            return place
    raise Error("the program plait was not found; name it in PLAIT_PROGRAM")


def find_nvrtc():
    """Torch may bring NVRTC in a package of its own, which plait does not know of."""
    if "PLAIT_NVRTC" in os.environ:
        return
    packages = pathlib.Path(torch.__file__).resolve().parent.parent / "nvidia"
    for version in (13, 12):
        found = sorted(glob.glob(str(packages / "*" / "lib" / f"libnvrtc.so.{version}")))
        if found:
            os.environ["PLAIT_NVRTC"] = found[0]
            return


def find_roles(name):
    """The text of a role program: a path, or the name of one of plait's own."""
    for place in (pathlib.Path(name), HERE.parent / "share" / "plait" / "roles" / f"{name}.roles",
                  HERE.parent / "tests" / "roles" / f"{name}.roles"):
        if place.is_file():
            return place
    raise Error(f"there is no role program {name}")


def find_kernel(name):
    """The text of a tile program or of a schedule: a path, or the name of one of plait's own."""
    for place in (pathlib.Path(name), HERE.parent / "share" / "plait" / "kernels" / name, HERE.parent / "kernels" / name):
        if place.is_file():
            return place
    raise Error(f"there is no kernel {name}")


def load():
    find_nvrtc()
    library = ctypes.CDLL(find_library())
    pointer = ctypes.POINTER
    opaque = ctypes.c_void_p
    signatures = {
        "plait_diagnostics_text": [opaque, pointer(ctypes.c_char_p)],
        "plait_diagnostics_destroy": [opaque],
        "plait_roles_compile": [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, pointer(Binding), ctypes.c_size_t,
                                pointer(Options), pointer(opaque), pointer(opaque)],
        "plait_roles_parameter_count": [opaque, pointer(ctypes.c_size_t)],
        "plait_roles_parameter": [opaque, ctypes.c_size_t, pointer(Parameter)],
        "plait_roles_name": [opaque, pointer(ctypes.c_char_p)],
        "plait_roles_source": [opaque, pointer(ctypes.c_char_p)],
        "plait_roles_ptx": [opaque, pointer(ctypes.c_char_p)],
        "plait_roles_report": [opaque, pointer(ctypes.c_char_p)],
        "plait_roles_cubin": [opaque, pointer(opaque), pointer(ctypes.c_size_t)],
        "plait_roles_load": [opaque, pointer(opaque)],
        "plait_roles_destroy": [opaque],
        "plait_launch_prepare": [opaque, pointer(Argument), ctypes.c_size_t, pointer(opaque), pointer(opaque)],
        "plait_launch_run": [opaque, opaque, pointer(opaque)],
        "plait_launch_destroy": [opaque],
    }
    for name, arguments in signatures.items():
        getattr(library, name).argtypes = arguments
        getattr(library, name).restype = ctypes.c_int
    library.plait_status_text.argtypes = [ctypes.c_int]
    library.plait_status_text.restype = ctypes.c_char_p
    library.plait_version.restype = ctypes.c_char_p
    return library


_library = None


def library():
    global _library
    if _library is None:
        _library = load()
    return _library


def take_text(diagnostics):
    """The text of a diagnostics handle, which is destroyed."""
    if not diagnostics:
        return ""
    text = ctypes.c_char_p()
    library().plait_diagnostics_text(diagnostics, ctypes.byref(text))
    copy = text.value.decode(errors="replace")
    library().plait_diagnostics_destroy(diagnostics)
    return copy


def call(function, *arguments):
    """Calls a function whose last parameter takes diagnostics; returns warnings, raises on failure."""
    diagnostics = ctypes.c_void_p()
    status = function(*arguments, ctypes.byref(diagnostics))
    text = take_text(diagnostics)
    if status != 0:
        raise Error(text or library().plait_status_text(status).decode())
    return text


class Packed:
    """A contiguous torch.uint8 tensor whose bytes hold several elements each, lowest bits first; its shape counts elements."""

    def __init__(self, tensor, dtype):
        self.tensor, (self.dtype, bits) = tensor, PACKED[dtype]
        self.shape = (*tensor.shape[:-1], tensor.shape[-1] * 8 // bits)


class Launch:
    """A call that was checked and laid out; running it costs one launch."""

    def __init__(self, handle, tensors):
        self._handle, self._tensors = handle, tensors
        self._run = library().plait_launch_run

    def __call__(self, stream=None):
        if stream is None:
            stream = torch.cuda.current_stream().cuda_stream
        diagnostics = ctypes.c_void_p()
        if self._run(self._handle, stream, ctypes.byref(diagnostics)) != 0:
            raise Error(take_text(diagnostics))

    def __del__(self):
        library().plait_launch_destroy(self._handle)


class Roles:
    """A compiled role program, or tile program for a device."""

    def __init__(self, text, name="<text>", *, bindings=None, arch=None, allow_serialized=False,
                 source_only=False, cuda_source=None, kernel=None, device=None, schedule=None, dims=None, planner=None):
        values = {key: self._value(value) for key, value in (bindings or {}).items()}
        array = (Binding * max(len(values), 1))(*[Binding(k.encode(), v.encode()) for k, v in values.items()])
        extents = (Binding * max(len(dims or {}), 1))(*[Binding(k.encode(), str(v).encode()) for k, v in (dims or {}).items()])
        options = Options(ctypes.sizeof(Options), arch.encode() if arch else None, allow_serialized,
                          source_only, cuda_source.encode() if cuda_source else None, kernel.encode() if kernel else None,
                          device.encode() if device else None, schedule.encode() if schedule else None,
                          ctypes.cast(extents, ctypes.c_void_p), len(dims or {}), planner.encode() if planner else None)
        self._handle = ctypes.c_void_p()
        data = text.encode()
        self.warnings = call(library().plait_roles_compile, name.encode(), data, len(data), array, len(values),
                             ctypes.byref(options), ctypes.byref(self._handle))
        self.parameters = self._read_parameters()

    @classmethod
    def file(cls, name, **given):
        """From a path or the name of one of plait's programs. Options of the constructor keep their meaning, every other
        keyword is a compile-time parameter."""
        known = ("bindings", "arch", "allow_serialized", "source_only", "cuda_source")
        options = {key: given.pop(key) for key in known if key in given}
        options["bindings"] = {**options.get("bindings", {}), **given}
        path = find_roles(name)
        return cls(path.read_text(), str(path), **options)

    @classmethod
    def tile(cls, name, *, schedule=None, planner=None, dims=None, device="h200", arch=None, **bindings):
        """A tile program of plait's kernels (`matmul.tile`) or a path, with a schedule likewise; other keywords are compile-time parameters."""
        path = find_kernel(name)
        text = find_kernel(schedule).read_text() if schedule else None
        return cls(path.read_text(), str(path), bindings=bindings, arch=arch, device=device, schedule=text, planner=planner, dims=dims)

    @staticmethod
    def _value(value):
        return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)

    def _read_parameters(self):
        count = ctypes.c_size_t()
        library().plait_roles_parameter_count(self._handle, ctypes.byref(count))
        parameters = []
        for i in range(count.value):
            parameter = Parameter()
            library().plait_roles_parameter(self._handle, i, ctypes.byref(parameter))
            parameters.append(parameter)
        return parameters

    def _text(self, function):
        text = ctypes.c_char_p()
        function(self._handle, ctypes.byref(text))
        return text.value.decode(errors="replace")

    @property
    def name(self):
        return self._text(library().plait_roles_name)

    @property
    def source(self):
        return self._text(library().plait_roles_source)

    @property
    def ptx(self):
        return self._text(library().plait_roles_ptx)

    @property
    def report(self):
        """A dict: registers, spills, times of the steps, the compiler's log; see plait.h."""
        return json.loads(self._text(library().plait_roles_report))

    @property
    def cubin(self):
        image, size = ctypes.c_void_p(), ctypes.c_size_t()
        library().plait_roles_cubin(self._handle, ctypes.byref(image), ctypes.byref(size))
        return ctypes.string_at(image, size.value)

    def load(self):
        """Into torch's context, which is made where it is not there yet."""
        torch.cuda.current_stream()
        call(library().plait_roles_load, self._handle)

    def prepare(self, *values, **named):
        """Arguments by place or by name: torch tensors on the GPU, numbers for scalars."""
        torch.cuda.current_stream()
        if len(values) > len(self.parameters):
            raise Error(f"{self.name} has {len(self.parameters)} parameters, not {len(values)}")
        given = {p.name.decode(): value for p, value in zip(self.parameters, values)}
        given.update(named)
        types = {p.name.decode(): p for p in self.parameters}
        arguments, keep = (Argument * max(len(given), 1))(), []
        for slot, (name, value) in zip(arguments, given.items()):
            slot.name = name.encode()
            self._fill(slot, value, types.get(name), keep)
        handle = ctypes.c_void_p()
        call(library().plait_launch_prepare, self._handle, arguments, len(given), ctypes.byref(handle))
        return Launch(handle, [value for value in given.values() if isinstance(value, (torch.Tensor, Packed))])

    @staticmethod
    def _fill(slot, value, parameter, keep):
        if isinstance(value, (torch.Tensor, Packed)):
            slot.kind, slot.tensor = TENSOR, describe(value, parameter, keep)
        elif isinstance(value, int) and (parameter is None or parameter.dtype < 15):
            slot.kind, slot.integer = INTEGER, int(value)
        else:
            slot.kind, slot.floating = FLOAT, float(value)

    def __call__(self, *values, **named):
        self.prepare(*values, **named)()

    def __del__(self):
        if getattr(self, "_handle", None):
            library().plait_roles_destroy(self._handle)


def describe(tensor, parameter, keep):
    """A tensor as the C interface takes it; `keep` holds what it points to."""
    if isinstance(tensor, Packed):
        return describe_packed(tensor, keep)
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise Error(f"plait has no element type for {tensor.dtype}")
    dtype = DTYPES[name]
    if dtype == PLAIT_F32 and parameter is not None and parameter.dtype == PLAIT_TF32:
        dtype = PLAIT_TF32
    rank = tensor.dim()
    shape = (ctypes.c_int64 * max(rank, 1))(*tensor.shape)
    strides = (ctypes.c_int64 * max(rank, 1))(*tensor.stride())
    keep += [shape, strides]
    storage = tensor.untyped_storage()
    behind = storage.nbytes() - tensor.storage_offset() * tensor.element_size()
    return Tensor(tensor.data_ptr(), dtype, rank, shape, strides, behind, b"cuda" if tensor.is_cuda else b"host")


def describe_packed(packed, keep):
    shape = (ctypes.c_int64 * len(packed.shape))(*packed.shape)
    keep.append(shape)
    return Tensor(packed.tensor.data_ptr(), packed.dtype, len(packed.shape), shape, None, packed.tensor.numel(), b"cuda")
