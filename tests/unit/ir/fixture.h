#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/build.h"

namespace plait::ir {

/// Small pieces of programs, and a place for reports.
class IrTest : public testing::Test {
 protected:
  static Var var(const std::string& name, DType type = DType::i64, VarKind kind = VarKind::let) {
    return std::make_shared<const VarDecl>(VarDecl{name, type, kind, {}});
  }
  static ExprRef ref(const std::string& name, DType type = DType::i64) { return var_ref(var(name, type)); }
  static ExprRef i64(std::int64_t value) { return typed_int(DType::i64, value); }

  static Buffer buffer(const std::string& name, DType type, std::vector<ExprRef> shape, Scope scope = Scope::shared) {
    BufferDecl decl;
    decl.name = name;
    decl.type = type;
    decl.scope = scope;
    decl.shape = std::move(shape);
    return std::make_shared<const BufferDecl>(std::move(decl));
  }
  static Buffer tile(const std::string& name, DType type, const std::vector<std::int64_t>& shape) {
    std::vector<ExprRef> extents;
    for (std::int64_t extent : shape) extents.push_back(i64(extent));
    return buffer(name, type, std::move(extents));
  }

  ExprRef binary(BinaryOp op, ExprRef a, ExprRef b) { return make_binary(op, std::move(a), std::move(b), {}, diags); }
  ExprRef add(ExprRef a, ExprRef b) { return binary(BinaryOp::add, std::move(a), std::move(b)); }
  ExprRef mul(ExprRef a, ExprRef b) { return binary(BinaryOp::mul, std::move(a), std::move(b)); }
  ExprRef unary(UnaryOp op, ExprRef a) { return make_unary(op, std::move(a), {}, diags); }
  ExprRef cast(DType type, ExprRef a) { return make_cast(type, std::move(a), std::nullopt, false, {}, diags); }
  ExprRef load(const Buffer& b, std::vector<ExprRef> index) { return make_load(b, std::move(index), {}, diags); }

  /// Text of an expression that was made without a report.
  std::string text(const ExprRef& e) {
    EXPECT_EQ(diags.render(), "");
    return e == nullptr ? "null" : print(*e);
  }
  /// The one report of a factory that gave null.
  std::string refused(const ExprRef& e) {
    EXPECT_EQ(e, nullptr);
    return report();
  }
  std::string report() {
    EXPECT_EQ(diags.list().size(), 1U);
    std::string out = diags.render();
    diags = {};
    return out;
  }

  Diagnostics diags;
};

}  // namespace plait::ir
