#include "roles/channel.h"

#include "ir/visit.h"
#include "roles/visit.h"

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
    // Threads that write over what came wait for it, and arrive when they have: as those that read.
    for (auto& [channel, use] : uses_) use.thread_reads = use.thread_reads || (use.thread_writes && !use.writes());
    return std::move(uses_);
  }

 private:
  void statements(const Body& body, Threads by) {
    for (const StmtRef& stmt : body) statement(*stmt, by);
  }

  void statement(const Stmt& stmt, Threads by) {
    if (const auto* elect = std::get_if<Elect>(&stmt.node)) {
      statements(elect->body, Threads::one);
    } else if (const auto* warp = std::get_if<OneWarp>(&stmt.node)) {
      statements(warp->body, Threads::warp);
    } else {
      Visitor inner;
      inner.body = [&](const Body& body) { statements(body, by); };
      visit(stmt, inner);
    }
    ends(stmt, by);
    accesses(stmt);
  }

  ChannelUse& of(const ChannelRef& ref) { return uses_[ref.channel.get()]; }

  void ends(const Stmt& stmt, Threads by) {
    if (const auto* s = std::get_if<Acquire>(&stmt.node)) of(s->item).acquires = true;
    if (const auto* s = std::get_if<Publish>(&stmt.node)) {
      of(s->item).publishes = true;
      of(s->item).publish_by.insert(by);
    }
    if (const auto* s = std::get_if<Receive>(&stmt.node)) of(s->item).receives = true;
    if (const auto* s = std::get_if<Release>(&stmt.node)) {
      of(s->item).releases = true;
      of(s->item).release_by.insert(by);
    }
    if (const auto* s = std::get_if<TmaLoad>(&stmt.node)) copy(s->channel, s->multicast != nullptr);
    if (const auto* s = std::get_if<BulkLoad>(&stmt.node)) copy(s->channel, false);
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
    if (const auto* s = std::get_if<Wgmma>(&stmt.node)) {
      if (const auto* a = std::get_if<SmemRef>(&s->a)) mark(*a, products);
      mark(s->b, products);
    }
    if (const auto* s = std::get_if<TmaStore>(&stmt.node)) mark(s->src, copies);
    if (const auto* s = std::get_if<BulkStore>(&stmt.node)) mark(s->src, copies);
    if (const auto* s = std::get_if<CpAsync>(&stmt.node)) mark(s->dst, writes);
    if (const auto* s = std::get_if<StMatrix>(&stmt.node)) mark(s->dst, writes);
    if (const auto* s = std::get_if<StoreShared>(&stmt.node)) mark(s->dst, writes);
    if (const auto* s = std::get_if<PutShared>(&stmt.node)) mark(s->dst, writes);
    if (const auto* s = std::get_if<AtomicShared>(&stmt.node)) {
      mark(s->dst, writes);
      mark(s->dst, reads);
    }
    if (const auto* s = std::get_if<LdMatrix>(&stmt.node)) mark(s->src, reads);
    if (const auto* s = std::get_if<LoadShared>(&stmt.node)) mark(s->src, reads);
    if (const auto* s = std::get_if<PutPiece>(&stmt.node)) mark(s->src, reads);
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

}  // namespace plait::roles
