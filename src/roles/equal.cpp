#include <bit>
#include <cmath>
#include <unordered_map>

#include "roles/fields.h"

namespace plait::roles {
namespace {

/// Compares two programs; variables, buffers and declarations of one stand for those of the other by where they occur.
class Comparer {
 public:
  bool same(const Program& a, const Program& b);

 private:
  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  bool same(T a, T b) {
    return a == b;
  }
  bool same(const std::string& a, const std::string& b) { return a == b; }
  template <typename T>
  bool same(const std::optional<T>& a, const std::optional<T>& b) {
    return a == b;
  }
  template <typename T>
  bool same(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!same(a[i], b[i])) return false;
    }
    return true;
  }
  template <typename... Ts>
  bool same(const std::variant<Ts...>& a, const std::variant<Ts...>& b) {
    if (a.index() != b.index()) return false;
    return std::visit([&](const auto& x) { return same(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
  }

  // What has an identity: the first time a pair is met its contents are compared.
  template <typename T>
  bool paired(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
    if (a == nullptr || b == nullptr) return a == b;
    auto to = forward_.find(a.get()), from = backward_.find(b.get());
    if (to != forward_.end() || from != backward_.end()) {
      return to != forward_.end() && from != backward_.end() && to->second == b.get();
    }
    forward_[a.get()] = b.get();
    backward_[b.get()] = a.get();
    return same(*a, *b);
  }
  bool same(const Var& a, const Var& b) { return paired(a, b); }
  bool same(const ir::Buffer& a, const ir::Buffer& b) { return paired(a, b); }
  bool same(const Smem& a, const Smem& b) { return paired(a, b); }
  bool same(const Mbar& a, const Mbar& b) { return paired(a, b); }
  bool same(const Map& a, const Map& b) { return paired(a, b); }
  bool same(const Channel& a, const Channel& b) { return paired(a, b); }
  bool same(const Fragment& a, const Fragment& b) { return paired(a, b); }
  bool same(const ir::VarDecl& a, const ir::VarDecl& b) { return a.name == b.name && a.type == b.type; }
  bool same(const ir::BufferDecl& a, const ir::BufferDecl& b) {
    return a.name == b.name && a.type == b.type && a.scope == b.scope && a.pad == b.pad && same(a.shape, b.shape) &&
           same(a.strides, b.strides);
  }
  bool same(const SmemDecl& a, const SmemDecl& b) {
    return same(a.buffer, b.buffer) && a.swizzle == b.swizzle && a.offset == b.offset;
  }
  bool same(const MbarDecl& a, const MbarDecl& b) { return a.name == b.name && a.size == b.size && a.count == b.count; }
  bool same(const MapDecl& a, const MapDecl& b) {
    return a.name == b.name && same(a.tensor, b.tensor) && a.box == b.box && a.swizzle == b.swizzle;
  }
  bool same(const Workspace& a, const Workspace& b) { return a->zero == b->zero && same(a->buffer, b->buffer); }
  bool same(const ChannelDecl& a, const ChannelDecl& b) {
    return a.name == b.name && a.depth == b.depth && a.writers == b.writers && a.readers == b.readers &&
           a.bytes == b.bytes && same(a.tiles, b.tiles);
  }
  bool same(const FragmentDecl& a, const FragmentDecl& b) {
    bool vector = a.kind != FragmentKind::vector || (a.vec == b.vec && a.lanes == b.lanes);
    return a.kind == b.kind && vector && same(a.buffer, b.buffer) && same(a.of, b.of);
  }

  // Expressions
  bool same(const ExprRef& a, const ExprRef& b) {
    if (a == nullptr || b == nullptr) return a == b;
    return a->type == b->type && same(a->node, b->node);
  }
  bool same(const ir::IntLit& a, const ir::IntLit& b) { return a.value == b.value; }
  bool same(const ir::FloatLit& a, const ir::FloatLit& b) {
    if (std::isnan(a.value) || std::isnan(b.value)) return std::isnan(a.value) && std::isnan(b.value);
    return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
  }
  bool same(const ir::VarRef& a, const ir::VarRef& b) { return same(a.var, b.var); }
  bool same(const ir::Load& a, const ir::Load& b) { return same(a.buffer, b.buffer) && same(a.index, b.index); }
  bool same(const ir::Unary& a, const ir::Unary& b) { return a.op == b.op && same(a.a, b.a); }
  bool same(const ir::Binary& a, const ir::Binary& b) { return a.op == b.op && same(a.a, b.a) && same(a.b, b.b); }
  bool same(const ir::Select& a, const ir::Select& b) {
    return same(a.cond, b.cond) && same(a.if_true, b.if_true) && same(a.if_false, b.if_false);
  }
  bool same(const ir::Cast& a, const ir::Cast& b) {
    return a.rounding == b.rounding && a.saturate == b.saturate && same(a.a, b.a);
  }
  bool same(const ir::Bitcast& a, const ir::Bitcast& b) { return same(a.a, b.a); }
  bool same(const ir::Call& a, const ir::Call& b) { return a.fn == b.fn && same(a.args, b.args); }

  // References and statements
  bool same(const SmemRef& a, const SmemRef& b) { return same(a.smem, b.smem) && same(a.index, b.index); }
  bool same(const MbarRef& a, const MbarRef& b) { return same(a.mbar, b.mbar) && same(a.index, b.index); }
  bool same(const ChannelRef& a, const ChannelRef& b) { return same(a.channel, b.channel) && same(a.index, b.index); }
  bool same(const FragmentRef& a, const FragmentRef& b) {
    return same(a.fragment, b.fragment) && same(a.begin, b.begin);
  }
  bool same(const TensorRef& a, const TensorRef& b) { return same(a.tensor, b.tensor) && same(a.index, b.index); }
  bool same(const StmtRef& a, const StmtRef& b) { return same(a->node, b->node); }
  /// Any statement, by its members.
  template <typename Node>
    requires requires(const Node& node) { fields(node, [](const auto & ...) { return true; }); }
  bool same(const Node& a, const Node& b) {
    return fields(a, [&](const auto&... of_a) {
      return fields(b, [&](const auto&... of_b) { return (same(of_a, of_b) && ...); });
    });
  }

  // Programs
  bool same(const Role& a, const Role& b) {
    return a.name == b.name && a.replicas == b.replicas && a.warps == b.warps && a.regs == b.regs &&
           same(a.body, b.body);
  }
  bool same(const ir::Param& a, const ir::Param& b) {
    return a.kind == b.kind && same(a.buffer, b.buffer) && same(a.scalar, b.scalar) &&
           same(a.default_value, b.default_value);
  }
  bool same(const ir::Require& a, const ir::Require& b) { return a.message == b.message && same(a.cond, b.cond); }
  bool same(const Builtins& a, const Builtins& b) {
    return same(a.block, b.block) && same(a.blocks, b.blocks) && same(a.block_x, b.block_x) &&
           same(a.block_y, b.block_y) && same(a.block_z, b.block_z) && same(a.cluster_rank, b.cluster_rank) &&
           same(a.sms, b.sms) && same(a.replica, b.replica) && same(a.warp, b.warp) && same(a.lane, b.lane) &&
           same(a.thread, b.thread);
  }

  std::unordered_map<const void*, const void*> forward_, backward_;
};

bool Comparer::same(const Program& a, const Program& b) {
  return a.name == b.name && a.device == b.device && a.cluster == b.cluster && a.occupancy == b.occupancy &&
         same(a.builtins, b.builtins) && same(a.dims, b.dims) && same(a.params, b.params) &&
         same(a.requires_, b.requires_) && same(a.lets, b.lets) && same(a.launch, b.launch) &&
         same(a.workspaces, b.workspaces) && same(a.maps, b.maps) && same(a.smem, b.smem) &&
         same(a.channels, b.channels) && same(a.mbars, b.mbars) && same(a.prologue, b.prologue) &&
         same(a.roles, b.roles);
}

}  // namespace

bool equal(const Program& a, const Program& b) { return Comparer().same(a, b); }

}  // namespace plait::roles
