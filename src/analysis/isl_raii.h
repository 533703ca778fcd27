#pragma once

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/ilp.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <utility>

namespace plait::analysis {

/// Owner of one isl object. Null stands for a failed (or bounded-out) computation, which isl functions pass on. isl
/// takes arguments marked __isl_take: hand these over by take() or copy(); those marked __isl_keep by get().
template <typename T, auto Copy, auto Free>
class IslHandle {
 public:
  IslHandle() = default;
  explicit IslHandle(T* object) : object_(object) {}
  IslHandle(const IslHandle& other) : object_(Copy(other.object_)) {}
  IslHandle(IslHandle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  IslHandle& operator=(IslHandle other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~IslHandle() { Free(object_); }

  explicit operator bool() const { return object_ != nullptr; }
  T* get() const { return object_; }
  T* copy() const { return Copy(object_); }
  T* take() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

using IslId = IslHandle<isl_id, isl_id_copy, isl_id_free>;
using IslVal = IslHandle<isl_val, isl_val_copy, isl_val_free>;
using IslSet = IslHandle<isl_set, isl_set_copy, isl_set_free>;
using IslMap = IslHandle<isl_map, isl_map_copy, isl_map_free>;
using IslPwAff = IslHandle<isl_pw_aff, isl_pw_aff_copy, isl_pw_aff_free>;

/// One isl context that neither prints nor aborts and stops after a bounded amount of work. Everything made in it must
/// die before it.
class IslContext {
 public:
  explicit IslContext(unsigned long max_operations) : ctx_(isl_ctx_alloc()) {
    isl_options_set_on_error(ctx_, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx_, max_operations);
  }
  IslContext(const IslContext&) = delete;
  IslContext& operator=(const IslContext&) = delete;
  ~IslContext() { isl_ctx_free(ctx_); }

  isl_ctx* get() const { return ctx_; }
  /// Gives the next computation the whole bound again.
  void renew() {
    isl_ctx_reset_error(ctx_);
    isl_ctx_reset_operations(ctx_);
  }

 private:
  isl_ctx* ctx_;
};

}  // namespace plait::analysis
