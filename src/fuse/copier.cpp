#include "fuse/copier.h"

#include "ir/build.h"
#include "ir/visit.h"
#include "roles/fields.h"
#include "support/result.h"

namespace plait::fuse {

using namespace roles;

/// Makes each member of a statement that was copied the copy's own; an overload a type.
class Members {
 public:
  explicit Members(Copier& to) : to_(to) {}

  template <typename Node>
  Node copy(const Node& of) const {
    Node made = of;
    // `made` is no constant: its members, which fields() shows as such, may be changed.
    fields(made, [&](const auto&... members) {
      ((*this)(const_cast<std::remove_cvref_t<decltype(members)>&>(members)), ...);  // NOLINT(*-const-cast)
    });
    return made;
  }

  void operator()(ExprRef& e) const { e = to_.expr(e); }
  void operator()(Var& var) const { var = to_.var(var, to_.locals_); }
  void operator()(SmemRef& ref) const {
    (*this)(ref.index);
    to_.choose(ref.smem->buffer.get(), ref.index);
    ref.smem = to_.smem_.at(ref.smem.get());
  }
  void operator()(MbarRef& ref) const {
    if (ref.mbar != nullptr) ref.mbar = to_.mbars_.at(ref.mbar.get());
    (*this)(ref.index);
  }
  void operator()(ChannelRef& ref) const {
    if (ref.channel != nullptr) ref.channel = to_.channels_.at(ref.channel.get());
    (*this)(ref.index);
  }
  void operator()(FragmentRef& ref) const {
    (*this)(ref.fragment);
    (*this)(ref.begin);
  }
  void operator()(TensorRef& ref) const {
    ref.tensor = to_.buffer(ref.tensor);
    (*this)(ref.index);
  }
  void operator()(MatrixOperand& operand) const { std::visit(*this, operand); }
  void operator()(TaskOperand& operand) const { std::visit(*this, operand); }
  void operator()(Fragment& fragment) const { fragment = to_.fragment(fragment); }
  void operator()(Map& map) const { map = to_.maps_.at(map.get()); }
  void operator()(Mbar& mbar) const { mbar = to_.mbars_.at(mbar.get()); }
  void operator()(Body& body) const { body = to_.body(body); }
  void operator()(ElementStore& store) const { store = copy(store); }
  template <typename T>
  void operator()(std::vector<T>& list) const {
    for (T& item : list) (*this)(item);
  }
  void operator()(std::string&) const {}
  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(T&) const {}

 private:
  Copier& to_;
};

// ---- Declarations --------------------------------------------------------------------------------------------------

namespace {

std::string renamed(const Copier::Rename& rename, const std::string& name) { return rename ? rename(name) : name; }

}  // namespace

Var Copier::var(const Var& of, const Rename& rename) {
  auto [it, fresh] = vars_.try_emplace(of.get());
  if (fresh) {
    ir::VarDecl decl = *of;
    decl.name = renamed(rename, of->name);
    it->second = std::make_shared<const ir::VarDecl>(std::move(decl));
    values_[of.get()] = ir::var_ref(it->second);
  }
  return it->second;
}

ir::Buffer Copier::buffer(const ir::Buffer& of, const Rename& rename) {
  auto known = buffers_.find(of.get());
  if (known != buffers_.end()) return known->second;
  ir::BufferDecl decl = *of;
  decl.name = renamed(rename, of->name);
  for (auto* list : {&decl.shape, &decl.strides}) {
    for (ExprRef& e : *list) e = expr(e);
  }
  return buffers_[of.get()] = std::make_shared<const ir::BufferDecl>(std::move(decl));
}

Smem Copier::smem(const Smem& of, const Rename& rename, std::optional<std::int64_t> offset) {
  SmemDecl decl = *of;
  decl.buffer = buffer(of->buffer, rename);
  decl.offset = offset;
  return smem_[of.get()] = std::make_shared<const SmemDecl>(std::move(decl));
}

Smem Copier::smem(const Smem& of, const Rename& rename, const Times& times) {
  ir::BufferDecl buffer = *of->buffer;
  buffer.name = renamed(rename, buffer.name);
  // Behind the number of the tile there are rows and columns.
  if (buffer.shape.size() == 1) buffer.shape.insert(buffer.shape.begin(), ir::typed_int(DType::i64, 1));
  buffer.shape.insert(buffer.shape.begin(), ir::typed_int(DType::i64, times.count));
  SmemDecl decl = *of;
  decl.buffer = buffers_[of->buffer.get()] = std::make_shared<const ir::BufferDecl>(std::move(buffer));
  chosen_[of->buffer.get()] = times.which;
  return smem_[of.get()] = std::make_shared<const SmemDecl>(std::move(decl));
}

Mbar Copier::mbar(const Mbar& of, const Rename& rename) {
  MbarDecl decl = *of;
  decl.name = renamed(rename, of->name);
  return mbars_[of.get()] = std::make_shared<const MbarDecl>(std::move(decl));
}

Channel Copier::channel(const Channel& of, const Rename& rename) {
  ChannelDecl decl = *of;
  decl.name = renamed(rename, of->name);
  for (Smem& tile : decl.tiles) tile = smem_.at(tile.get());
  return channels_[of.get()] = std::make_shared<const ChannelDecl>(std::move(decl));
}

Map Copier::map(const Map& of, const Rename& rename) {
  MapDecl decl = *of;
  decl.name = renamed(rename, of->name);
  decl.tensor = buffer(of->tensor);
  return maps_[of.get()] = std::make_shared<const MapDecl>(std::move(decl));
}

Fragment Copier::fragment(const Fragment& of) {
  auto known = fragments_.find(of.get());
  if (known != fragments_.end()) return known->second;
  FragmentDecl decl = *of;
  decl.buffer = buffer(of->buffer, locals_);
  if (of->of != nullptr) decl.of = fragment(of->of);
  return fragments_[of.get()] = std::make_shared<const FragmentDecl>(std::move(decl));
}

// ---- Expressions and statements ------------------------------------------------------------------------------------

ExprRef Copier::expr(const ExprRef& of) {
  if (of == nullptr) return of;
  return ir::rewrite(of, [&](const ExprRef& e) -> ExprRef {
    if (const auto* ref = std::get_if<ir::VarRef>(&e->node)) {
      auto known = values_.find(ref->var.get());
      PLAIT_ASSERT(known != values_.end(), "nothing stands for the variable " + ref->var->name);
      return known->second;
    }
    if (const auto* load = std::get_if<ir::Load>(&e->node)) {
      ir::Expr made = *e;
      auto& copied = std::get<ir::Load>(made.node);
      choose(load->buffer.get(), copied.index);
      copied.buffer = buffer(load->buffer, locals_);
      return std::make_shared<const ir::Expr>(std::move(made));
    }
    return nullptr;
  });
}

/// An index of a tile that is there several times says which one.
void Copier::choose(const ir::BufferDecl* of, std::vector<ExprRef>& index) const {
  auto which = chosen_.find(of);
  if (which == chosen_.end()) return;
  if (index.size() == 1) index.insert(index.begin(), ir::typed_int(DType::i32, 0));
  index.insert(index.begin(), which->second);
}

StmtRef Copier::statement(const Stmt& of) {
  Members members(*this);
  StmtNode made = std::visit([&](const auto& s) { return StmtNode(members.copy(s)); }, of.node);
  if (change_) made = change_(of, std::move(made));
  return std::make_shared<const Stmt>(Stmt{of.loc, of.origin, std::move(made)});
}

Body Copier::body(const Body& of) {
  Body out;
  for (const StmtRef& stmt : of) out.push_back(statement(*stmt));
  return out;
}

}  // namespace plait::fuse
