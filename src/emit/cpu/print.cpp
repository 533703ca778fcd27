#include "emit/cpu/print.h"

#include <cstdio>
#include <cstring>

#include "emit/cpu/expr.h"
#include "emit/cpu/stmt.h"
#include "fmt/format.h"
#include "llvm/IR/Module.h"

namespace plait::cpu {
namespace {

std::string text(const PrintArg& arg) {
  switch (static_cast<PrintArg::Kind>(arg.kind)) {
    case PrintArg::signed_integer:
      return fmt::format("{}", arg.integer);
    case PrintArg::unsigned_integer:
      return fmt::format("{}", static_cast<std::uint64_t>(arg.integer));
    case PrintArg::boolean:
      return arg.integer != 0 ? "true" : "false";
    case PrintArg::f32:
      return fmt::format("{}", static_cast<float>(arg.floating));
    case PrintArg::f64:
      return fmt::format("{}", arg.floating);
  }
  return {};
}

PrintArg::Kind kind_of(ir::DType type) {
  if (type == ir::DType::f64) return PrintArg::f64;
  if (ir::is_float(type)) return PrintArg::f32;
  if (ir::is_bool(type)) return PrintArg::boolean;
  return ir::is_signed_integer(type) ? PrintArg::signed_integer : PrintArg::unsigned_integer;
}

/// The value as i64 or double.
llvm::Value* widest(Emitter& e, ir::DType type, llvm::Value* value) {
  if (ir::is_float(type)) return e.b.CreateFPExt(value, e.b.getDoubleTy());
  return ir::is_signed_integer(type) ? e.b.CreateSExt(value, e.b.getInt64Ty())
                                     : e.b.CreateZExt(value, e.b.getInt64Ty());
}

void print_in_process(Emitter& e, const ir::Print& print, llvm::ArrayRef<llvm::Value*> values) {
  llvm::Type* i64 = e.b.getInt64Ty();
  auto* slots = e.stack(llvm::ArrayType::get(i64, std::max<std::size_t>(1, 2 * values.size())), "print");
  for (std::size_t i = 0; i < values.size(); ++i) {
    e.b.CreateStore(e.i64(kind_of(print.args[i]->type)), e.b.CreateConstGEP1_64(i64, slots, 2 * i));
    e.b.CreateStore(values[i], e.b.CreateConstGEP1_64(i64, slots, 2 * i + 1));
  }
  llvm::Type* pointer = e.b.getPtrTy();
  auto* type = llvm::FunctionType::get(e.b.getVoidTy(), {pointer, pointer, i64}, false);
  auto callee = e.module.getOrInsertFunction("plait_cpu_print", type);
  e.b.CreateCall(callee,
                 {e.b.CreateGlobalString(print.format), slots, e.i64(static_cast<std::int64_t>(values.size()))});
}

/// The format for printf: `{}` becomes the conversion of the next argument, `%` is doubled.
std::string c_format(const ir::Print& print) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < print.format.size(); ++i) {
    const bool hole = print.format.compare(i, 2, "{}") == 0 && next < print.args.size();
    if (!hole) {
      out += print.format[i] == '%' ? "%%" : std::string(1, print.format[i]);
      continue;
    }
    ++i;
    switch (kind_of(print.args[next++]->type)) {
      case PrintArg::signed_integer:
        out += "%lld";
        break;
      case PrintArg::unsigned_integer:
        out += "%llu";
        break;
      case PrintArg::boolean:
        out += "%s";
        break;
      case PrintArg::f32:
        out += "%.9g";
        break;
      case PrintArg::f64:
        out += "%.17g";
        break;
    }
  }
  return out + "\n";
}

void print_in_object(Emitter& e, const ir::Print& print, llvm::ArrayRef<llvm::Value*> values) {
  std::vector<llvm::Value*> args{e.b.CreateGlobalString(c_format(print))};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool boolean = kind_of(print.args[i]->type) == PrintArg::boolean;
    llvm::Value* word = boolean ? e.b.CreateSelect(e.b.CreateICmpNE(values[i], e.i64(0)),
                                                   e.b.CreateGlobalString("true"), e.b.CreateGlobalString("false"))
                                : values[i];
    args.push_back(word);
  }
  auto* type = llvm::FunctionType::get(e.b.getInt32Ty(), {e.b.getPtrTy()}, true);
  e.b.CreateCall(e.module.getOrInsertFunction("printf", type), args);
}

}  // namespace

void print_line(const char* format, const PrintArg* args, std::int64_t count) {
  std::string line;
  std::int64_t next = 0;
  for (const char* at = format; *at != 0; ++at) {
    if (std::strncmp(at, "{}", 2) == 0 && next < count) {
      line += text(args[next++]);
      ++at;
    } else {
      line += *at;
    }
  }
  line += '\n';
  std::fputs(line.c_str(), stdout);
}

void emit_print(Emitter& e, const ir::Print& print) {
  std::vector<llvm::Value*> values;
  for (const auto& arg : print.args) values.push_back(widest(e, arg->type, emit_expr(e, arg).v));
  if (e.object)
    print_in_object(e, print, values);
  else
    print_in_process(e, print, values);
}

}  // namespace plait::cpu
