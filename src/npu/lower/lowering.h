#pragma once

#include <map>

#include "npu/costs.h"
#include "npu/lower/elements.h"
#include "npu/lower/mail.h"
#include "npu/lower/rows.h"
#include "pipeline/work_map.h"

namespace plait::npu {

/// Where the lowering of one kernel stands: a separated kernel and its schedule become a role program of the roles
/// `aic` and `aiv`, whose statements issue tasks.
class Lowering {
 public:
  Lowering(const ir::Kernel& kernel, const plan::Schedule& schedule, const machine::Device& device);
  Result<roles::Program> run();
  int vector_cores() const { return rows_.cores(); }

 private:
  struct Step {
    ir::StmtRef stmt;
    int stage = 0, order = 0;
  };
  /// What a role takes before a statement of a list, and gives back behind it.
  struct Ends {
    std::vector<std::size_t> receive, release;
  };
  /// Neighbours of one stage, and so of one iteration.
  struct Group {
    int stage = 0;
    std::vector<std::pair<Step, Ends>> steps;
  };

  // head.cpp
  void head();
  void declare(const ir::Buffer& buffer);
  int copies_of(const ir::Buffer& buffer) const;
  bool supported();
  void check_schedule();
  void check_versions(const ir::Body& body, const ir::Buffer& buffer);
  void check_tensors();
  void check_computed();
  void refuse(const Loc& loc, const std::string& what, const std::string& fix = {});

  // lowering.cpp: what both roles do
  void role(Core core);
  void body(const ir::Body& body);
  void statement(const ir::StmtRef& stmt);
  void branch(const ir::If& node);
  void serial_loop(const ir::For& loop);
  void while_loop(const ir::While& loop);
  bool reads_memory(const ir::ExprRef& expr) const;
  Value settled(const ir::ExprRef& expr, const std::string& name);
  void let(const ir::Let& node);
  std::vector<Ends> ends_of(const std::vector<ir::StmtRef>& list) const;
  void receive(const Ends& ends);
  void release(const Ends& ends, bool counts);

  // loops.cpp
  bool overlaps(const ir::For& loop, const plan::LoopPlan& plan) const;
  std::optional<std::vector<Step>> steps_of(const ir::For& loop, const plan::LoopPlan& plan);
  void pipelined_loop(const ir::For& loop, const plan::LoopPlan& plan);
  std::vector<Group> groups_of(const std::vector<Step>& steps) const;
  void turn(const ir::For& loop, const plan::LoopPlan& plan, const Group& group, const Value& iteration);
  void lets_for(const ir::Stmt& stmt, const ir::Body& body);

  // tasks.cpp
  void task(const ir::Stmt& stmt);
  void issue(const ir::Stmt& stmt, const plan::TaskCost& cost);
  void second_hop(std::size_t mail);
  roles::SmemRef place(const ir::Buffer& buffer, const Values& index);
  roles::SmemRef first_element(const ir::Buffer& buffer);
  Value item(std::size_t mail) const;
  void count(std::size_t mail, const Value& more);
  std::optional<std::size_t> mail_at(const ir::Stmt& stmt) const;

  std::string fresh(const std::string& name) { return names_.in_role(name); }
  struct BodyScope : pipeline::OpenBody {
    explicit BodyScope(Lowering& of) : OpenBody(of.scalars_, of.names_) {}
  };

  const ir::Kernel& kernel_;
  const plan::Schedule& schedule_;
  const machine::Device& device_;
  Homes homes_;
  graph::Names stmt_names_;
  std::vector<ir::Buffer> buffers_;
  std::vector<Mail> mail_;
  Rows rows_;
  roles::build::Builder b_;
  Scalars scalars_;
  pipeline::FreshNames names_;
  pipeline::WorkMap work_;
  Diagnostics diags_;
  Elements elements_;

  std::map<const ir::BufferDecl*, roles::Smem> tiles_;
  std::vector<roles::Channel> channels_;         ///< one a mail
  Core core_ = Core::cube;                       ///< whose role is being built
  std::vector<ir::Var> counters_;                ///< items of each channel that this role is done with
  std::map<std::size_t, Value> ahead_;           ///< items beyond that, in an iteration of a pipelined loop, by mail
  std::map<const ir::BufferDecl*, Value> slot_;  ///< of buffers that the loop being emitted has several copies of
  std::set<const ir::VarDecl*> computed_;        ///< lets whose values the vector cores alone know
  const ir::Task* measured_ = nullptr;           ///< whose one statement follows, with the author's cost
};

}  // namespace plait::npu
