#include "roles/head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/print_expr.h"
#include "roles/parser.h"
#include "roles/print.h"

namespace plait::roles {
namespace {

class HeadPrinter {
 public:
  HeadText run(const Program& p) {
    line(fmt::format("roles {}(", p.name), p.loc);
    for (std::size_t i = 0; i < p.params.size(); ++i) param(p.params[i], i + 1 == p.params.size());
    line(fmt::format(") device {}{}:", p.device, renamed_text(p.builtins)), p.loc);
    for (const ir::Require& require : p.requires_) {
      std::string message = require.message.empty() ? "" : ", " + ir::string_text(require.message);
      line(fmt::format("  require {}{}", ir::expr_text(require.cond), message), require.loc);
    }
    for (const Let& let : p.lets) {
      std::string text = print(Stmt{{}, {}, let}, 2);
      text.pop_back();  // the end of its line
      line(text, let.value->loc);
    }
    launch(p);
    if (p.cluster != 1) line(fmt::format("  cluster {}", p.cluster), p.loc);
    if (p.occupancy != 1) line(fmt::format("  occupancy {}", p.occupancy), p.loc);
    for (const Workspace& workspace : p.workspaces) line(declaration_text(*workspace), workspace->loc);
    for (const Map& map : p.maps) line(declaration_text(*map), map->loc);
    return std::move(out_);
  }

 private:
  void line(const std::string& text, const Loc& loc) {
    out_.text += text + "\n";
    out_.lines.push_back(loc);
  }
  void list(const std::vector<ExprRef>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      line(fmt::format("{}{}", ir::expr_text(values[i]), i + 1 < values.size() ? "," : ""), values[i]->loc);
  }
  void param(const ir::Param& param, bool last) {
    const char* end = last ? "" : ",";
    if (param.kind == ir::ParamKind::scalar) {
      std::string value = param.default_value != nullptr ? " = " + ir::typed_text(param.default_value) : "";
      return line(fmt::format("{}: {}{}{}", param.scalar->name, ir::dtype_name(param.scalar->type), value, end),
                  param.scalar->loc);
    }
    const ir::BufferDecl& b = *param.buffer;
    line(fmt::format("{}: {} {}[", b.name, direction_text(param.kind), ir::dtype_name(b.type)), b.loc);
    list(b.shape);
    if (!b.strides.empty()) {
      line("] strides [", b.loc);
      list(b.strides);
    }
    line(fmt::format("]{}", end), b.loc);
  }
  void launch(const Program& p) {
    line("  launch (", p.loc);
    for (std::size_t i = 0; i < p.launch.size(); ++i) {
      line(value_text(p.launch[i]), p.launch[i]->loc);
      line(i + 1 < p.launch.size() ? "), (" : ")", p.loc);
    }
  }

  HeadText out_;
};

}  // namespace

Program head_of(const Program& program) {
  Program head;
  head.name = program.name;
  head.device = program.device;
  head.params = program.params;
  head.dims = program.dims;
  head.requires_ = program.requires_;
  head.builtins = program.builtins;
  head.lets = program.lets;
  head.launch = program.launch;
  head.cluster = program.cluster;
  head.occupancy = program.occupancy;
  head.workspaces = program.workspaces;
  head.maps = program.maps;
  head.loc = program.loc;
  return head;
}

HeadText print_head(const Program& program) { return HeadPrinter().run(program); }

Result<Program> parse_head(const std::string& text, std::vector<Loc> lines) {
  auto source = std::make_shared<const SourceFile>("<head>", text);
  syntax::Errors lexical(source), grammatical(source, std::move(lines));
  syntax::Lexed lexed = syntax::lex(source->text(), lexical);
  Diagnostics diags;
  RoleParser parser(source, lexed, grammatical, diags);
  Program program = parser.head();
  if (!lexical.empty() || !grammatical.empty()) return syntax::Errors::merge(lexical, grammatical);
  if (diags.has_errors()) return diags;
  return program;
}

}  // namespace plait::roles
