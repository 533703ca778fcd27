#include "random/generator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plait::test {

namespace {

std::string indices_text(const std::vector<std::pair<std::string, int>>& indices) {
  std::vector<std::string> names;
  for (const auto& [name, extent] : indices) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string Generator::write() {
  choose_sizes();
  frame();
  return header() + body_;
}

void Generator::choose_sizes() {
  rows_ = rng_.pick({1, 2, 3, 4, 8, 16});
  columns_ = rng_.pick({1, 2, 4, 5, 8, 16});
  inner_ = rng_.pick({1, 2, 3, 4, 8});
  in_type_ = rng_.pick({"f32", "f32", "f16", "bf16", "f64", "i8", "u8", "i4", "e4m3", "e5m2", "e2m1", "tf32"});
  acc_type_ = in_type_ == "f64" ? "f64" : in_type_[0] == 'i' || in_type_[0] == 'u' ? "i32" : "f32";
  out_type_ = rng_.pick({"f32", "f16", "i32", "i8", "f64", "bf16", "i64", "u4", "i16", "u32", "u64"});
  persistent_ = rng_.chance(20);
  strided_ = rng_.chance(30);
}

std::string Generator::header() {
  const std::string strides = strided_ ? " strides [pitch, 1]" : "";
  std::string text = fmt::format(
      "def larger(x, y):\n  return select(x < y, y, x)\n\n"
      "kernel random(A: in {0}[M, K], B: in {0}[K, N], D: in {1}[M, N]{6}, bias: in f32[N],\n"
      "              C: out {1}[M, N], E: inout {2}[M, N], counts: inout i32[8], peaks: inout i32[8], total: inout "
      "{2}[{3}, {4}],\n"
      "              alpha: f32, n: i64{5}):\n",
      in_type_, out_type_, acc_type_, rows_, columns_, dumps(), strides);
  if (persistent_) return text + fmt::format("  grid block = {}\n", rng_.between(1, 5));
  return text + fmt::format("  grid bx = ceildiv(N, {}), by = ceildiv(M, {})\n", columns_, rows_);
}

/// A tensor for each tile that the blocks leave behind.
std::string Generator::dumps() const {
  std::string text;
  for (const Tile& tile : dumped_) {
    text += fmt::format(",\n              {0}_all: out {1}[ceildiv(M, {2}), ceildiv(N, {3}), {4}]", tile.name,
                        tile.type, rows_, columns_, fmt::join(tile.shape, ", "));
  }
  return text;
}

void Generator::frame() {
  const auto inside = [this] {
    statements(static_cast<int>(rng_.between(3, 9)));
    epilogue();
  };
  if (!persistent_) return inside();
  row_block_ = "ty";
  column_block_ = "tx";
  nested(fmt::format("for ty, tx in persistent(ceildiv(M, {}), ceildiv(N, {})):", rows_, columns_), inside);
}

/// Each block writes its own part of C, reads and writes its own part of E, and stores its tiles, so that what went
/// wrong in any of them shows.
void Generator::epilogue() {
  const std::string row = fmt::format("{} * {}", row_block_, rows_);
  const std::string column = fmt::format("{} * {}", column_block_, columns_);
  Tile& old = new_tile(acc_type_, {rows_, columns_});
  line(fmt::format("copy(E[{}, {}], {})", row, column, old.name));
  if (rng_.chance(50)) {
    const Tile* result = any_tile(2, acc_type_);
    line(fmt::format("copy({}[0:{}, 0:{}], E[{}, {}])", result->name, std::min(rows_, result->shape[0]),
                     std::min(columns_, result->shape[1]), row, column));
  }
  indices_ = {{"i", rows_}, {"j", columns_}};
  nested(fmt::format("for i, j in parallel({}, {}):", rows_, columns_), [&] {
    nested(fmt::format("if {} + i < M and {} + j < N:", row, column),
           [&] { line(fmt::format("C[{} + i, {} + j] = {}", row, column, expr(out_type_, 3))); });
  });
  indices_.clear();
  dumped_ = tiles_;
  for (const Tile& tile : dumped_) {
    const char* zeros = tile.shape.size() == 2 ? "0, 0" : "0";
    line(fmt::format("copy({0}, {0}_all[{1}, {2}, {3}])", tile.name, row_block_, column_block_, zeros));
  }
}

void Generator::line(const std::string& text) {
  body_ += std::string(static_cast<std::size_t>(indent_) * 2, ' ') + text + "\n";
}

template <typename Fn>
void Generator::nested(const std::string& header, Fn body) {
  line(header);
  const std::size_t tiles = tiles_.size(), lets = lets_.size();
  ++indent_;
  const std::size_t before = body_.size();
  body();
  if (body_.size() == before) line("pass");
  --indent_;
  tiles_.resize(tiles);
  lets_.resize(lets);
}

Tile& Generator::new_tile(const std::string& type, std::vector<int> shape) {
  Tile tile{fresh("t"), type, std::move(shape), rng_.chance(50)};
  std::string wish;
  if (rng_.chance(15)) wish = rng_.pick({" layout row_major", " pad 4", " layout column_major"});
  line(fmt::format("{} = {} {}[{}]{}", tile.name, tile.shared ? "shared" : "fragment", type,
                   fmt::join(tile.shape, ", "), tile.shared ? wish : ""));
  tiles_.push_back(std::move(tile));
  return tiles_.back();
}

Tile* Generator::any_tile(std::size_t rank, const std::string& type) {
  std::vector<Tile*> found;
  for (Tile& tile : tiles_) {
    if (tile.shape.size() == rank && (type.empty() || tile.type == type)) found.push_back(&tile);
  }
  return found.empty() ? nullptr : rng_.pick(found);
}

std::string Generator::begin(const std::string& block, int tile) {
  const auto choice = rng_.between(0, 4);
  if (choice == 0) return fmt::format("{} * {} - {}", block, tile, rng_.between(0, 3));
  if (choice > 2) return fmt::format("{} * {}", block, tile);
  const std::string base = uniform();
  return choice == 1 ? fmt::format("{} + {}", base, rng_.between(-3, 3))
                     : fmt::format("{} * {}", base, rng_.between(1, 4));
}

void Generator::statements(int count) {
  for (int n = 0; n < count; ++n) statement();
}

void Generator::statement() {
  const auto choice = rng_.between(0, 99);
  if (choice < 15 || tiles_.empty()) return load_tile();
  if (choice < 34) return elementwise();
  if (choice < 40) return scalar_loop();
  if (choice < 48) return reduce();
  if (choice < 58) return product();
  if (choice < 68) return loop();
  if (choice < 74) return branch();
  if (choice < 76) return store_rows();
  if (choice < 80) return running_sum();
  if (choice < 83) return transpose();
  if (choice < 86) return shift_within_tile();
  if (choice < 89) return load_rows();
  if (choice < 92) return count_atomically();
  if (choice < 94) return add_tile_atomically();
  if (choice < 96) return counted_while();
  if (choice < 99) return let();
  assert_something();
}

void Generator::load_tile() {
  struct Source {
    std::string name, type;
    std::vector<int> shape;
  };
  const Source source = rng_.pick(std::vector<Source>{{"A", in_type_, {rows_, inner_}},
                                                      {"B", in_type_, {inner_, columns_}},
                                                      {"D", out_type_, {rows_, columns_}},
                                                      {"bias", "f32", {columns_}}});
  const std::string type = rng_.chance(75) ? source.type : rng_.pick({"f32", "i32", "f16", "i8", "bf16"});
  std::vector<std::string> begins, valid;
  for (std::size_t d = 0; d < source.shape.size(); ++d) {
    begins.push_back(begin(d == 0 && source.shape.size() == 2 ? row_block_ : column_block_, source.shape[d]));
    valid.push_back(rng_.chance(50) ? std::to_string(rng_.between(0, 5)) : fmt::format("{} + 1", uniform()));
  }
  const Tile* tile = rng_.chance(30) ? any_tile(source.shape.size(), type) : nullptr;
  if (tile == nullptr || tile->shape != source.shape) tile = &new_tile(type, source.shape);
  std::string options;
  if (rng_.chance(25)) options += fmt::format(", pad={}", type[0] == 'u' ? 3 : -2);
  if (rng_.chance(20)) options += fmt::format(", valid=[{}]", fmt::join(valid, ", "));
  if (rng_.chance(10)) options += ", cache=evict_first";
  line(fmt::format("copy({}[{}], {}{})", source.name, fmt::join(begins, ", "), tile->name, options));
}

/// Rows of D in any order, some of them missing.
void Generator::load_rows() {
  const std::string rows = fresh("r");
  const char* type = rng_.pick({"i32", "i64"});
  line(fmt::format("{} = shared {}[{}]", rows, type, rows_));
  nested(fmt::format("for i in parallel({}):", rows_),
         [&] { line(fmt::format("{}[i] = {}(({} + i * 5) % 9 - 2)", rows, type, rng_.between(0, 8))); });
  const Tile& tile = new_tile(out_type_, {rows_, columns_});
  const std::string column = begin(column_block_, columns_);
  line(fmt::format("copy(D[{}, {}], {}, rows={})", rng_.between(0, 2), column, tile.name, rows));
}

/// Some rows of this block's part of E, in reverse order.
void Generator::store_rows() {
  const Tile* tile = any_tile(2);
  if (tile == nullptr || tile->shape != std::vector<int>{rows_, columns_}) return;
  const Tile from = *tile;
  const std::string rows = fresh("r");
  line(fmt::format("{} = shared i32[{}]", rows, rows_));
  nested(fmt::format("for i in parallel({}):", rows_), [&] {
    line(fmt::format("{}[i] = select(i % 3 == {}, i32(-1), i32({} - i))", rows, rng_.between(0, 3), rows_ - 1));
  });
  line(fmt::format("copy({}, E[{} * {}, {} * {}], rows={})", from.name, row_block_, rows_, column_block_, columns_,
                   rows));
}

/// One row of a tile, element after element: each may read what the ones before wrote.
void Generator::scalar_loop() {
  const Tile* tile = any_tile(2);
  if (tile == nullptr) return;
  const Tile target = *tile;
  const char* kind = rng_.pick({"range", "vectorized", "unrolled"});
  indices_ = {{"i", target.shape[1]}};
  nested(fmt::format("for i in {}({}):", kind, target.shape[1]), [&] {
    const auto row = rng_.between(0, target.shape[0] - 1);
    line(fmt::format("{}[{}, i] = {}", target.name, row, expr(target.type, 3)));
  });
  indices_.clear();
}

void Generator::elementwise() {
  const Tile* tile =
      rng_.chance(40) ? &tiles_[static_cast<std::size_t>(rng_.between(0, static_cast<std::int64_t>(tiles_.size()) - 1))]
                      : nullptr;
  Tile target;
  const bool fresh_tile = tile == nullptr;
  if (fresh_tile) {
    // Its elements count as written only behind the loop.
    const std::string type = rng_.pick({"f32", "i32", "f16", "f64", "i64", "bf16", "i8", "u8"});
    std::vector<int> shape{rows_, columns_};
    if (rng_.chance(30)) shape.erase(shape.begin() + rng_.between(0, 1));
    target = new_tile(type, shape);
    tiles_.pop_back();
  } else {
    target = *tile;
  }
  indices_.clear();
  for (std::size_t d = 0; d < target.shape.size(); ++d) indices_.emplace_back(d == 0 ? "i" : "j", target.shape[d]);
  own_ = fresh_tile ? "" : target.name;
  const std::string names = indices_text(indices_), place = fmt::format("{}[{}]", target.name, names);
  nested(fmt::format("for {} in parallel({}):", names, fmt::join(target.shape, ", ")), [&] {
    if (rng_.chance(25)) {
      const Tile local{fresh("x"), rng_.pick({"f32", "i32", "f16"}), {1}, false};
      line(fmt::format("{} = local {}[1]", local.name, local.type));
      line(fmt::format("{}[0] = {}", local.name, expr(local.type, 2)));
      tiles_.push_back(local);
    }
    if (!fresh_tile && rng_.chance(25)) {
      nested(fmt::format("if {}:", condition(1)), [&] { line(place + " = " + expr(target.type, 3)); });
    } else {
      line(place + " = " + expr(target.type, 3));
    }
  });
  indices_.clear();
  own_.clear();
  if (fresh_tile) tiles_.push_back(target);
}

Tile Generator::small_copy(Tile source) {
  const Tile tile = new_tile(source.type, source.shape);
  indices_.clear();
  for (std::size_t d = 0; d < tile.shape.size(); ++d) indices_.emplace_back(d == 0 ? "i" : "j", tile.shape[d]);
  const std::string names = indices_text(indices_);
  nested(fmt::format("for {} in parallel({}):", names, fmt::join(tile.shape, ", ")), [&] {
    const std::string from = fmt::format("{}[{}]", source.name, names);
    line(fmt::format("{}[{}] = {}", tile.name, names, small_whole(tile.type, from)));
  });
  indices_.clear();
  return tile;
}

void Generator::reduce() {
  const Tile* source = any_tile(rng_.chance(85) ? 2 : 1);
  if (source == nullptr) return;
  const bool sums = rng_.chance(50);
  const Tile from = sums ? small_copy(*source) : *source;
  const bool is_whole = from.type[0] == 'i' || from.type[0] == 'u';
  std::string op = sums ? rng_.pick({"sum", "abssum"}) : rng_.pick({"max", "min", "absmax", "argmax", "argmin"});
  if (is_whole && rng_.chance(25)) op = rng_.pick({"bitand", "bitor", "bitxor"});
  const bool arg = op.substr(0, 3) == "arg";
  const auto dim = static_cast<std::size_t>(rng_.between(0, static_cast<std::int64_t>(from.shape.size()) - 1));
  std::vector<int> shape = from.shape;
  shape[dim] = 1;
  if (shape.size() == 2 && rng_.chance(60)) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
  const Tile result = new_tile(arg ? "i32" : from.type, shape);
  const bool keeps = !arg && rng_.chance(25);
  if (keeps) line(fmt::format("fill({}, {})", result.name, rng_.between(0, 3)));
  line(fmt::format("reduce_{}({}, {}, dim={}{})", op, from.name, result.name, dim, keeps ? ", clear=false" : ""));
}

void Generator::product() {
  const bool trans_a = rng_.chance(30), trans_b = rng_.chance(30);
  const Tile a = new_tile(in_type_, trans_a ? std::vector<int>{inner_, rows_} : std::vector<int>{rows_, inner_});
  const Tile b = new_tile(in_type_, trans_b ? std::vector<int>{columns_, inner_} : std::vector<int>{inner_, columns_});
  const Tile c = new_tile(acc_type_, {rows_, columns_});
  const bool clears = rng_.chance(50);
  if (clears) line(fmt::format("clear({})", c.name));
  const auto body = [&](const std::string& k) {
    const std::string row = fmt::format("{} * {}", row_block_, rows_),
                      column = fmt::format("{} * {}", column_block_, columns_);
    const std::string depth = fmt::format("{} * {}", k, inner_);
    line(fmt::format("copy({}, {})",
                     trans_a ? fmt::format("B[{}, {}]", depth, row) : fmt::format("A[{}, {}]", row, depth), a.name));
    line(fmt::format("copy({}, {})",
                     trans_b ? fmt::format("A[{}, {}]", column, depth) : fmt::format("B[{}, {}]", depth, column),
                     b.name));
    line(fmt::format("gemm({}, {}, {}{}{}{})", a.name, b.name, c.name, trans_a ? ", trans_A=true" : "",
                     trans_b ? ", trans_B=true" : "", clears ? "" : ", clear_accum=true"));
  };
  if (!clears || in_pipeline_ || rng_.chance(30)) return body(std::to_string(rng_.between(0, 2)));
  const std::string k = fresh("k");
  nested(fmt::format("for {} in pipelined(ceildiv(K, {}), stages={}):", k, inner_, rng_.between(0, 4)),
         [&] { body(k); });
  // Without iterations they are not written.
  tiles_.erase(tiles_.end() - 3, tiles_.end() - 1);
}

void Generator::loop() {
  if (depth_ >= 2) return elementwise();
  const std::string var = fresh("k");
  std::string kind = rng_.pick({"range", "range", "pipelined", "unrolled"});
  if (kind == "pipelined" && in_pipeline_) kind = "range";
  std::string bounds =
      rng_.pick({std::string("3"), std::string("ceildiv(K, ") + std::to_string(inner_) + ")", std::string("n")});
  if (kind == "unrolled") bounds = "2";
  if (kind == "range" && rng_.chance(30)) {
    const auto from = rng_.between(-2, 2), to = rng_.between(0, 6), step = rng_.between(1, 3);
    bounds = fmt::format("{}, {}, {}", from, to, step);
  }
  if (kind == "pipelined") bounds += fmt::format(", stages={}", rng_.between(1, 4));
  const bool was_pipeline = in_pipeline_, was_allowed = break_allowed_;
  in_pipeline_ |= kind == "pipelined";
  break_allowed_ = kind == "range";
  ++depth_;
  nested(fmt::format("for {} in {}({}):", var, kind, bounds), [&] {
    loops_.push_back(var);
    statements(static_cast<int>(rng_.between(1, 4)));
    if (break_allowed_ && rng_.chance(20)) {
      const char* op = rng_.pick({"==", ">"});
      nested(fmt::format("if {} {} {}:", var, op, rng_.between(0, 3)), [&] { line(rng_.pick({"break", "continue"})); });
      statements(1);
    }
    loops_.pop_back();
  });
  --depth_;
  in_pipeline_ = was_pipeline;
  break_allowed_ = was_allowed;
}

void Generator::branch() {
  if (depth_ >= 3) return elementwise();
  ++depth_;
  const bool was_allowed = break_allowed_;
  const std::string a = uniform(), b = uniform(), c = uniform();
  nested(fmt::format("if {} % 2 == {} or {} < {}:", a, rng_.between(0, 1), b, c),
         [&] { statements(static_cast<int>(rng_.between(1, 2))); });
  if (rng_.chance(20)) nested(fmt::format("elif {} > {}:", b, c), [&] { statements(1); });
  if (rng_.chance(50)) nested("else:", [&] { statements(1); });
  break_allowed_ = was_allowed;
  --depth_;
}

void Generator::running_sum() {
  const Tile* source = any_tile(2);
  if (source == nullptr) return;
  const Tile from = small_copy(*source);
  const bool in_place = rng_.chance(50);
  const Tile to = in_place ? from : new_tile(from.type, from.shape);
  const char* direction = rng_.chance(40) ? ", reverse=true" : "";
  line(fmt::format("cumsum({}, {}, dim={}{})", from.name, to.name, rng_.between(0, 1), direction));
}

void Generator::transpose() {
  const Tile* source = any_tile(2);
  if (source == nullptr) return;
  const Tile from = *source;
  const Tile to = new_tile(from.type, {from.shape[1], from.shape[0]});
  line(fmt::format("transpose({}, {})", from.name, to.name));
}

/// The two sides of a copy overlap.
void Generator::shift_within_tile() {
  const Tile* tile = any_tile(2);
  if (tile == nullptr || tile->shape[1] < 2) return;
  const int rows = tile->shape[0], width = tile->shape[1] - 1;
  const std::string left = fmt::format("{}[0:{}, 0:{}]", tile->name, rows, width);
  const std::string right = fmt::format("{}[0:{}, 1:{}]", tile->name, rows, width + 1);
  const bool forward = rng_.chance(50);
  line(fmt::format("copy({}, {})", forward ? left : right, forward ? right : left));
}

void Generator::count_atomically() {
  const Tile* tile = any_tile(2);
  if (tile == nullptr) return;
  nested(fmt::format("for i, j in parallel({}, {}):", tile->shape[0], tile->shape[1]), [&] {
    const std::string place = fmt::format("[(i32({}[i, j]) % 8 + 8) % 8]", tile->name);
    if (rng_.chance(50)) return line(fmt::format("atomic_add(counts{}, {})", place, rng_.between(1, 3)));
    line(fmt::format("atomic_max(peaks{}, i32(i + j) - {})", place, rng_.between(0, 3)));
  });
}

void Generator::add_tile_atomically() {
  Tile* tile = any_tile(2, acc_type_);
  if (tile == nullptr || tile->shape != std::vector<int>{rows_, columns_}) return;
  const Tile from = small_copy(*tile);
  const auto row = rng_.between(-1, 1), column = rng_.between(0, 1);
  line(fmt::format("atomic_add(total[{}, {}], {})", row, column, from.name));
}

void Generator::counted_while() {
  if (depth_ >= 2 || in_pipeline_) return elementwise();
  const std::string count = fresh("c");
  line(fmt::format("{} = shared i64[1]", count));
  line(fmt::format("{}[0] = {}", count, rng_.between(0, 2)));
  ++depth_;
  const bool was_allowed = break_allowed_;
  break_allowed_ = false;
  nested(fmt::format("while {}[0] < {}:", count, rng_.pick({std::string("3"), std::string("n")})), [&] {
    line(fmt::format("{}[0] += 1", count));
    statements(static_cast<int>(rng_.between(1, 2)));
  });
  break_allowed_ = was_allowed;
  --depth_;
}

void Generator::let() {
  const std::string name = fresh("v");
  const std::string a = uniform(), b = uniform();
  line(fmt::format("{} = ({} + {}) % {}", name, a, b, rng_.between(2, 9)));
  lets_.push_back(name);
}

void Generator::assert_something() {
  line(fmt::format("assert {} >= 0 or {} < 0, \"holds\"", row_block_, row_block_));
  nested("task(latency=500, ii=64):", [&] { elementwise(); });
}

}  // namespace plait::test
