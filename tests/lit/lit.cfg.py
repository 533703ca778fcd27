import ctypes
import os

import lit.formats

config.name = "plait"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".tile", ".test", ".roles"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["build"]

tools = lit_config.params["tools"]
root = os.path.dirname(os.path.dirname(config.test_source_root))
# What was measured or planned before on this machine would change what tests see.
config.environment["PLAIT_STORE"] = "none"
config.environment["PLAIT_CACHE"] = "none"
config.environment["PATH"] = os.pathsep.join([tools, os.environ["PATH"]])
config.substitutions.append(("%plait", lit_config.params["plait"]))
config.substitutions.append(("%kernels", os.path.join(root, "kernels")))
config.substitutions.append(("%examples", os.path.join(root, "examples")))
config.substitutions.append(("%roles", os.path.join(root, "tests", "roles")))
config.substitutions.append(("%python", "/usr/bin/python3"))

# Its shadow memory takes more than any limit.
if "address" in lit_config.params.get("sanitize", ""):
    config.available_features.add("asan")


def has_nvrtc():
    for name in [os.environ.get("PLAIT_NVRTC", ""), "libnvrtc.so.13", "libnvrtc.so.12"]:
        try:
            if name:
                ctypes.CDLL(name)
                return True
        except OSError:
            pass
    return os.environ.get("PLAIT_REQUIRE_NVRTC") == "1"


# The compiler that makes code of CUDA C++.
if has_nvrtc():
    config.available_features.add("nvrtc")


def has_cuda_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


if has_cuda_driver():
    config.available_features.add("cuda-driver")
