#pragma once

#include <string>
#include <vector>

namespace plait::explain {

/// Rows of cells in columns as wide as their widest cell.
class Table {
 public:
  /// `right`: numbers, which stand at the right of their column.
  explicit Table(std::vector<std::string> head, std::string right);
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.size() == 1; }
  std::string text(int indent) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::string right_;  ///< a character a column: `r` or `l`
};

}  // namespace plait::explain
