#include "roles/channel.h"

#include "ir/build.h"
#include "ir/visit.h"
#include "roles/visit.h"
#include "support/result.h"

namespace plait::roles {
namespace {

/// Collects how the statements of one role use the channels.
class Collector {
 public:
  using Uses = std::map<const ChannelDecl*, ChannelUse>;

  explicit Collector(const Program& program) {
    for (const Channel& channel : program.channels) {
      for (const Smem& tile : channel->tiles) channels_[tile->buffer.get()] = channel.get();
    }
  }

  Uses run(const Body& body) {
    uses_.clear();
    statements(body, Threads::all);
    return std::move(uses_);
  }

 private:
  void statements(const Body& body, Threads by) {
    for (const StmtRef& stmt : body) statement(*stmt, by);
  }

  void statement(const Stmt& stmt, Threads by) {
    std::visit(Overload{[&](const Elect& s) { statements(s.body, Threads::one); },
                        [&](const OneWarp& s) { statements(s.body, Threads::warp); },
                        [&](const auto&) {
                          Visitor inner;
                          inner.body = [&](const Body& body) { statements(body, by); };
                          visit(stmt, inner);
                        }},
               stmt.node);
    ends(stmt, by);
    accesses(stmt);
  }

  ChannelUse& of(const ChannelRef& ref) { return uses_[ref.channel.get()]; }

  void ends(const Stmt& stmt, Threads by) {
    std::visit(Overload{[&](const Acquire& s) { of(s.item).acquires = true; },
                        [&](const Publish& s) {
                          of(s.item).publishes = true;
                          of(s.item).publish_by.insert(by);
                        },
                        [&](const Receive& s) { of(s.item).receives = true; },
                        [&](const Release& s) {
                          of(s.item).releases = true;
                          of(s.item).release_by.insert(by);
                        },
                        [&](const TmaLoad& s) { copy(s.channel, s.multicast != nullptr); },
                        [&](const BulkLoad& s) { copy(s.channel, false); }, [](const auto&) {}},
               stmt.node);
  }

  void copy(const ChannelRef& ref, bool multicast) {
    if (ref.channel == nullptr) return;
    of(ref).copies = true;
    of(ref).multicast = of(ref).multicast || multicast;
  }

  void mark(const ir::BufferDecl* tile, bool ChannelUse::* flag) {
    auto it = channels_.find(tile);
    if (it != channels_.end()) uses_[it->second].*flag = true;
  }
  void mark(const SmemRef& ref, bool ChannelUse::* flag) { mark(ref.smem->buffer.get(), flag); }

  void accesses(const Stmt& stmt) {
    constexpr auto writes = &ChannelUse::thread_writes, reads = &ChannelUse::thread_reads;
    constexpr auto products = &ChannelUse::product_reads, copies = &ChannelUse::copy_reads;
    std::visit(
        Overload{[&](const Wgmma& s) {
                   if (const auto* a = std::get_if<SmemRef>(&s.a)) mark(*a, products);
                   mark(s.b, products);
                 },
                 [&](const TmaStore& s) { mark(s.src, copies); }, [&](const BulkStore& s) { mark(s.src, copies); },
                 [&](const CpAsync& s) { mark(s.dst, writes); }, [&](const StMatrix& s) { mark(s.dst, writes); },
                 [&](const StoreShared& s) { mark(s.dst, writes); }, [&](const PutShared& s) { mark(s.dst, writes); },
                 [&](const LdMatrix& s) { mark(s.src, reads); }, [&](const LoadShared& s) { mark(s.src, reads); },
                 [](const auto&) {}},
        stmt.node);
    Visitor look;
    look.expr = [&](const ExprRef& e) {
      ir::walk(e, [&](const ir::Expr& x) {
        const auto* load = std::get_if<ir::Load>(&x.node);
        if (load != nullptr && load->buffer->scope == ir::Scope::shared) mark(load->buffer.get(), reads);
      });
    };
    visit(stmt, look);
  }

  std::map<const ir::BufferDecl*, const ChannelDecl*> channels_;  ///< whose tile it is
  Uses uses_;
};

}  // namespace

ChannelPlan::ChannelPlan(const Program& program) : program_(program) {
  Collector collector(program);
  for (const Role& role : program.roles) uses_.push_back(collector.run(role.body));
}

const ChannelUse& ChannelPlan::use(std::size_t role, const ChannelDecl& channel) const {
  static const ChannelUse kNone;
  auto it = uses_[role].find(&channel);
  return it == uses_[role].end() ? kNone : it->second;
}

/// One thread speaks for those whose accesses need no more.
std::int64_t ChannelPlan::threads(std::size_t role, Threads by, bool together) const {
  switch (by) {
    case Threads::one:
      return 1;
    case Threads::warp:
      return kWarp;
    case Threads::all:
      return together ? std::int64_t{program_.roles[role].warps} * kWarp : 1;
  }
  return 1;
}

std::int64_t ChannelPlan::publish_arrivals(std::size_t role, const ChannelDecl& channel, Threads by) const {
  const ChannelUse& use = this->use(role, channel);
  return use.copies && !use.thread_writes ? 0 : threads(role, by, use.thread_writes);
}

std::int64_t ChannelPlan::release_arrivals(std::size_t role, const ChannelDecl& channel, Threads by) const {
  return threads(role, by, use(role, channel).thread_reads);
}

std::int64_t ChannelPlan::replicas(const ChannelDecl& channel, Flag flag) const {
  std::int64_t out = 0;
  for (std::size_t r = 0; r < uses_.size(); ++r) {
    if ((use(r, channel).*flag)()) out += program_.roles[r].replicas;
  }
  return out;
}

std::int64_t ChannelPlan::writers(const ChannelDecl& channel) const { return replicas(channel, &ChannelUse::writes); }
std::int64_t ChannelPlan::readers(const ChannelDecl& channel) const { return replicas(channel, &ChannelUse::reads); }

std::int64_t ChannelPlan::full_count(const ChannelDecl& channel) const {
  std::int64_t all = 0, one = 0;
  for (std::size_t r = 0; r < uses_.size(); ++r) {
    const ChannelUse& use = this->use(r, channel);
    if (!use.publishes) continue;
    one = (use.copies ? 1 : 0) + publish_arrivals(r, channel, *use.publish_by.begin());
    all += one * program_.roles[r].replicas;
  }
  return channel.writers ? *channel.writers * one : all;
}

std::int64_t ChannelPlan::empty_count(const ChannelDecl& channel) const {
  std::int64_t all = 0, one = 0;
  for (std::size_t r = 0; r < uses_.size(); ++r) {
    const ChannelUse& use = this->use(r, channel);
    if (!use.releases) continue;
    one = release_arrivals(r, channel, *use.release_by.begin());
    all += one * program_.roles[r].replicas;
  }
  return (channel.readers ? *channel.readers * one : all) * (multicast(channel) ? program_.cluster : 1);
}

bool ChannelPlan::any(const ChannelDecl& channel, bool ChannelUse::* flag) const {
  for (std::size_t r = 0; r < uses_.size(); ++r) {
    if (use(r, channel).*flag) return true;
  }
  return false;
}

bool ChannelPlan::fences_publish(std::size_t role, const ChannelDecl& channel) const {
  return use(role, channel).thread_writes &&
         (any(channel, &ChannelUse::product_reads) || any(channel, &ChannelUse::copy_reads));
}
bool ChannelPlan::fences_release(std::size_t role, const ChannelDecl& channel) const {
  return use(role, channel).thread_reads && any(channel, &ChannelUse::copies);
}
bool ChannelPlan::multicast(const ChannelDecl& channel) const { return any(channel, &ChannelUse::multicast); }

// ---- Bytes ---------------------------------------------------------------------------------------------------------

namespace {

constexpr std::int64_t kMaxTraffic = std::int64_t{1} << 40;

/// Sums the bytes of copies on one item.
class Bytes {
 public:
  Bytes(const ChannelRef& item, int cluster) : item_(item), cluster_(cluster) {}

  std::optional<std::int64_t> until_publish(std::span<const StmtRef> rest) const {
    std::int64_t total = 0;
    for (const StmtRef& stmt : rest) {
      const auto* publish = std::get_if<Publish>(&stmt->node);
      if (publish != nullptr && same(publish->item)) return total;
      auto bytes = of(*stmt);
      if (!bytes) return std::nullopt;
      total += *bytes;
      if (total > kMaxTraffic) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  using Sum = std::optional<std::int64_t>;

  bool same(const ChannelRef& other) const {
    return other.channel == item_.channel && ir::identical(other.index, item_.index);
  }

  Sum of(const Body& body) const {
    std::int64_t total = 0;
    for (const StmtRef& stmt : body) {
      auto bytes = of(*stmt);
      if (!bytes) return std::nullopt;
      total += *bytes;
    }
    return total;
  }

  Sum of(const Stmt& stmt) const {
    return std::visit(Overload{[&](const TmaLoad& s) { return of(s); }, [&](const BulkLoad& s) { return of(s); },
                               [&](const Elect& s) { return of(s.body); }, [&](const OneWarp& s) { return of(s.body); },
                               [&](const If& s) {
                                 Sum then_bytes = of(s.then_body), else_bytes = of(s.else_body);
                                 return then_bytes == else_bytes ? then_bytes : std::nullopt;
                               },
                               [&](const For& s) { return of(s); }, [&](const Set& s) { return of(s); },
                               [&](const While& s) { return of(s.body) == 0 ? Sum(0) : std::nullopt; },
                               [](const auto&) { return Sum(0); }},
                      stmt.node);
  }

  Sum of(const TmaLoad& s) const {
    if (s.channel.channel != item_.channel) return 0;
    if (!same(s.channel)) return std::nullopt;
    std::int64_t bits = ir::dtype_bits(s.map->tensor->type);
    for (std::int64_t extent : s.map->box) {
      if (extent < 1 || bits > kMaxTraffic / extent) return std::nullopt;
      bits *= extent;
    }
    if (s.multicast == nullptr) return bits / 8;
    // Each block sends to all: what it gets is what all of them send.
    bool everyone = cluster_ < 32 && ir::as_int(s.multicast) == (std::int64_t{1} << cluster_) - 1;
    return everyone ? Sum(bits / 8 * cluster_) : std::nullopt;
  }

  Sum of(const BulkLoad& s) const {
    if (s.channel.channel != item_.channel) return 0;
    return same(s.channel) ? ir::as_int(s.bytes) : std::nullopt;
  }

  /// Once its number changes, the item is told by other words.
  Sum of(const Set& s) const {
    bool changes = false;
    ir::walk(item_.index, [&](const ir::Expr& x) {
      const auto* ref = std::get_if<ir::VarRef>(&x.node);
      changes = changes || (ref != nullptr && ref->var == s.var);
    });
    return changes ? std::nullopt : Sum(0);
  }

  Sum of(const For& s) const {
    Sum once = of(s.body);
    if (once == 0) return 0;
    auto begin = ir::as_int(s.begin), end = ir::as_int(s.end), step = ir::as_int(s.step);
    if (!once || !begin || !end || !step || *step < 1) return std::nullopt;
    if (*end <= *begin) return 0;
    std::int64_t trips = (*end - *begin - 1) / *step + 1;
    return trips > kMaxTraffic / *once ? std::nullopt : Sum(trips * *once);
  }

  const ChannelRef& item_;
  int cluster_;
};

}  // namespace

std::optional<std::int64_t> copied_bytes(const Acquire& acquire, std::span<const StmtRef> rest, int cluster) {
  return Bytes(acquire.item, cluster).until_publish(rest);
}

}  // namespace plait::roles
