#include "npu/rename.h"

#include "ir/build.h"
#include "ir/visit.h"

namespace plait::npu {

using namespace ir;

namespace {

/// Statements anew, with other buffers.
class Renamer {
 public:
  explicit Renamer(const BufferMap& map) : map_(map) {}

  StmtRef of(const StmtRef& stmt) const {
    return make_stmt(std::visit([&](const auto& node) { return StmtNode(of(node)); }, stmt->node), stmt->loc);
  }

 private:
  Buffer of(const Buffer& buffer) const {
    auto found = map_.find(buffer.get());
    return found == map_.end() ? buffer : found->second;
  }
  ExprRef of(const ExprRef& expr) const {
    if (expr == nullptr) return expr;
    return rewrite(expr, [&](const ExprRef& e) -> ExprRef {
      const auto* load = std::get_if<ir::Load>(&e->node);
      if (load == nullptr || !map_.contains(load->buffer.get())) return nullptr;
      return std::make_shared<const Expr>(Expr{e->type, e->loc, Load{of(load->buffer), load->index}, e->weak});
    });
  }
  template <typename T>
  std::vector<T> of(const std::vector<T>& list) const {
    std::vector<T> out;
    for (const T& item : list) out.push_back(of(item));
    return out;
  }
  Region of(const Region& region) const {
    Region out = region;
    out.buffer = of(region.buffer);
    for (Range& range : out.ranges) range = {of(range.begin), of(range.extent)};
    return out;
  }

  For of(const For& node) const {
    For out = node;
    for (LoopAxis& axis : out.axes) axis = {axis.var, of(axis.begin), of(axis.end), of(axis.step)};
    out.body = of(node.body);
    return out;
  }
  While of(const While& node) const { return {of(node.cond), of(node.body)}; }
  If of(const If& node) const { return {of(node.cond), of(node.then_body), of(node.else_body)}; }
  Let of(const Let& node) const { return {node.var, of(node.value)}; }
  Alloc of(const Alloc& node) const { return node; }
  Store of(const Store& node) const { return {of(node.buffer), of(node.index), of(node.value)}; }
  AtomicElement of(const AtomicElement& node) const {
    return {node.op, of(node.buffer), of(node.index), of(node.value)};
  }
  TileOp of(const TileOp& node) const {
    TileOp out = node;
    out.operands = of(node.operands);
    if (auto* copy = std::get_if<CopyAttrs>(&out.attrs)) {
      if (copy->rows) copy->rows = of(*copy->rows);
      copy->valid = of(copy->valid);
      copy->pad = of(copy->pad);
    }
    if (auto* fill = std::get_if<FillAttrs>(&out.attrs)) fill->value = of(fill->value);
    return out;
  }
  Assert of(const Assert& node) const { return {of(node.cond), node.message}; }
  Print of(const Print& node) const { return {node.format, of(node.args)}; }
  Break of(const Break& node) const { return node; }
  Continue of(const Continue& node) const { return node; }
  Task of(const Task& node) const { return {node.latency, node.ii, of(node.body)}; }

  const BufferMap& map_;
};

}  // namespace

StmtRef renamed(const StmtRef& stmt, const BufferMap& map) { return map.empty() ? stmt : Renamer(map).of(stmt); }

}  // namespace plait::npu
