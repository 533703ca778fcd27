#include "pipeline/hilbert.h"

namespace plait::pipeline {

using ir::DType;
using ir::Var;

namespace {

/// The rectangle that holds the cell: from a corner `along` cells in the direction of the curve and `across` beside it,
/// either of them negative for the opposite direction. `turned`: along means along the columns' axis.
class Rectangle {
 public:
  Rectangle(roles::build::Builder& b, FreshNames& names, const Value& number, const Value& rows, const Value& columns)
      : b_(b),
        names_(names),
        rest_(variable("rest", number)),
        turned_(b.var(names.in_role("turned"), DType::bool_, columns > rows)),
        row_(variable("row", 0)),
        column_(variable("column", 0)),
        along_(variable("along", max(rows, columns))),
        across_(variable("across", min(rows, columns))) {}

  Cell find() {
    b_.while_(length(along_) > 1 && length(across_) > 1, [&] { cut(); });
    // One row is left, or one column.
    Value single = length(along_) == 1;
    move(select(single, 0, sign(along_) * Value(rest_)), select(single, sign(across_) * Value(rest_), 0));
    return {row_, column_};
  }

 private:
  Var variable(const std::string& name, const Value& init) { return b_.var(names_.in_role(name), DType::i32, init); }
  static Value length(const Value& side) { return max(side, -side); }
  static Value sign(const Value& side) { return select(side < 0, -1, 1); }
  Value let(const std::string& name, const Value& value) { return b_.let(names_.in_role(name), value); }

  /// Half of a side, an even number of cells where the side is longer than two.
  Value half(const std::string& name, const Value& side) {
    Value plain = let(name, side / 2);
    Value odd = length(plain) % 2 == 1 && length(side) > 2;
    return let(name, plain + select(odd, sign(side), 0));
  }

  void move(const Value& along, const Value& across) {
    b_.set(row_, Value(row_) + select(turned_, across, along));
    b_.set(column_, Value(column_) + select(turned_, along, across));
  }

  void enter(const Value& along, const Value& across, bool turns) {
    b_.set(along_, along);
    b_.set(across_, across);
    if (turns) b_.set(turned_, !Value(turned_));
  }

  /// Goes on in the part that holds the cell.
  void cut() {
    FreshNames::Scope scope(names_);
    Value along = let("whole_along", along_), across = let("whole_across", across_);
    b_.if_(
        2 * length(along) > 3 * length(across), [&] { cut_long(along, across); }, [&] { cut_square(along, across); });
  }

  /// A long rectangle: one half behind the other.
  void cut_long(const Value& along, const Value& across) {
    FreshNames::Scope scope(names_);
    Value first = half("first", along), cells = let("cells", length(first) * length(across));
    b_.if_(
        Value(rest_) < cells, [&] { enter(first, across, false); },
        [&] {
          b_.set(rest_, Value(rest_) - cells);
          move(first, 0);
          enter(along - first, across, false);
        });
  }

  /// Up the first half, across, and down again.
  void cut_square(const Value& along, const Value& across) {
    FreshNames::Scope scope(names_);
    Value first = let("first", along / 2), step = half("step", across);
    Value up = let("up", length(step) * length(first));
    Value over = let("over", length(along) * length(across - step));
    b_.if_(
        Value(rest_) < up, [&] { enter(step, first, true); },
        [&] {
          b_.set(rest_, Value(rest_) - up);
          b_.if_(
              Value(rest_) < over,
              [&] {
                move(0, step);
                enter(along, across - step, false);
              },
              [&] {
                b_.set(rest_, Value(rest_) - over);
                move(along - sign(along), step - sign(across));
                enter(-step, first - along, true);
              });
        });
  }

  roles::build::Builder& b_;
  FreshNames& names_;
  Var rest_, turned_, row_, column_, along_, across_;
};

}  // namespace

Cell hilbert_cell(roles::build::Builder& b, FreshNames& names, const Value& number, const Value& rows,
                  const Value& columns) {
  return Rectangle(b, names, number, rows, columns).find();
}

}  // namespace plait::pipeline
