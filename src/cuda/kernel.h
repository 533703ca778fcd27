#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "cuda/compile.h"
#include "cuda/context.h"
#include "cuda/pieces.h"

namespace plait::cuda {

/// A kernel in a context.
struct LoadedKernel {
  LoadedKernel(const Driver& driver_, ModuleHandle module_) : driver(&driver_), module(module_) {}
  ~LoadedKernel() { driver->unload_module(module); }
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  const Driver* driver;
  ModuleHandle module;
  FunctionHandle function = nullptr;
  int registers = 0, local_bytes = 0;  ///< a thread
  double load_ms = 0;
};

/// What calls of a role program have to know of it.
struct CallForm {
  roles::Program head;  ///< see roles::head_of
  std::map<const ir::BufferDecl*, Piece> pieces;
};
CallForm call_form(const roles::Program& program);

/// A compiled role program: what compilation left, and its code in every context that has used it.
class Kernel {
 public:
  Kernel(const roles::Program& program, emit::cuda::Module module, Code code);
  /// The same without what its threads do; `text` is the whole program.
  Kernel(CallForm form, std::string text, emit::cuda::Module module, Code code);

  /// The head alone.
  const roles::Program& program() const { return form_.head; }
  const std::map<const ir::BufferDecl*, Piece>& pieces() const { return form_.pieces; }
  const std::string& text() const { return text_; }  ///< of the role program
  const emit::cuda::Module& module() const { return module_; }
  const Code& code() const { return code_; }
  /// The parameters, dims and conditions as a kernel that runtime/bind.h can check calls of.
  const ir::Kernel& signature() const { return signature_; }

  /// Loads the code where this context does not have it yet. Thread-safe.
  Result<std::shared_ptr<const LoadedKernel>> load(const Context& context) const;

 private:
  CallForm form_;
  std::string text_;
  emit::cuda::Module module_;
  Code code_;
  ir::Kernel signature_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, std::shared_ptr<const LoadedKernel>> loaded_;  ///< by Context::id
};

}  // namespace plait::cuda
