# Everything a user or developer does, one word each. `make help` lists them.
PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
PYTHON := /usr/bin/python3

.PHONY: help setup setup-dev build run test test-fast bench bench-compare test-gpu bench-gpu bundle install format lint asan soak clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup:           ## install what building and testing need (Debian 12, as root)
	@scripts/setup.sh build

setup-dev:       ## also the clang tools 22, for format, lint, fuzzing and sanitizers
	@scripts/setup.sh build dev

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json | setup
	@cmake --preset $(PRESET)

build: setup $(BUILD)/build.ninja  ## build everything (release)
	@cmake --build --preset $(PRESET) -j $(JOBS)

run: build       ## the main job: matmul and attention on the CPU, .npy in, .npy out, verified and timed
	@scripts/run.sh $(BUILD)/tools/plait/plait

test: build      ## the whole suite
	@cmake --build --preset $(PRESET) -j $(JOBS) --target plait_tests
	@cd $(BUILD) && ctest -j $(JOBS) --output-on-failure --no-tests=error --timeout 900

test-fast: build ## unit tests only
	@cmake --build --preset $(PRESET) -j $(JOBS) --target plait_tests
	@cd $(BUILD) && ctest -j $(JOBS) --output-on-failure --no-tests=error -L unit

bench: build     ## measure against OpenBLAS and oneDNN, record in bench/results
	@scripts/setup.sh bench
	@scripts/bench.sh $(BUILD)

bench-compare: build  ## measure again and fail where a ratio fell below the record
	@scripts/setup.sh bench
	@scripts/bench.sh $(BUILD) --compare

test-gpu: build  ## role and tile programs against f64 references, and a bundle's engine in C, on this machine's GPU (BUDGET=120 seconds, SEED=0; needs torch)
	@python3 gpu/test_roles.py --budget $(or $(BUDGET),120) --seed $(or $(SEED),0) --out $(BUILD)/test_roles.json
	@python3 gpu/test_kernels.py --budget $(or $(BUDGET),120) --seed $(or $(SEED),0) --out $(BUILD)/test_kernels.json
	@python3 gpu/test_fuse.py --budget $(or $(BUDGET),120) --seed $(or $(SEED),0) --out $(BUILD)/test_fuse.json
	@PLAIT_PROGRAM=$(BUILD)/tools/plait/plait gpu/test_engine.sh

bench-gpu: build ## role and tile programs against cuBLAS, cuDNN, PyTorch and each other on this machine's GPU (BUDGET=600 seconds each, MAMBA=folder with mamba_ssm; needs torch)
	@python3 gpu/bench_roles.py --budget $(or $(BUDGET),600) --out $(BUILD)/roles.json
	@python3 gpu/bench_pipeline.py --budget $(or $(BUDGET),600) --out $(BUILD)/pipeline.json
	@python3 gpu/bench_fuse.py --budget $(or $(BUDGET),600) --out $(BUILD)/fuse.json
	@python3 gpu/bench_planners.py --budget $(or $(BUDGET),600) --out $(BUILD)/planners.json $(if $(MAMBA),--mamba $(MAMBA))
	@python3 gpu/bench_complete.py --budget $(or $(BUDGET),600) --out $(BUILD)/complete.json

bundle:          ## one folder and .tar.xz that runs on any x86-64 Linux with glibc >= 2.36
	@scripts/setup.sh build bundle
	@JOBS=$(JOBS) scripts/bundle.sh

install: build   ## install the library, headers, CLI and CMake package (PREFIX=/usr/local)
	@cmake --install $(BUILD) --prefix $(or $(PREFIX),/usr/local)

format: setup-dev  ## clang-format over the tree
	@git ls-files '*.cpp' '*.h' '*.hpp' '*.c' | xargs clang-format-22 -i

lint: setup-dev  ## formatting and clang-tidy, as errors
	@scripts/lint.sh

asan: setup-dev  ## the suite under AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --preset asan && cmake --build --preset asan -j $(JOBS) && cmake --build --preset asan -j $(JOBS) --target plait_tests
	@cd build/asan && ctest -j $(JOBS) --output-on-failure --no-tests=error --timeout 600

soak: build setup-dev  ## long sweeps: more random programs, fuzzers
	@cmake --build --preset $(PRESET) -j $(JOBS) --target plait_tests
	@scripts/soak.sh $(BUILD)

clean:           ## remove every build folder
	@rm -rf build
