#include "ir/build.h"
#include "ir/visit.h"
#include "roles/channel.h"
#include "support/result.h"

// How many bytes copies bring for an item of a channel.
namespace plait::roles {

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
    std::int64_t bits = ir::dtype_bits(moved_type(*s.map));
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
