#include "profile/isolate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/visit.h"
#include "profile/statements.h"
#include "roles/print.h"
#include "roles/visit.h"
#include "runtime/eval.h"

namespace plait::profile {
namespace {

using roles::Stmt;

constexpr double kExtent = 4096;  // of dims, and of what the host makes of them: no guard of a last tile is taken
constexpr int kAhead = 4;         // loads under way, where they follow each other
constexpr int kIndent = 6;

template <typename Node>
bool holds(const roles::Body& body) {
  bool found = false;
  roles::walk(body, [&](const Stmt& stmt) { found = found || std::holds_alternative<Node>(stmt.node); });
  return found;
}

template <typename Node>
std::vector<const Node*> all(const roles::Body& body) {
  std::vector<const Node*> found;
  roles::walk(body, [&](const Stmt& stmt) {
    if (const auto* node = std::get_if<Node>(&stmt.node)) found.push_back(node);
  });
  return found;
}

std::string text_of(const Stmt& stmt, int indent = 4) { return roles::print(stmt, indent); }

std::string extents(const std::vector<std::int64_t>& list) { return fmt::format("{}", fmt::join(list, ", ")); }

std::string head(const Isolated& task, const std::string& tensors, const std::string& device) {
  std::string scalars;
  for (const Given& given : task.given) scalars += fmt::format(", {}: {}", given.name, ir::dtype_name(given.type));
  return fmt::format(
      "roles isolated({}T: out u32[2, counters_]{}; replicas_ = 1, rounds_ = 64) device {}:\n"
      "  launch i32(counters_) / replicas_\n",
      tensors, scalars, device);
}

// ---- What threads compute ----

/// Zeros in a fragment that lies as declared; nothing for types of which no single elements are stored.
std::optional<std::string> zeros_in(const roles::FragmentDecl& f) {
  if (ir::dtype_bits(f.buffer->type) < 16) return std::nullopt;
  const bool row = f.buffer->shape.size() == 1;
  std::string name = f.buffer->name, at = row ? "r_" : "r_, c_";
  const bool whole = ir::is_integer(f.buffer->type);
  return fmt::format("    each {} in {}:\n      {}[{}] = {}\n", at, name, name, at, whole ? "0" : "0.0");
}

roles::Body without_awaits(const roles::Body& body) {
  roles::Body out = body;
  std::erase_if(out, [](const roles::StmtRef& s) { return std::holds_alternative<roles::WgmmaAwait>(s->node); });
  return out;
}

bool ends_awaited(const roles::Body& body) {
  const auto* await = std::get_if<roles::WgmmaAwait>(&body.back()->node);
  return await != nullptr && await->pending == 0;
}

/// Products alone, at the top of the body: nothing needs their result here.
bool products_only(const roles::Body& body) {
  bool commits = false;
  for (const roles::StmtRef& stmt : body) {
    bool fits = std::visit(
        Overload{[](const roles::Fence&) { return true; }, [](const roles::Wgmma&) { return true; },
                 [](const roles::WgmmaCommit&) { return true; }, [](const roles::WgmmaAwait&) { return true; },
                 [](const roles::Let&) { return true; }, [](const auto&) { return false; }},
        stmt->node);
    if (const auto* loop = std::get_if<roles::For>(&stmt->node); loop != nullptr)
      fits = loop->unroll == roles::Unroll::full && all<roles::Wgmma>(loop->body).size() == loop->body.size();
    commits = commits || std::holds_alternative<roles::WgmmaCommit>(stmt->node);
    if (!fits) return false;
  }
  return commits;
}

class OfThreads {
 public:
  OfThreads(const roles::Program& program, const roles::Role& role, Statements statements)
      : program_(program), role_(role), s_(std::move(statements)) {}

  Isolated run() {
    Isolated out;
    out.replicas = role_.replicas;
    if (!s_.barriers.empty()) out.why_not = fmt::format("`{}` waits for other threads", trimmed(s_.barriers.front()));
    if (!s_.tensors.empty()) out.why_not = fmt::format("threads access `{}`", s_.tensors.front());
    for (const roles::Fragment& f : s_.fragments) {
      if (!zeros_in(*f)) out.why_not = fmt::format("elements of `{}` are too narrow to be set", f->buffer->name);
    }
    if (!out.why_not.empty()) return out;
    const bool row = products_only(s_.body);
    out.way = row ? Way::in_a_row : Way::alone;
    for (const ir::Var& var : s_.free) out.given.push_back(given(var));
    out.text = head(out, "", program_.device);
    for (const roles::Smem& smem : s_.smem) out.text += fmt::format("  smem {}\n", roles::text_of(*smem));
    out.text += fmt::format("\n  role alone replicas replicas_ warps {}:\n", role_.warps);
    prepare(out);
    rounds(out, s_.body, 0);
    if (row) rounds(out, without_awaits(s_.body), 1);
    out.text += results_;
    return out;
  }

 private:
  static std::string trimmed(const std::string& text) { return text.substr(text.find_first_not_of(' ')); }

  Given given(const ir::Var& var) const {
    bool counts = ir::is_integer(var->type) && !s_.zeros.contains(var.get());
    return {var->name, var->type, counts ? kExtent : ir::is_integer(var->type) ? 0.0 : 1.0};
  }

  void prepare(Isolated& out) {
    for (const roles::StmtRef& let : s_.lets) out.text += text_of(*let);
    for (const roles::Fragment& f : s_.fragments) {
      out.text += fmt::format("    fragment {}\n", roles::text_of(*f));
      out.text += *zeros_in(*f);
    }
  }

  void keep(Isolated& out, int indent) const {
    std::vector<std::string> names;
    for (const roles::Fragment& f : s_.fragments) names.push_back(f->buffer->name);
    if (!names.empty()) out.text += fmt::format("{:{}}keep {}\n", "", indent, fmt::join(names, ", "));
  }

  void rounds(Isolated& out, const roles::Body& body, int section) {
    const bool awaits = holds<roles::Wgmma>(body);
    if (awaits) out.text += "    wgmma_await 0\n";
    keep(out, 4);
    out.text += fmt::format("    begin{}_ = clock()\n    for round_ in range(rounds_):\n", section);
    out.text += roles::print(body, kIndent);
    if (section == 0) {
      if (awaits && !ends_awaited(body)) out.text += "      wgmma_await 0\n";
      keep(out, kIndent);
    }
    if (section == 1) out.text += "      wgmma_await 1\n    wgmma_await 0\n";
    out.text += fmt::format("    end{}_ = clock()\n", section);
    if (section == 1) keep(out, 4);
    results_ +=
        fmt::format("    elect:\n      put T[{0}, block * replicas_ + replica] = end{0}_ - begin{0}_\n", section);
  }

  const roles::Program& program_;
  const roles::Role& role_;
  Statements s_;
  std::string results_;
};

// ---- What TMA brings ----

/// A load, in one run of the loops around it that are unrolled.
struct Box {
  const roles::TmaLoad* load;
  runtime::Env env;
};

void expand(const roles::Body& body, const runtime::Env& env, std::vector<Box>& boxes) {
  for (const roles::StmtRef& stmt : body) {
    if (const auto* load = std::get_if<roles::TmaLoad>(&stmt->node)) boxes.push_back({load, env});
    const auto* loop = std::get_if<roles::For>(&stmt->node);
    if (loop == nullptr) {
      roles::Visitor visitor;
      visitor.body = [&](const roles::Body& inner) { expand(inner, env, boxes); };
      roles::visit(*stmt, visitor);
      continue;
    }
    auto begin = ir::as_int(loop->begin), end = ir::as_int(loop->end), step = ir::as_int(loop->step);
    const bool literal = begin && end && step && *step > 0;
    for (std::int64_t i = literal ? *begin : 0; i < (literal ? *end : 1); i += literal ? *step : 1) {
      runtime::Env inner = env;
      inner[loop->var.get()] = runtime::int_value(i);
      expand(loop->body, inner, boxes);
    }
  }
}

class OfTma {
 public:
  OfTma(const roles::Program& program, std::vector<Box> boxes) : program_(program), boxes_(std::move(boxes)) {}

  Isolated run() {
    Isolated out;
    out.way = Way::in_a_row;
    out.loads = true;
    std::string tensors, maps, tiles, copies;
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      const roles::TmaLoad& load = *boxes_[i].load;
      if (load.multicast != nullptr) {
        out.why_not = "it brings a tile to several blocks at once";
        return out;
      }
      const std::vector<std::int64_t>& box = load.map->box;
      const ir::DType type = roles::moved_type(*load.map);
      // Each round takes the next boxes of a tensor that is as wide as they are.
      std::size_t along = row_of(box);
      std::vector<std::string> shape, at;
      for (std::size_t d = 0; d < box.size(); ++d) {
        shape.push_back(d == along ? fmt::format("counters_ * rounds_ * {}", 2 * box[d]) : fmt::format("{}", box[d]));
        at.push_back(d == along ? fmt::format("(block * 2 * rounds_ + {{2}}) * {}", box[d]) : "0");
      }
      tensors += fmt::format("X{}_: in {}[{}], ", i, ir::dtype_name(type), fmt::join(shape, ", "));
      maps += fmt::format("  map X{0}_map_ = X{0}_ box [{1}]{2}\n", i, extents(box),
                          roles::swizzle_text(load.map->swizzle));
      std::vector<std::int64_t> tile = ir::static_shape(*load.dst.smem->buffer);
      std::vector<std::int64_t> slots = {kAhead, tile[tile.size() - 2], tile.back()};
      const std::string& name = load.dst.smem->buffer->name;
      if (tiles.find(fmt::format("smem {}: ", name)) == std::string::npos)
        tiles += fmt::format("  smem {}: {}[{}]{}\n", name, ir::dtype_name(load.dst.smem->buffer->type), extents(slots),
                             roles::swizzle_text(load.dst.smem->swizzle));
      std::int64_t row = index_of(boxes_[i], 2), column = index_of(boxes_[i], 1);
      copies += fmt::format("{{1}}tma_load {5}[{{0}} % {1}, {2}, {3}] <- X{0}_map_[{4}] on full_[{{0}} % {1}]\n", i,
                            kAhead, row, column, fmt::join(at, ", "), name);
      bytes_ += bytes_of(box, type);
    }
    out.text = head(out, tensors, program_.device) + maps + tiles + barriers() + body(copies);
    return out;
  }

 private:
  /// The dimension of a box that counts its rows: the last but one of more than one element, else the first.
  static std::size_t row_of(const std::vector<std::int64_t>& box) {
    for (std::size_t d = box.size() - 1; d-- > 0;) {
      if (box[d] > 1) return d;
    }
    return box.size() > 1 ? box.size() - 2 : 0;
  }

  static std::int64_t bytes_of(const std::vector<std::int64_t>& box, ir::DType type) {
    std::int64_t bits = ir::dtype_bits(type);
    for (std::int64_t extent : box) bits *= extent;
    return bits / 8;
  }

  /// Where a box stands in its slot; what is known only when the kernel runs counts from its start.
  static std::int64_t index_of(const Box& box, std::size_t from_end) {
    const std::vector<ir::ExprRef>& index = box.load->dst.index;
    if (index.size() < from_end) return 0;
    runtime::Evaluated found = runtime::evaluate(*index[index.size() - from_end], box.env);
    return found.value ? found.value->i : 0;
  }

  static std::string barriers() {
    return fmt::format(
        "  mbar full_[{}] count 1\n\n  prologue:\n    elect:\n      mbar_init full_\n      fence mbar_init\n"
        "    sync_threads\n",
        kAhead);
  }

  std::string load(const std::string& round, const std::string& tile, const std::string& copies,
                   std::size_t indent) const {
    std::string margin(indent, ' ');
    return fmt::format("{}expect full_[{} % {}] bytes {}\n", margin, round, kAhead, bytes_) +
           fmt::vformat(copies, fmt::make_format_args(round, margin, tile));
  }

  std::string body(const std::string& copies) const {
    // Phases count on from the first section, whose rounds are a multiple of the slots.
    std::string text = "\n  role alone replicas replicas_ warps 1:\n    elect:\n      begin0_ = clock()\n";
    text += "      for i_ in range(rounds_):\n";
    text += load("i_", "i_", copies, 8);
    text += fmt::format("        wait full_[i_ % {0}] parity i_ / {0}\n", kAhead);
    text += "      end0_ = clock()\n      begin1_ = clock()\n";
    text += fmt::format("      for j_ in range(rounds_ + {}):\n        if j_ >= {}:\n", kAhead, kAhead);
    text += fmt::format("          wait full_[j_ % {0}] parity (rounds_ + j_ - {0}) / {0}\n", kAhead);
    text += "        if j_ < rounds_:\n";
    text += load("j_", "rounds_ + j_", copies, 10);
    text += "      end1_ = clock()\n";
    for (int section : {0, 1})
      text += fmt::format("      put T[{0}, block * replicas_ + replica] = end{0}_ - begin{0}_\n", section);
    return text;
  }

  const roles::Program& program_;
  std::vector<Box> boxes_;
  std::int64_t bytes_ = 0;
};

}  // namespace

Isolated isolate(const roles::Program& program, const graph::TaskGraph& graph, std::size_t node) {
  Isolated out;
  const roles::Role* role = nullptr;
  Statements statements;
  for (const roles::Role& candidate : program.roles) {
    Statements found = statements_of(program, candidate, graph, node);
    if (found.body.empty()) continue;
    // What a load brings, others only fence or announce.
    bool loads = holds<roles::TmaLoad>(found.body);
    if (role != nullptr && !loads) continue;
    role = &candidate;
    statements = std::move(found);
    if (loads) break;
  }
  if (role == nullptr) {
    out.why_not = "no statement of the loop's turn is its own";
    return out;
  }
  std::vector<Box> boxes;
  expand(statements.body, {}, boxes);
  if (!boxes.empty()) return OfTma(program, std::move(boxes)).run();
  if (holds<roles::Issue>(statements.body)) {
    out.why_not = "tasks of machine models run on no machine here";
    return out;
  }
  return OfThreads(program, *role, std::move(statements)).run();
}

}  // namespace plait::profile
