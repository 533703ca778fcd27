#pragma once

#include "roles/program.h"

namespace plait::roles {

// Pieces of the text form, for whoever speaks about a program.

/// A value on its own: an integer literal of type i32 stands bare, other literals with their type.
std::string value_text(const ExprRef& e);
/// `a, b, c`
std::string values_text(const std::vector<ExprRef>& list);
std::string text_of(const SmemRef& ref);
std::string text_of(const MbarRef& ref);
std::string text_of(const ChannelRef& ref);
std::string text_of(const FragmentRef& ref);
std::string text_of(const TensorRef& ref);
/// `name: bf16[4, 64, 128] swizzle 128`
std::string text_of(const SmemDecl& decl);
/// `name: bf16[64, 128] wgmma_a`
std::string text_of(const FragmentDecl& decl);
/// `  workspace parts: f32[tiles, 128] zero`
std::string declaration_text(const WorkspaceDecl& workspace);
/// `  map A_map = A box [128, 64] swizzle 128`
std::string declaration_text(const MapDecl& map);
/// in, out or inout; nothing for a scalar.
std::string_view direction_text(ir::ParamKind kind);
/// ` with block as block_2` for the builtins that do not have their usual names.
std::string renamed_text(const Builtins& builtins);
std::string_view swizzle_text(Swizzle swizzle);  ///< " swizzle 128", or nothing
std::string_view kind_name(FragmentKind kind);
std::string_view reduce_name(ReduceOp op);
/// A body, indented; `pass` where it is empty.
std::string print(const Body& body, int indent);

}  // namespace plait::roles
