#include "planner/memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "store/plans.h"

namespace plait::planner {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const PlannedLoop& loop) {
  Json out = {{"kind", loop.loop.kind},
              {"line", loop.loop.line},
              {"nth", loop.loop.nth},
              {"planner", loop.planner},
              {"resource", loop.bounds.resource},
              {"critical", loop.bounds.critical},
              {"recurrence", loop.bounds.recurrence},
              {"ii", loop.ii},
              {"optimal", loop.optimal},
              {"why_not", loop.why_not},
              {"costs", loop.costs}};
  if (loop.in_program_order) out["in_program_order"] = *loop.in_program_order;
  return out;
}

PlannedLoop loop_of(const Json& from) {
  PlannedLoop loop;
  loop.loop = {from.at("kind"), from.at("line"), from.at("nth")};
  loop.planner = from.at("planner");
  loop.bounds.resource = from.at("resource");
  loop.bounds.critical = from.at("critical");
  loop.bounds.recurrence = from.at("recurrence");
  loop.ii = from.at("ii");
  loop.optimal = from.at("optimal");
  loop.why_not = from.at("why_not");
  loop.costs = from.at("costs");
  if (from.contains("in_program_order")) loop.in_program_order = from.at("in_program_order");
  return loop;
}

std::string text_of(const Remembered& plan) {
  Json loops = Json::array(), candidates = Json::array();
  for (const PlannedLoop& loop : plan.loops) loops.push_back(json_of(loop));
  for (const Candidate& c : plan.candidates) {
    Json one = {{"what", c.what}, {"refused", c.refused}};
    if (c.predicted) one["predicted"] = *c.predicted;
    candidates.push_back(std::move(one));
  }
  Json all = {{"schedule", plan::print(plan.schedule)},
              {"loops", std::move(loops)},
              {"candidates", std::move(candidates)},
              {"compared", static_cast<int>(plan.compared)}};
  return all.dump();
}

/// Nothing for a text of another form: someone has changed it.
std::optional<Remembered> remembered(const std::string& text) {
  try {
    Json all = Json::parse(text);
    Remembered plan;
    auto schedule = plan::parse(std::make_shared<SourceFile>("<plan>", all.at("schedule").get<std::string>()));
    const int unit = all.at("compared");
    if (!schedule || unit < 0 || unit >= sim::kUnits) return std::nullopt;
    plan.schedule = std::move(*schedule);
    plan.compared = static_cast<sim::Unit>(unit);
    for (const Json& loop : all.at("loops")) plan.loops.push_back(loop_of(loop));
    for (const Json& c : all.at("candidates")) {
      plan.candidates.push_back({c.at("what"), {}, c.at("refused")});
      if (c.contains("predicted")) plan.candidates.back().predicted = c.at("predicted").get<double>();
    }
    if (plan.candidates.empty()) return std::nullopt;
    return plan;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string text_of(const LoopCosts& costs) {
  std::string out = fmt::format("replicas {}", costs.replicas);
  for (const plan::TaskCost& cost : costs.tasks) {
    out += fmt::format("\n{} {} {}", cost.issue, cost.latency, cost.source);
    for (const auto& [unit, cycles] : cost.busy) out += fmt::format(" {} {}", machine::name_of(unit), cycles);
  }
  return out;
}

}  // namespace

std::string text_of(const place::Assumptions& a) {
  std::string granules;
  for (const auto& [name, bytes] : a.granules) granules += fmt::format(" {}={}", name, bytes);
  return fmt::format("unaligned {} ragged {} straddling {} granules{}", fmt::join(a.unaligned, ","),
                     fmt::join(a.ragged, ","), fmt::join(a.straddling, ","), granules);
}

Memory::Memory(const Options& options, const machine::Device& device, const roles::Program& base,
               const std::vector<graph::TaskGraph>& graphs, const std::vector<LoopCosts>& costs)
    : path_(options.store) {
  if (path_.empty()) return;
  key_ = fmt::format("{}\nplanner {}\n", store::build(), name_of(options.kind));
  for (const auto& [name, value] : options.dims) key_ += fmt::format("{}={} ", name, value);
  key_ += fmt::format("\n{}\n{}\n{}\n", text_of(options.assumptions), device.text, roles::print(base));
  for (std::size_t i = 0; i < graphs.size(); ++i)
    key_ += fmt::format("{}\n{}\n", graph::text_of(graphs[i]), text_of(costs[i]));
}

std::optional<Remembered> Memory::recall() {
  if (path_.empty()) return std::nullopt;
  auto store = store::Database::open(path_, store::Access::read);
  auto found = store ? store::find_plan(*store, key_) : store.diagnostics();
  if (found) return *found ? remembered(**found) : std::nullopt;
  failure_ = found.diagnostics().list().front().message;
  return std::nullopt;
}

void Memory::keep(const Remembered& plan) {
  if (path_.empty() || !failure_.empty()) return;
  auto store = store::Database::open(path_, store::Access::write);
  Diagnostics found = store ? store::put_plan(*store, key_, text_of(plan)) : store.diagnostics();
  if (found.has_errors()) failure_ = found.list().front().message;
}

std::optional<place::Remark> Memory::failure(const Loc& loc) const {
  if (failure_.empty()) return std::nullopt;
  return place::Remark{loc, "planned anew, and the plan is not kept: " + failure_};
}

}  // namespace plait::planner
