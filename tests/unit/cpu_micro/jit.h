#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "emit/cpu/vector_target.h"
#include "llvm/IR/IRBuilder.h"

namespace llvm::orc {
class LLJIT;
}

namespace plait::cpu::test {

/// Machine the emitted code is for.
struct Machine {
  std::string cpu;  ///< empty: this one
  std::string features;
  bool vector_libm = false;
  /// Emit for registers of that many bits although the machine's are narrower: LLVM splits the vectors.
  int vector_bits = 0;
};

/// Compiles one function whose body a test emits, and whatever internal functions come with it.
class Jit {
 public:
  /// `void f(pointers…)`; `body` gets the pointer arguments.
  using Body = std::function<void(llvm::IRBuilder<>&, const VectorTarget&, std::vector<llvm::Value*>)>;
  Jit(unsigned pointers, const Body& body, Machine machine = {});
  ~Jit();

  template <typename... Args>
  void operator()(Args*... args) const {
    reinterpret_cast<void (*)(Args*...)>(address_)(args...);
  }
  double compile_ms() const { return compile_ms_; }
  static VectorTarget target(const Machine& machine = {});
  /// The module's assembly, to look at.
  static std::string assembly(unsigned pointers, const Body& body, Machine machine = {});

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  void* address_ = nullptr;
  double compile_ms_ = 0;
};

}  // namespace plait::cpu::test
