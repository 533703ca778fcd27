#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "roles/channel.h"
#include "roles/linear.h"
#include "roles/print.h"
#include "roles/uniform.h"
#include "roles/verify_parts.h"
#include "support/result.h"

namespace plait::roles {
namespace {

constexpr std::int64_t kMaxDepth = 1024;
constexpr std::int64_t kMaxItemBytes = (1 << 20) - 1;

bool is_channel_statement(const StmtNode& node) {
  return std::holds_alternative<Acquire>(node) || std::holds_alternative<Publish>(node) ||
         std::holds_alternative<Receive>(node) || std::holds_alternative<Release>(node);
}

class Channels {
 public:
  explicit Channels(const Check& check) : check_(check), program_(check.program), plan_(check.program) {
    for (const Channel& channel : program_.channels) {
      for (const Smem& tile : channel->tiles) tiles_.try_emplace(tile.get(), channel.get());
    }
  }

  void run() {
    for (const Channel& channel : program_.channels) declaration(*channel);
    prologue();
    for (role_ = 0; role_ < program_.roles.size(); ++role_) {
      const Body& role = program_.roles[role_].body;
      Uniformity uniform(program_, role);
      uniform_ = &uniform;
      body(role, Threads::all);
    }
    for (const Channel& channel : program_.channels) ends(*channel);
  }

 private:
  void error(Rule rule, const Loc& loc, std::string message, std::string fix = {}) {
    check_.diags.error(rule, loc.known() ? loc : program_.loc, std::move(message), std::move(fix));
  }

  // Declarations
  void declaration(const ChannelDecl& channel);
  void prologue();
  void ends(const ChannelDecl& channel);
  void replicas(const ChannelDecl& channel, std::optional<std::int64_t> said, std::int64_t there,
                std::string_view what);
  void arrivals(const ChannelDecl& channel);

  // Statements
  void body(const Body& body, Threads by);
  void within(const Stmt& stmt, Threads by);
  void together(const Stmt& stmt, Threads by);
  void acquire(const Stmt& stmt, const Acquire& s, std::span<const StmtRef> rest, Threads by);
  void copy(const Stmt& stmt, const SmemRef& dst, const ChannelRef& on);
  void slot(const Stmt& stmt, const SmemRef& dst, const ChannelRef& on);

  const Check& check_;
  const Program& program_;
  ChannelPlan plan_;
  std::map<const SmemDecl*, const ChannelDecl*> tiles_;  ///< whose they are
  std::size_t role_ = 0;
  const Uniformity* uniform_ = nullptr;
  std::vector<ExprRef> conditions_;  ///< of loops and branches around
};

// ---- Declarations --------------------------------------------------------------------------------------------------

void Channels::declaration(const ChannelDecl& channel) {
  if (channel.depth < 1 || channel.depth > kMaxDepth) {
    error(Rule::channel_depth, channel.loc, fmt::format("`{}` has {} slots", channel.name, channel.depth),
          fmt::format("a channel has 1 to {}", kMaxDepth));
  }
  if (channel.tiles.empty())
    error(Rule::channel_tile, channel.loc, fmt::format("`{}` is a channel of no tile", channel.name));
  std::set<const SmemDecl*> own;
  for (const Smem& tile : channel.tiles) {
    const ir::BufferDecl& buffer = *tile->buffer;
    if (!own.insert(tile.get()).second || tiles_[tile.get()] != &channel) {
      error(Rule::channel_tile, channel.loc,
            fmt::format("`{}` is a tile of `{}` already", buffer.name, tiles_[tile.get()]->name),
            "name it in one channel, once");
    } else if (buffer.shape.empty()) {
      error(Rule::channel_tile, channel.loc, fmt::format("`{}` has no dimensions", buffer.name));
    } else if (ir::as_int(buffer.shape.front()) != channel.depth) {
      error(Rule::channel_tile, channel.loc,
            fmt::format("`{}` has depth {}, and the first extent of its tile `{}` is {}", channel.name, channel.depth,
                        buffer.name, *ir::as_int(buffer.shape.front())));
    }
  }
}

void Channels::prologue() {
  walk(program_.prologue, [&](const Stmt& stmt) {
    Visitor look;
    look.channel = [&](const ChannelRef& ref) {
      error(Rule::channel_ends, loc_of(ref.loc, stmt), fmt::format("`{}` is used in the prologue", ref.channel->name),
            "use channels in roles");
    };
    visit(stmt, look);
  });
}

/// Who is at either end.
void Channels::ends(const ChannelDecl& channel) {
  std::int64_t writers = plan_.writers(channel), readers = plan_.readers(channel);
  if (writers == 0 && readers == 0) {
    check_.diags.add({Rule::channel_ends,
                      channel.loc,
                      fmt::format("`{}` is never used", channel.name),
                      "remove it",
                      {},
                      Severity::warning});
    return;
  }
  if (writers == 0) error(Rule::channel_ends, channel.loc, fmt::format("no role writes `{}`", channel.name));
  if (readers == 0) error(Rule::channel_ends, channel.loc, fmt::format("no role reads `{}`", channel.name));
  if (writers == 0 || readers == 0) return;
  replicas(channel, channel.writers, writers, "writers");
  replicas(channel, channel.readers, readers, "readers");
  arrivals(channel);
}

void Channels::replicas(const ChannelDecl& channel, std::optional<std::int64_t> said, std::int64_t there,
                        std::string_view what) {
  if (!said || (*said >= 1 && *said <= there)) return;
  error(Rule::channel_ends, channel.loc,
        fmt::format("`{}` has {} {} an item, and its roles have {} replicas", channel.name, *said, what, there));
}

/// Each replica of an end arrives as often for every item, or the barrier could not count.
void Channels::arrivals(const ChannelDecl& channel) {
  std::set<std::int64_t> published, released;  // of roles whose replicas take turns
  bool copies = false;
  for (std::size_t r = 0; r < program_.roles.size(); ++r) {
    const ChannelUse& use = plan_.use(r, channel);
    std::set<std::int64_t> publish, release;
    for (Threads by : use.publish_by) publish.insert(plan_.publish_arrivals(r, channel, by));
    for (Threads by : use.release_by) release.insert(plan_.release_arrivals(r, channel, by));
    for (const auto& [counts, word] : {std::pair(publish, "publishes"), std::pair(release, "releases")}) {
      if (counts.size() < 2) continue;
      error(Rule::channel_ends, program_.roles[r].loc,
            fmt::format("role `{}` {} `{}` here by one thread and there by several", program_.roles[r].name, word,
                        channel.name),
            "put all of them within elect, or all of them outside");
    }
    for (std::int64_t count : publish) published.insert(count + (use.copies ? 1 : 0));
    released.insert(release.begin(), release.end());
    copies = copies || use.copies;
  }
  if ((channel.writers && published.size() > 1) || (channel.readers && released.size() > 1)) {
    error(Rule::channel_ends, channel.loc,
          fmt::format("the roles that take turns at `{}` arrive by different numbers of threads", channel.name),
          "let all of them access its tiles alike, and stand in elect or outside of it alike");
  }
  if (channel.bytes && !copies)
    error(Rule::channel_bytes, channel.loc,
          fmt::format("`{}` has bytes {}, and no copy completes on it", channel.name, *channel.bytes),
          "leave bytes out");
}

// ---- Statements ----------------------------------------------------------------------------------------------------

void Channels::body(const Body& body, Threads by) {
  std::span<const StmtRef> rest(body);
  for (const StmtRef& stmt : body) {
    rest = rest.subspan(1);
    if (is_channel_statement(stmt->node)) together(*stmt, by);
    if (const auto* s = std::get_if<Acquire>(&stmt->node)) acquire(*stmt, *s, rest, by);
    if (const auto* s = std::get_if<TmaLoad>(&stmt->node)) copy(*stmt, s->dst, s->channel);
    if (const auto* s = std::get_if<BulkLoad>(&stmt->node)) copy(*stmt, s->dst, s->channel);
    within(*stmt, by);
  }
}

void Channels::within(const Stmt& stmt, Threads by) {
  std::size_t outer = conditions_.size();
  std::visit(Overload{[&](const For& s) { conditions_.insert(conditions_.end(), {s.begin, s.end, s.step}); },
                      [&](const While& s) { conditions_.push_back(s.cond); },
                      [&](const If& s) { conditions_.push_back(s.cond); }, [&](const Elect&) { by = Threads::one; },
                      [&](const OneWarp&) { by = Threads::warp; }, [](const auto&) {}},
             stmt.node);
  Visitor inner;
  inner.body = [&](const Body& nested) { body(nested, by); };
  visit(stmt, inner);
  conditions_.resize(outer);
}

/// Where several threads arrive, all of them come there.
void Channels::together(const Stmt& stmt, Threads by) {
  if (by == Threads::one) return;
  Uniform wanted = by == Threads::warp ? Uniform::warp : Uniform::replica;
  for (const ExprRef& cond : conditions_) {
    if (uniform_->of(cond) <= wanted) continue;
    check_.diags
        .error(
            Rule::uniform_condition, stmt.loc,
            fmt::format("threads that must run `{}` together may differ in `{}`", first_line(stmt), value_text(cond)))
        .notes.push_back({cond->loc, "the condition or bound is here"});
    return;
  }
}

void Channels::acquire(const Stmt& stmt, const Acquire& s, std::span<const StmtRef> rest, Threads by) {
  const ChannelDecl& channel = *s.item.channel;
  if (!plan_.use(role_, channel).copies) {
    if (s.bytes != nullptr)
      error(Rule::channel_bytes, stmt.loc,
            fmt::format("`{}`, and no copy of role `{}` completes on `{}`", first_line(stmt),
                        program_.roles[role_].name, channel.name),
            "leave bytes out");
    return;
  }
  if (by == Threads::warp)
    error(Rule::channel_ends, stmt.loc, fmt::format("a warp acquires `{}`, on which copies complete", channel.name),
          "acquire it within elect, where the copies stand");
  auto copied = copied_bytes(s, rest, program_.cluster);
  auto said = s.bytes != nullptr ? ir::as_int(s.bytes) : channel.bytes;
  if (!copied && !said && s.bytes == nullptr) {
    error(Rule::channel_bytes, stmt.loc,
          fmt::format("how many bytes the copies on `{}` bring from here to the publish is not plain", channel.name));
  } else if (copied && said && *copied != *said) {
    error(Rule::channel_bytes, stmt.loc,
          fmt::format("the copies on `{}` bring {} bytes, and {} are said", channel.name, *copied, *said),
          "leave bytes out, or correct it");
  } else if (std::int64_t bytes = said ? *said : copied.value_or(1); bytes < 1 || bytes > kMaxItemBytes) {
    error(Rule::channel_bytes, stmt.loc, fmt::format("an item of `{}` takes {} bytes of copies", channel.name, bytes),
          fmt::format("an item takes 1 to {}", kMaxItemBytes));
  }
}

void Channels::copy(const Stmt& stmt, const SmemRef& dst, const ChannelRef& on) {
  auto it = tiles_.find(dst.smem.get());
  if (on.channel == nullptr) {
    if (it != tiles_.end())
      error(Rule::channel_copy, loc_of(dst.loc, stmt),
            fmt::format("`{}` is a tile of channel `{}`, and this copy completes on an mbar", dst.smem->buffer->name,
                        it->second->name),
            fmt::format("write on {}[n]", it->second->name));
    return;
  }
  if (it == tiles_.end() || it->second != on.channel.get())
    error(Rule::channel_copy, loc_of(dst.loc, stmt),
          fmt::format("`{}` is no tile of `{}`", dst.smem->buffer->name, on.channel->name));
  if (!plan_.use(role_, *on.channel).acquires)
    error(Rule::channel_copy, loc_of(on.loc, stmt),
          fmt::format("role `{}` copies on `{}` and never acquires it", program_.roles[role_].name, on.channel->name),
          fmt::format("put acquire {} before the copy", text_of(on)));
  slot(stmt, dst, on);
}

/// `S[e % depth, …] on ring[n]` with another number than n.
void Channels::slot(const Stmt& stmt, const SmemRef& dst, const ChannelRef& on) {
  if (dst.index.size() != dst.smem->buffer->shape.size()) return;
  auto symbol = [](const ir::VarDecl& var) {
    return std::optional(Linear::symbol(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&var))));
  };
  ExprRef number = dst.index.front();
  const auto* mod = std::get_if<ir::Binary>(&number->node);
  if (mod != nullptr && mod->op == ir::BinaryOp::mod && ir::as_int(mod->b) == on.channel->depth) number = mod->a;
  auto a = linear(number, symbol), b = linear(on.index, symbol);
  if (!a || !b) return;
  Linear difference = *a - *b;
  if (!difference.is_constant() || difference.constant % std::max<std::int64_t>(on.channel->depth, 1) == 0) return;
  error(Rule::channel_copy, loc_of(dst.loc, stmt),
        fmt::format("the copy fills slot `{}` of `{}`, and completes on `{}`", value_text(dst.index.front()),
                    dst.smem->buffer->name, text_of(on)),
        fmt::format("write {} % {} as the first index", value_text(on.index), on.channel->depth));
}

}  // namespace

void check_channels(const Check& check) {
  Channels(check).run();
  check_rings(check);
}

}  // namespace plait::roles
