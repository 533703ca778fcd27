#include "roles/binder.h"

#include <fmt/format.h>

#include "ir/visit.h"
#include "lang/operations.h"
#include "lang/suggest.h"

namespace plait::roles {

const std::map<std::string, std::string>& defining_forms() {
  static const std::map<std::string, std::string> forms = {{"atomic_add", "old = atomic_add(T[i], e)"},
                                                           {"atomic_max", "old = atomic_max(T[i], e)"},
                                                           {"atomic_min", "old = atomic_min(T[i], e)"},
                                                           {"broadcast", "x = broadcast(e)"},
                                                           {"clock", "x = clock()"},
                                                           {"globaltimer", "x = globaltimer()"},
                                                           {"shuffle", "x = shuffle(e, lane)"}};
  return forms;
}
namespace {

const syntax::Name* base_name(const syntax::ExprRef& e) {
  if (e == nullptr) return nullptr;
  if (const auto* index = std::get_if<syntax::Index>(&e->node)) return base_name(index->base);
  return std::get_if<syntax::Name>(&e->node);
}

}  // namespace

Diagnostics& Binder::report_to(Diagnostics& diags) {
  names_.report_to(diags);
  return *std::exchange(diags_, &diags);
}

ir::Buffer Binder::stand_in(const std::string& name, const Loc& loc) {
  ir::BufferDecl decl;
  decl.name = name;
  decl.shape = {ir::typed_int(DType::i64, 1)};
  decl.loc = loc;
  return std::make_shared<const ir::BufferDecl>(std::move(decl));
}

void Binder::declare(const Smem& smem) {
  smems_[smem->buffer.get()] = smem;
  names_.define(smem->buffer->name, smem->buffer, smem->loc);
}

void Binder::declare(const Mbar& mbar) {
  ir::Buffer buffer = stand_in(mbar->name, mbar->loc);
  mbars_[buffer.get()] = mbar;
  names_.define(mbar->name, buffer, mbar->loc);
}

void Binder::declare(const Map& map) {
  ir::Buffer buffer = stand_in(map->name, map->loc);
  maps_[buffer.get()] = map;
  names_.define(map->name, buffer, map->loc);
}

void Binder::declare(const Channel& channel) {
  ir::Buffer buffer = stand_in(channel->name, channel->loc);
  channels_[buffer.get()] = channel;
  names_.define(channel->name, buffer, channel->loc);
}

void Binder::declare(const Fragment& fragment) {
  fragments_[fragment->buffer.get()] = fragment;
  names_.define(fragment->buffer->name, fragment->buffer, fragment->loc);
}

Var Binder::declare(const std::string& name, DType type, ir::VarKind kind, const Loc& loc, bool changes) {
  auto var = std::make_shared<const ir::VarDecl>(ir::VarDecl{name, type, kind, loc});
  if (changes) variables_.insert(var);
  names_.define(name, lang::Scalar{ir::var_ref(var, loc), {}}, loc);
  return var;
}

ExprRef Binder::raw(const syntax::ExprRef& e) {
  ExprRef value = names_.value(e);
  if (value == nullptr) return nullptr;
  ir::walk(value, [&](const ir::Expr& x) {
    const auto* load = std::get_if<ir::Load>(&x.node);
    std::string_view other = load == nullptr ? "" : stands_for(load->buffer.get());
    if (other.empty()) return;
    diags_->error(Rule::role_operand, x.loc, fmt::format("`{}` is {} and has no elements", load->buffer->name, other));
  });
  return value;
}

std::string_view Binder::stands_for(const ir::BufferDecl* buffer) const {
  if (mbars_.contains(buffer)) return "an mbar";
  if (maps_.contains(buffer)) return "a map";
  return channels_.contains(buffer) ? "a channel" : "";
}

ExprRef Binder::settle(const ExprRef& e, const Loc& loc) {
  if (e == nullptr || !e->weak || !ir::is_integer(e->type)) return ir::settle(e, loc, *diags_);
  return ir::convert_for_store(DType::i32, e, loc, *diags_);
}

ExprRef Binder::stored(DType type, const syntax::ExprRef& e) {
  ExprRef value = raw(e);
  return value == nullptr ? nullptr : ir::convert_for_store(type, value, e->loc, *diags_);
}

std::vector<ExprRef> Binder::values(const std::vector<syntax::ExprRef>& list) {
  std::vector<ExprRef> out;
  for (const syntax::ExprRef& e : list) out.push_back(value(e));
  return out;
}

std::optional<std::int64_t> Binder::constant(const syntax::ExprRef& e, std::string_view what, std::int64_t least,
                                             std::int64_t most) {
  return names_.constant(e, what, least, most);
}

std::vector<std::int64_t> Binder::constants(const std::vector<syntax::ExprRef>& list, std::string_view what,
                                            std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (const syntax::ExprRef& e : list) out.push_back(constant(e, what, least, most).value_or(least));
  return out;
}

ir::Buffer Binder::buffer(const std::string& name, DType type, ir::Scope scope,
                          const std::vector<syntax::ExprRef>& shape, std::int64_t pad, const Loc& loc) {
  lang::AllocInput in{name, type, scope, {}, {}, pad};
  for (const syntax::ExprRef& e : shape) in.shape.push_back(names_.value(e));
  if (ir::Buffer made = lang::make_buffer(in, loc, *diags_)) return made;
  return stand_in(name, loc);
}

ir::Buffer Binder::workspace(const std::string& name, DType type, const std::vector<syntax::ExprRef>& shape,
                             const Loc& loc) {
  ir::BufferDecl decl;
  decl.name = name;
  decl.type = type;
  decl.scope = ir::Scope::global;
  decl.loc = loc;
  for (const syntax::ExprRef& e : shape) {
    ExprRef extent = stored(DType::i64, e);
    decl.shape.push_back(extent != nullptr ? extent : ir::typed_int(DType::i64, 1));
  }
  auto made = std::make_shared<const ir::BufferDecl>(std::move(decl));
  names_.define(name, made, loc);
  return made;
}

ir::Buffer Binder::base(const syntax::ExprRef& e) const {
  const syntax::Name* name = base_name(e);
  const lang::Symbol* symbol = name == nullptr ? nullptr : names_.find(name->id);
  const auto* buffer = symbol == nullptr ? nullptr : std::get_if<ir::Buffer>(&symbol->entity);
  return buffer == nullptr ? nullptr : *buffer;
}

void Binder::wrong(const syntax::ExprRef& e, std::string_view what, std::string_view example) {
  const syntax::Name* name = base_name(e);
  if (e == nullptr) return;
  const lang::Symbol* symbol = name == nullptr ? nullptr : names_.find(name->id);
  if (name != nullptr && symbol == nullptr) {
    diags_->error(Rule::unknown_name, e->loc, fmt::format("unknown name `{}`", name->id),
                  lang::did_you_mean(name->id, names_.names()));
  } else if (symbol == nullptr || !std::holds_alternative<lang::Poison>(symbol->entity)) {
    diags_->error(Rule::role_operand, e->loc,
                  name == nullptr ? fmt::format("expected {}", what) : fmt::format("`{}` is not {}", name->id, what),
                  fmt::format("write {}", example));
  }
}

template <typename T>
T Binder::named(const Table<T>& table, const syntax::ExprRef& e, std::string_view what, std::string_view example) {
  T out = found(table, e);
  if (out == nullptr) wrong(e, what, example);
  return out;
}

std::vector<ExprRef> Binder::indices(const syntax::ExprRef& e) {
  std::vector<ExprRef> out;
  if (e == nullptr) return out;
  const auto* index = std::get_if<syntax::Index>(&e->node);
  if (index == nullptr) {
    diags_->error(Rule::role_index, e->loc, fmt::format("`{}` stands without its indices", base_name(e)->id),
                  fmt::format("write {}[...] with one index for each dimension", base_name(e)->id));
    return out;
  }
  for (const syntax::Slice& slice : index->slices) {
    if (slice.is_range) {
      diags_->error(Rule::role_index, e->loc, "a range stands where an index is expected",
                    "give where the tile begins; its extents follow from the statement");
      continue;
    }
    out.push_back(value(slice.begin));
  }
  return out;
}

void Binder::bare(const syntax::ExprRef& e, std::string_view what) {
  if (e == nullptr || std::holds_alternative<syntax::Name>(e->node)) return;
  diags_->error(Rule::role_index, e->loc, fmt::format("{} is named as a whole here, without indices", what));
}

SmemRef Binder::smem(const syntax::ExprRef& e) {
  Smem smem = named(smems_, e, "a shared tile", "a tile declared by smem, with its indices: A_s[i, 0, 0]");
  return {smem, smem == nullptr ? std::vector<ExprRef>{} : indices(e), e == nullptr ? Loc{} : e->loc};
}

FragmentRef Binder::fragment(const syntax::ExprRef& e) {
  Fragment fragment = named(fragments_, e, "a fragment", "a fragment with where it begins: acc[0, 0]");
  return {fragment, fragment == nullptr ? std::vector<ExprRef>{} : indices(e), e == nullptr ? Loc{} : e->loc};
}

bool Binder::is_tensor(const syntax::ExprRef& e) const {
  ir::Buffer buffer = base(e);
  return buffer != nullptr && buffer->scope == ir::Scope::global && stands_for(buffer.get()).empty();
}

ir::Buffer Binder::tensor_name(const syntax::ExprRef& e) {
  if (is_tensor(e)) return base(e);
  wrong(e, "a tensor parameter", "the name of a tensor parameter");
  return nullptr;
}

TensorRef Binder::tensor(const syntax::ExprRef& e) {
  ir::Buffer buffer = tensor_name(e);
  return {buffer, buffer == nullptr ? std::vector<ExprRef>{} : indices(e), e == nullptr ? Loc{} : e->loc};
}

MbarRef Binder::mbar(const syntax::ExprRef& e) {
  MbarRef ref{named(mbars_, e, "an mbar", "one barrier of an array declared by mbar: full[i]"), nullptr, {}};
  if (e == nullptr || ref.mbar == nullptr) return ref;
  ref.loc = e->loc;
  ref.index = only_index(e, "an mbar array");
  return ref;
}

ChannelRef Binder::channel(const syntax::ExprRef& e) {
  ChannelRef ref{named(channels_, e, "a channel", "one item of a channel, by its number: ring[n]"), nullptr, {}};
  if (e == nullptr || ref.channel == nullptr) return ref;
  ref.loc = e->loc;
  ref.index = only_index(e, "a channel");
  return ref;
}

ExprRef Binder::only_index(const syntax::ExprRef& e, std::string_view what) {
  std::vector<ExprRef> index = indices(e);
  if (index.size() > 1) diags_->error(Rule::role_index, e->loc, fmt::format("{} takes one index", what));
  return index.size() == 1 ? index.front() : nullptr;
}

Mbar Binder::mbar_name(const syntax::ExprRef& e) {
  bare(e, "an mbar array");
  return named(mbars_, e, "an mbar", "the name of an array declared by mbar");
}

Map Binder::map_name(const syntax::ExprRef& e) {
  bare(e, "a map");
  return named(maps_, e, "a map", "the name of a map");
}

Smem Binder::smem_name(const syntax::ExprRef& e) {
  bare(e, "a tile");
  return named(smems_, e, "a shared tile", "the name of a tile declared by smem");
}

Fragment Binder::fragment_name(const syntax::ExprRef& e) {
  bare(e, "a fragment");
  return named(fragments_, e, "a fragment", "the name of a fragment");
}

std::pair<Map, std::vector<ExprRef>> Binder::map_at(const syntax::ExprRef& e) {
  Map map = named(maps_, e, "a map", "a map with where its box begins: A_map[r, c]");
  return {map, map == nullptr ? std::vector<ExprRef>{} : indices(e)};
}

Var Binder::variable(const std::string& name, const Loc& loc) {
  const lang::Symbol* symbol = names_.find(name);
  if (symbol == nullptr) {
    diags_->error(Rule::unknown_name, loc, fmt::format("unknown name `{}`", name),
                  lang::did_you_mean(name, names_.names(), fmt::format("define it with var {}: i32 = 0", name)));
    return nullptr;
  }
  const auto* scalar = std::get_if<lang::Scalar>(&symbol->entity);
  const auto* ref = scalar == nullptr ? nullptr : std::get_if<ir::VarRef>(&scalar->expr->node);
  if (ref != nullptr && variables_.contains(ref->var)) return ref->var;
  if (std::holds_alternative<lang::Poison>(symbol->entity)) return nullptr;
  diags_
      ->error(Rule::role_set, loc, fmt::format("`{}` is no variable and keeps its value", name),
              fmt::format("define it with var {}: i32 = e", name))
      .notes.push_back({symbol->loc, fmt::format("`{}` is defined here", name)});
  return nullptr;
}

}  // namespace plait::roles
