#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "plan/limits.h"
#include "plan/line.h"
#include "plan/schedule.h"
#include "syntax/utf8.h"

namespace plait::plan {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMostCycles = std::int64_t{1} << 40;

/// The value that a word names, where it names one.
template <typename E>
std::optional<E> named(std::string_view word, std::initializer_list<E> all) {
  for (E value : all) {
    if (name_of(value) == word) return value;
  }
  return std::nullopt;
}

std::optional<machine::UnitKind> unit_named(std::string_view word) {
  static const std::vector<machine::UnitKind> all = {
#define PLAIT_UNIT(id, unit, what) machine::UnitKind::id,
#include "machine/kinds.def"
#undef PLAIT_UNIT
  };
  for (machine::UnitKind kind : all) {
    if (machine::name_of(kind) == word) return kind;
  }
  return std::nullopt;
}

class Parser {
 public:
  Parser(SourceRef source, Diagnostics& diags) : source_(std::move(source)), diags_(diags) {}

  Schedule schedule() {
    auto lines = static_cast<int>(std::count(source_->text().begin(), source_->text().end(), '\n')) + 1;
    for (int number = 1; number <= lines && diags_.list().size() < kMostErrors; ++number) {
      Line line(source_, number, diags_);
      if (line.blank()) continue;
      line_ = &line;
      if (line.indented()) {
        inner();
      } else {
        head();
      }
      line.finish();
    }
    if (!head_seen_ && !diags_.has_errors()) {
      diags_.error(Rule::schedule_text, {source_, 1, 1}, "the text has no schedule",
                   "begin with a line such as: schedule KERNEL device h200");
    }
    return std::move(schedule_);
  }

 private:
  enum class Part { none, place, loop, region };

  // Lines at the left margin
  void head() {
    const Lexeme first = line_->cur();
    if (!head_seen_ && !line_->at("schedule")) {
      line_->expected("schedule KERNEL device DEVICE");
      head_seen_ = true;
    } else if (line_->accept("schedule")) {
      title(first);
    } else if (line_->accept("place")) {
      if (place_seen_) line_->fail(Rule::schedule_text, "the part 'place' is given twice");
      line_->expect(":");
      place_seen_ = true;
      part_ = Part::place;
    } else if (line_->accept("loop")) {
      loop(first);
    } else if (line_->accept("region")) {
      region(first);
    } else {
      line_->expected("'place:', 'loop' or 'region'");
      part_ = Part::none;
    }
  }

  void title(const Lexeme& first) {
    if (head_seen_) return line_->fail(Rule::schedule_text, "a second schedule", "a file holds one schedule");
    head_seen_ = true;
    schedule_.kernel = line_->name("the name of the kernel");
    line_->expect("device");
    schedule_.device = line_->device();
    schedule_.at.loc = line_->span(first);
  }

  void loop(const Lexeme& first) {
    LoopPlan plan;
    plan.loop = line_->statement();
    if (line_->accept(":")) {
      std::set<std::string_view> seen;
      do {
        if (line_->accept("planner") && once(seen, "planner")) {
          plan.planner = line_->name("the name of the planner");
        } else if (line_->accept("ii") && once(seen, "ii")) {
          plan.ii = line_->integer("ii", 0, kMostCycles);
        } else {
          line_->expected("planner or ii");
        }
      } while (line_->accept(","));
    } else {
      line_->expected("':' behind the loop");
    }
    plan.at.loc = line_->span(first);
    part_ = Part::loop;
    schedule_.loops.push_back(std::move(plan));
  }

  void region(const Lexeme& first) {
    RegionPlan plan;
    plan.region = line_->statement();
    if (line_->accept(":")) {
      std::set<std::string_view> seen;
      do {
        if (line_->accept("planner") && once(seen, "planner")) {
          plan.planner = line_->name("the name of the planner");
        } else if (line_->accept("makespan") && once(seen, "makespan")) {
          plan.makespan = line_->integer("the makespan", 0, kMostCycles);
        } else {
          line_->expected("planner or makespan");
        }
      } while (line_->accept(","));
    } else {
      line_->expected("':' behind the region");
    }
    plan.at.loc = line_->span(first);
    part_ = Part::region;
    schedule_.regions.push_back(std::move(plan));
  }

  // Indented lines
  void inner() {
    switch (part_) {
      case Part::none:
        // What stands above it has been refused, or there is nothing.
        if (!diags_.has_errors()) line_->expected("'place:', 'loop' or 'region' at the left margin above this line");
        return line_->skip();
      case Part::place:
        return place_line();
      case Part::loop:
        return loop_line(schedule_.loops.back());
      case Part::region:
        return region_line(schedule_.regions.back());
    }
  }

  bool at_statement() const { return line_->cur().kind == Lexeme::word && line_->ahead(1).text == "@"; }

  void place_line() {
    const Lexeme first = line_->cur();
    Place& place = schedule_.place;
    if (at_statement()) {
      place.atoms.push_back(atom());
      place.atoms.back().at.loc = line_->span(first);
    } else if (line_->accept("work")) {
      if (std::exchange(work_seen_, true)) line_->fail(Rule::schedule_text, "the work map is given twice");
      work(place.work);
      place.work.at.loc = line_->span(first);
    } else if (line_->accept("role")) {
      place.roles.push_back(role());
      place.roles.back().at.loc = line_->span(first);
    } else if (line_->accept("stage")) {
      place.stagings.push_back(staging());
      place.stagings.back().at.loc = line_->span(first);
    } else {
      line_->expected("work, role, stage or a statement (kind@line)");
    }
  }

  template <typename E>
  E word(std::string_view what, std::initializer_list<E> all) {
    auto value = named(line_->cur().text, all);
    if (!line_->failed() && value) {
      line_->accept(line_->cur().text);
      return *value;
    }
    std::string names;
    for (E choice : all) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(choice));
    line_->expected(fmt::format("{}: {}", what, names));
    return *all.begin();
  }

  int count(std::string_view what) { return static_cast<int>(line_->integer(what, 1, kMostCount)); }

  /// Whether `clause` is said for the first time.
  bool once(std::set<std::string_view>& seen, std::string_view clause) {
    if (seen.insert(clause).second) return true;
    line_->fail(Rule::schedule_text, fmt::format("'{}' is given twice", clause));
    return false;
  }

  void work(Work& work) {
    using enum WorkKind;
    work.kind = word("a work map", {plain, persistent, dynamic, stream_k});
    std::set<std::string_view> seen;
    while (line_->accept(",")) {
      if (line_->accept("order") && once(seen, "order")) {
        tile_order(work);
      } else if (line_->accept("cluster") && once(seen, "cluster")) {
        line_->expect("(");
        work.cluster_x = count("the blocks of a cluster");
        line_->expect(",");
        work.cluster_y = count("the blocks of a cluster");
        line_->expect(")");
      } else if (line_->accept("heads") && once(seen, "heads")) {
        work.heads = count("the heads together");
      } else if (line_->accept("split_k") && once(seen, "split_k")) {
        work.split_k = count("split_k");
      } else if (line_->accept("occupancy") && once(seen, "occupancy")) {
        work.occupancy = count("the blocks of a multiprocessor");
      } else {
        line_->expected("order, cluster, heads, split_k or occupancy");
      }
    }
  }

  void tile_order(Work& work) {
    using enum TileOrder;
    work.order = word("an order of tiles", {rows, grouped, hilbert, longest_first, paired});
    if (work.order != grouped) return;
    line_->expect("(");
    work.group = count("the group");
    line_->expect(")");
  }

  Role role() {
    Role role;
    role.name = line_->name("the name of the role");
    line_->expect(":");
    std::set<std::string_view> seen;
    do {
      if (line_->accept("warps") && once(seen, "warps")) {
        role.warps = count("warps");
      } else if (line_->accept("replicas") && once(seen, "replicas")) {
        role.replicas = count("replicas");
        if (!line_->accept("over")) continue;
        Axis over = word("what replicas share out", {Axis::rows, Axis::columns});
        if (role.replicas > 1) role.over = over;
      } else if (line_->accept("regs") && once(seen, "regs")) {
        role.regs = count("regs");
      } else {
        line_->expected("warps, replicas or regs");
      }
    } while (line_->accept(","));
    if (!seen.contains("warps")) line_->expected("warps");
    return role;
  }

  Atom atom() {
    using enum Instruction;
    Atom atom;
    atom.stmt = line_->statement();
    line_->expect(":");
    atom.instruction = word("an instruction", {wgmma, mma, fma, tma, cp_async, vector, scalar});
    if (!has_shape(atom.instruction)) return atom;
    shape(atom);
    std::set<std::string_view> seen;
    while (line_->accept(",")) {
      if (line_->accept("A") && once(seen, "A")) {
        atom.a = word("where an operand lies", {Operand::shared, Operand::registers});
      } else if (line_->accept("B") && once(seen, "B")) {
        atom.b = word("where an operand lies", {Operand::shared, Operand::registers});
      } else if (line_->accept("swapped")) {
        atom.swapped = true;
      } else {
        line_->expected("A, B or swapped");
      }
    }
    return atom;
  }

  /// m64n256k16
  void shape(Atom& atom) {
    std::string text = line_->name("a shape such as m64n256k16");
    if (line_->failed()) return;
    const char *at = text.data(), *end = at + text.size();
    auto extent = [&](char letter, int& value) {
      if (at == end || *at != letter) return false;
      auto [stop, error] = std::from_chars(at + 1, end, value);
      at = stop;
      return error == std::errc() && value > 0;
    };
    bool good = extent('m', atom.m) && extent('n', atom.n) && extent('k', atom.k) && at == end;
    if (!good) line_->fail(Rule::schedule_text, fmt::format("'{}' is no shape", text), "write e.g. m64n256k16");
  }

  Staging staging() {
    Staging staging;
    staging.buffer = line_->name("the name of a buffer");
    if (line_->accept("direct")) {
      staging.via = StoreVia::direct;
      return staging;
    }
    line_->expect("through");
    staging.bytes = line_->integer("the bytes", 1, kMostBytes);
    std::int64_t scale = line_->accept("KiB") ? 1024 : 1;
    if (scale == 1) line_->expect("B");
    staging.bytes *= scale;
    line_->expect(",");
    staging.via = word("a store", {StoreVia::tma, StoreVia::vector});
    line_->expect("store");
    return staging;
  }

  void loop_line(LoopPlan& plan) {
    const Lexeme first = line_->cur();
    if (at_statement()) {
      plan.slots.push_back(slot());
      plan.slots.back().at.loc = line_->span(first);
    } else if (line_->accept("ring")) {
      plan.rings.push_back(ring());
      plan.rings.back().at.loc = line_->span(first);
    } else if (line_->accept("versions")) {
      Versions versions;
      versions.buffer = line_->name("the name of a buffer");
      line_->expect(":");
      versions.count = static_cast<int>(line_->integer("the versions", -kMostCount, kMostCount));
      versions.at.loc = line_->span(first);
      plan.versions.push_back(std::move(versions));
    } else if (line_->accept("token")) {
      Token token;
      token.from = line_->statement();
      line_->expect("->");
      token.to = line_->statement();
      token.at.loc = line_->span(first);
      plan.tokens.push_back(std::move(token));
    } else {
      line_->expected("a statement (kind@line), ring, versions or token");
    }
  }

  void region_line(RegionPlan& plan) {
    const Lexeme first = line_->cur();
    if (!at_statement()) return line_->expected("a statement (kind@line)");
    plan.order.push_back({line_->statement(), {}});
    plan.order.back().at.loc = line_->span(first);
  }

  Slot slot() {
    Slot slot;
    slot.stmt = line_->statement();
    line_->expect(":");
    std::set<std::string_view> seen;
    auto number = [&](std::string_view what) {
      return static_cast<int>(line_->integer(what, -kMostCount, kMostCount));
    };
    do {
      if (line_->accept("role") && once(seen, "role")) {
        slot.role = line_->name("the name of a role");
      } else if (line_->accept("unit") && once(seen, "unit")) {
        unit(slot);
      } else if (line_->accept("stage") && once(seen, "stage")) {
        slot.stage = number("the stage");
      } else if (line_->accept("order") && once(seen, "order")) {
        slot.order = number("the order");
      } else if (line_->accept("in") && once(seen, "in flight")) {
        line_->expect("flight");
        slot.in_flight = static_cast<int>(line_->integer("what is in flight", 0, kMostCount));
      } else {
        line_->expected("role, unit, stage, order or in flight");
      }
    } while (line_->accept(","));
    for (std::string_view needed : {"unit", "stage", "order"}) {
      if (!seen.contains(needed)) line_->expected(needed);
    }
    return slot;
  }

  void unit(Slot& slot) {
    auto kind = unit_named(line_->cur().text);
    if (!kind) return line_->expected("a unit of the machine, e.g. tma, tensor or cuda");
    slot.unit = *kind;
    line_->accept(line_->cur().text);
  }

  Ring ring() {
    Ring ring;
    line_->expect("{");
    do {
      ring.buffers.push_back(line_->name("the name of a buffer"));
    } while (line_->accept(","));
    line_->expect("}");
    line_->expect(":");
    line_->expect("depth");
    ring.depth = static_cast<int>(line_->integer("the depth", -kMostCount, kMostCount));
    return ring;
  }

  SourceRef source_;
  Diagnostics& diags_;
  Schedule schedule_;
  Line* line_ = nullptr;
  Part part_ = Part::none;
  bool head_seen_ = false, place_seen_ = false, work_seen_ = false;
};

/// Text is UTF-8 without NUL bytes.
void check_bytes(const SourceRef& source, Diagnostics& diags) {
  const std::string& text = source->text();
  Loc loc{source, 1, 1};
  for (std::size_t at = 0, length = 0; at < text.size(); at += length) {
    length = syntax::utf8_char(std::string_view(text).substr(at)).length;
    if (length == 0 || text[at] == '\0') {
      diags.error(Rule::source_text, loc, length == 0 ? "the text is not UTF-8" : "the text contains a NUL byte",
                  length == 0 ? "save it as UTF-8" : "give a text file, not a binary one");
      return;
    }
    loc.column += static_cast<int>(length);
    if (text[at] != '\n') continue;
    ++loc.line;
    loc.column = 1;
  }
}

}  // namespace

Result<Schedule> parse(const SourceRef& text) {
  PLAIT_ASSERT(text != nullptr, "parse() without a source");
  Diagnostics diags;
  if (text->text().size() > kMostText) {
    diags.error(Rule::source_text, {text, 1, 1}, "the text is longer than 4 MiB, as no schedule is");
    return diags;
  }
  check_bytes(text, diags);
  if (diags.has_errors()) return diags;
  Schedule schedule = Parser(text, diags).schedule();
  if (diags.has_errors()) return diags;
  return schedule;
}

}  // namespace plait::plan
