#pragma once

#include <set>
#include <string>
#include <vector>

#include "pipeline/scalars.h"

namespace plait::pipeline {

/// Names for what a role program declares: the head's hold everywhere, those of a role in that role.
class FreshNames {
 public:
  /// `taken`: what nothing else may be called.
  explicit FreshNames(std::set<std::string> taken) : head_(std::move(taken)) {}
  const std::set<std::string>& of_head() const { return head_; }
  void take(const std::string& name) { head_.insert(name); }

  /// The name, with a number behind it where it is taken.
  std::string in_role(const std::string& name);
  /// The same for a declaration of the head, which may come when roles have been lowered: with what is given `behind`
  /// the name it is the name of nothing else in any of them.
  std::string in_head(const std::string& name, const std::vector<std::string>& behind = {""});
  /// What was named so far belongs to the head.
  void close_head() { head_.insert(role_.begin(), role_.end()); }
  void begin_role() { role_.clear(); }

  /// Names given while it lives are free again at its end.
  class Scope {
   public:
    explicit Scope(FreshNames& of) : of_(of), kept_(of.role_) {}
    ~Scope() { of_.role_ = std::move(kept_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    FreshNames& of_;
    std::set<std::string> kept_;
  };

 private:
  std::set<std::string> head_, role_, used_;
};

/// An open body: names given inside are free again at its end, and so is what scalars know.
struct OpenBody {
  OpenBody(Scalars& of, FreshNames& fresh) : scalars(of), names(fresh) {}
  Scalars::Scope scalars;
  FreshNames::Scope names;
};

}  // namespace plait::pipeline
