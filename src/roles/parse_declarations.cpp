#include <fmt/format.h>

#include "roles/parser.h"

// What the head of a role program declares.
namespace plait::roles {

namespace {

Swizzle swizzle_of(std::int64_t span) {
  for (Swizzle swizzle : {Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    if (swizzle_span(swizzle) == span) return swizzle;
  }
  return Swizzle::none;
}

}  // namespace

Swizzle RoleParser::swizzle_clause() {
  Loc loc = errors_.loc(cur());
  auto span = bind_.constant(expression(), "the swizzle", 0, kMaxCount);
  Swizzle swizzle = swizzle_of(span.value_or(0));
  if (span && swizzle == Swizzle::none) {
    bind_.diags().error(Rule::role_literal, loc, fmt::format("there is no swizzle of {} bytes", *span),
                        "it is 32, 64 or 128; leave the clause out for none");
  }
  return swizzle;
}

/// `NAME: TYPE[extents] [zero]`
void RoleParser::workspace() {
  WorkspaceDecl decl;
  decl.loc = errors_.loc(cur());
  std::string name = new_name("the name of the workspace");
  expect(Tok::colon, "':' behind the name of the workspace", "write workspace parts: f32[tiles, 128]");
  std::string type = element_type("the name of the workspace");
  if (!panic_ && !at(Tok::lbracket)) expected("'[' and the extents of the workspace");
  std::vector<Source> extents = shape();
  decl.zero = accept_word("zero");
  if (panic_) return;
  decl.buffer = bind_.workspace(name, bind_.names().dtype(type, decl.loc).value_or(DType::f32), extents, decl.loc);
  program_.workspaces.push_back(std::make_shared<const WorkspaceDecl>(std::move(decl)));
}

/// `NAME = TENSOR box [extents] [swizzle S]`
void RoleParser::map() {
  MapDecl decl;
  decl.loc = errors_.loc(cur());
  decl.name = new_name("the name of the map");
  expect(Tok::assign, "'=' behind the name of the map", "write map A_map = A box [128, 64] swizzle 128");
  Source tensor = operand("the tensor of the map");
  if (panic_) return;
  decl.tensor = bind_.tensor_name(tensor);
  if (!expect_word("box", "the tensor")) return;
  if (!at(Tok::lbracket)) return expected("'[' and the extents of the box");
  decl.box = bind_.constants(shape(), "an extent of the box", 1, kMaxCount);
  if (accept_word("swizzle")) decl.swizzle = swizzle_clause();
  if (panic_) return;
  auto made = std::make_shared<const MapDecl>(std::move(decl));
  bind_.declare(made);
  program_.maps.push_back(made);
}

/// `NAME: TYPE[extents] [swizzle S | pad N] [at OFFSET]`
void RoleParser::smem() {
  constexpr std::int64_t kMaxOffset = 1 << 30;
  SmemDecl decl;
  Token first = cur();
  decl.loc = errors_.loc(first);
  std::string name = new_name("the name of the tile");
  expect(Tok::colon, "':' behind the name of the tile", "write smem A_s: bf16[4, 128, 64] swizzle 128");
  std::string type = element_type("the name of the tile");
  if (!panic_ && !at(Tok::lbracket)) expected("'[' and the extents of the tile");
  std::vector<Source> extents = shape();
  std::int64_t pad = 0;
  if (accept_word("swizzle")) {
    decl.swizzle = swizzle_clause();
  } else if (accept_word("pad")) {
    pad = count("the padding", 0, kMaxCount);
  }
  if (accept_word("at")) decl.offset = count("the offset", 0, kMaxOffset);
  if (panic_) return;
  DType element = bind_.names().dtype(type, decl.loc).value_or(DType::f32);
  decl.buffer = bind_.buffer(name, element, ir::Scope::shared, extents, pad, decl.loc);
  auto made = std::make_shared<const SmemDecl>(std::move(decl));
  bind_.declare(made);
  program_.smem.push_back(made);
}

/// `NAME[SIZE] count N`
void RoleParser::mbar() {
  MbarDecl decl;
  decl.loc = errors_.loc(cur());
  decl.name = new_name("the name of the mbar array");
  if (!panic_ && !at(Tok::lbracket))
    expected("'[' and the number of barriers", fmt::format("write mbar {}[4] count 1", decl.name));
  auto size = bind_.constants(shape(), "the number of barriers", 1, kMaxCount);
  if (!size.empty()) decl.size = size.front();
  if (size.size() > 1) bind_.diags().error(Rule::role_literal, decl.loc, "an mbar array has one dimension");
  if (!expect_word("count", "the mbar array")) return;
  decl.count = count("the arrivals of a phase", 1, kMaxCount);
  if (panic_) return;
  auto made = std::make_shared<const MbarDecl>(std::move(decl));
  bind_.declare(made);
  program_.mbars.push_back(made);
}

}  // namespace plait::roles
