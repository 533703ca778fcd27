#include "roles/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "machine/device.h"
#include "roles/fields.h"
#include "roles/lower_channels.h"
#include "roles/verify_parts.h"

namespace plait::roles {
namespace {

constexpr std::size_t kMaxDeclarations = 1024;

/// A program that C++ made with null parts is a fault of that C++.
class Whole {
 public:
  void body(const Body& body) const {
    for (const StmtRef& stmt : body) {
      need(stmt != nullptr);
      std::visit([&](const auto& s) { statement(s); }, stmt->node);
    }
  }
  void declarations(const Program& p) const {
    for (const Smem& smem : p.smem) need(smem != nullptr && literal(smem->buffer));
    for (const Mbar& mbar : p.mbars) need(mbar != nullptr);
    for (const Channel& channel : p.channels) {
      need(channel != nullptr);
      for (const Smem& tile : channel->tiles) need(tile != nullptr && literal(tile->buffer));
    }
    for (const Map& map : p.maps) need(map != nullptr && map->tensor != nullptr);
    for (const Workspace& workspace : p.workspaces) {
      need(workspace != nullptr && workspace->buffer != nullptr);
      for (const ExprRef& extent : workspace->buffer->shape) need(extent != nullptr);
    }
    for (const ExprRef& extent : p.launch) need(extent != nullptr);
    for (const Let& let : p.lets) statement(let);
    for (const ir::Require& require : p.requires_) need(require.cond != nullptr);
    const Builtins& b = p.builtins;
    for (const Var& var : {b.block, b.blocks, b.block_x, b.block_y, b.block_z, b.cluster_rank, b.sms, b.replica, b.warp,
                           b.lane, b.thread})
      need(var != nullptr);
  }

 private:
  static void need(bool there) { PLAIT_ASSERT(there, "a role program with a part that is null"); }
  static bool literal(const ir::Buffer& buffer) {
    if (buffer == nullptr) return false;
    for (const ExprRef& extent : buffer->shape) {
      if (extent == nullptr || !ir::as_int(extent)) return false;
    }
    return true;
  }

  void statement(const Arrive& s) const { (*this)(s.mbar); }
  void statement(const LoadTensor& s) const {
    (*this)(s.dst);
    (*this)(s.src);
  }
  void statement(const TmaLoad& s) const {
    (*this)(s.dst);
    (*this)(s.map);
    (*this)(s.at);
    completion(s);
  }
  void statement(const BulkLoad& s) const {
    (*this)(s.dst);
    (*this)(s.src);
    (*this)(s.bytes);
    completion(s);
  }
  template <typename Copy>
  void completion(const Copy& s) const {
    need((s.mbar.mbar == nullptr) != (s.channel.channel == nullptr));
    s.mbar.mbar != nullptr ? (*this)(s.mbar) : (*this)(s.channel);
  }
  void statement(const CpAsync& s) const {
    (*this)(s.dst);
    (*this)(s.src);
  }
  void statement(const Acquire& s) const { (*this)(s.item); }
  void statement(const Issue& s) const {
    (*this)(s.reads);
    (*this)(s.writes);
    body(s.body);
  }
  void statement(const Wgmma& s) const {
    (*this)(s.acc);
    std::visit(*this, s.a);
    (*this)(s.b);
  }
  template <typename Node>
  void statement(const Node& s) const {
    fields(s, [&](const auto&... members) { ((*this)(members), ...); });
  }

 public:
  void operator()(const ExprRef& e) const { need(e != nullptr); }
  void operator()(const Var& var) const { need(var != nullptr); }
  void operator()(const Mbar& mbar) const { need(mbar != nullptr); }
  void operator()(const Map& map) const { need(map != nullptr); }
  void operator()(const Fragment& f) const {
    need(f != nullptr && literal(f->buffer) && !f->buffer->shape.empty());
    if (f->of != nullptr) (*this)(f->of);
  }
  void operator()(const SmemRef& ref) const {
    need(ref.smem != nullptr && literal(ref.smem->buffer));
    (*this)(ref.index);
  }
  void operator()(const MbarRef& ref) const {
    need(ref.mbar != nullptr);
    (*this)(ref.index);
  }
  void operator()(const ChannelRef& ref) const {
    need(ref.channel != nullptr);
    (*this)(ref.index);
  }
  void operator()(const FragmentRef& ref) const {
    (*this)(ref.fragment);
    (*this)(ref.begin);
  }
  void operator()(const TensorRef& ref) const {
    need(ref.tensor != nullptr);
    (*this)(ref.index);
  }
  void operator()(const MatrixOperand& operand) const { std::visit(*this, operand); }
  void operator()(const TaskOperand& operand) const { std::visit(*this, operand); }
  void operator()(const Body& nested) const { body(nested); }
  void operator()(const ElementStore& store) const { statement(store); }
  template <typename T>
  void operator()(const std::vector<T>& list) const {
    for (const T& item : list) (*this)(item);
  }
  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(T) const {}
};

bool few_declarations(const Check& check) {
  const Program& p = check.program;
  std::size_t most = std::max({p.params.size(), p.workspaces.size(), p.maps.size(), p.smem.size(), p.channels.size(),
                               p.mbars.size(), p.roles.size()});
  if (most <= kMaxDeclarations) return true;
  check.diags.error(
      Rule::role_literal, p.loc, fmt::format("the program has {} declarations of one kind", most),
      fmt::format("there are at most {} parameters, workspaces, maps, tiles, channels, mbar arrays and roles each",
                  kMaxDeclarations));
  return false;
}

}  // namespace

Limits limits_of(const machine::Device& device) {
  Limits out;
  out.units.emplace();
  for (const machine::Unit& unit : device.units) out.units->push_back(unit.kind);
  if (device.vector_cores) {
    // Its memories are one arena here; whoever makes programs for it looks at each.
    out.smem_block = 0;
    for (auto kind : {machine::MemoryKind::l1, machine::MemoryKind::l0c, machine::MemoryKind::ub}) {
      const machine::Memory* memory = device.memory(kind);
      std::int64_t many = kind == machine::MemoryKind::ub ? device.vector_cores->integer() : 1;
      if (memory != nullptr) out.smem_block += many * memory->capacity.integer();
    }
    out.smem_sm = out.smem_block;
    out.smem_reserved = 0;
    out.cluster = 1;
  }
  if (!device.limits) return out;
  out.features = device.features;
  const machine::Limits& have = *device.limits;
  out.smem_block = have.smem_per_block.integer();
  out.smem_sm = have.smem_per_unit.integer();
  out.smem_reserved = have.smem_reserved.integer();
  out.registers = have.registers_per_unit.integer();
  out.thread_registers = static_cast<int>(have.registers_per_thread.integer());
  out.threads = static_cast<int>(have.threads_per_block.integer());
  out.cluster = static_cast<int>(have.blocks_per_cluster.integer());
  return out;
}

namespace {

/// A program without channels.
void check_lowered(const Check& check) {
  check_declarations(check);
  if (check.diags.has_errors()) return;
  // From here on every name is known, every index there, every tile laid out.
  check_places(check);
  check_elements(check);
  if (check.diags.has_errors()) return;
  // Every fragment has a layout.
  check_copies(check);
  check_matrix(check);
  check_flow(check);
  check_mbars(check);
}

}  // namespace

Diagnostics verify(const Program& program, const Limits& limits) {
  Diagnostics diags;
  Reports reports(diags);
  Check check{program, limits, reports};
  Whole whole;
  whole.declarations(program);
  for_each_body(program, [&](const Body& body) { whole.body(body); });
  if (!few_declarations(check)) return diags;
  check_names(check);
  if (!diags.has_errors()) {
    check_features(check);
    check_tasks(check);
    check_channels(check);
  }
  if (diags.has_errors()) {
    check_declarations(check);
    return diags;
  }
  Program lowered = lower_channels(program);
  check_lowered({lowered, limits, reports});
  return diags;
}

}  // namespace plait::roles
