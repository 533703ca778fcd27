#include "random/schedules/writer.h"

#include <fmt/format.h>

#include <utility>

namespace plait::test {

namespace {

/// Multiply-adds of a call at most, so that one is simulated in milliseconds.
constexpr std::int64_t kMostWork = 1'200'000;
/// Elements of the vector of weights; loops have fewer iterations.
constexpr int kWeights = 16;

}  // namespace

void PipelinedWriter::line(const std::string& text) {
  body_ += std::string(static_cast<std::size_t>(2 * indent_), ' ') + text + "\n";
}

template <typename Fn>
void PipelinedWriter::nested(const std::string& head, Fn body) {
  line(head);
  ++indent_;
  const std::string let = let_;
  body();
  let_ = let;
  --indent_;
}

/// The statements, or the same with a cost that the author has measured, or where only some iterations do them.
template <typename Fn>
void PipelinedWriter::perhaps_guarded(int percent, const std::string& k, Fn body) {
  if (rng_.chance(percent / 3)) return nested("task(latency=500, ii=64):", body);
  if (!rng_.chance(percent)) return body();
  const auto bound = rng_.between(0, 3), kind = rng_.between(0, 3);
  const std::string edge = axes_ > 1 && rng_.chance(50) ? "by" : "bx";
  if (kind == 0) return nested(fmt::format("if {} < {}:", k, bound + 1), body);
  if (kind == 1) return nested(fmt::format("if {} <= {} + {}:", k, edge, bound), body);
  if (kind == 2) return nested(fmt::format("if {} > {}:", k, bound), body);
  nested(fmt::format("if ({} + {}) % 2 == 0:", k, edge), body);
}

// ---- What is written -----------------------------------------------------------------------------------------------

void PipelinedWriter::choose_sizes() {
  type_ = rng_.pick({"bf16", "f16"});
  out_ = rng_.chance(50) ? type_ : "f32";
  const auto form = rng_.between(1, 100);
  form_ = form <= 55 ? Form::product : form <= 80 ? Form::attention : Form::rows;
  axes_ = static_cast<int>(rng_.between(1, 3));
  depth_ = rng_.pick({16, 32, 32, 48, 64, 64, 80});
  rows_ = rng_.pick({64, 64, 64, 128});
  columns_ = rng_.pick({16, 24, 32, 48, 64, 64, 80, 96});
  head_ = rng_.pick({16, 32, 48, 64});
  trans_a_ = rng_.chance(25);
  trans_b_ = rng_.chance(60);
  if (form_ == Form::product && rng_.chance(12)) {  // few rows: computed as its transpose, or without tensor cores
    rows_ = rng_.pick({8, 16, 16, 32});
    columns_ = 64;
  }
  if (form_ == Form::attention) columns_ = rng_.pick({16, 32, 48, 64});
  if (form_ == Form::rows) {
    rows_ = rng_.pick({8, 16, 32, 64});
    columns_ = rng_.pick({16, 48, 64, 96, 128});
  }
  split_ = rng_.chance(45);       // the product goes into a fragment of its own, which is worked on
  second_ = rng_.chance(20);      // another product from the same left tile
  apart_ = rng_.chance(50);       // of tiles of its own
  vector_ = rng_.chance(30);      // a tile of one dimension
  in_memory_ = rng_.chance(60);   // work on rows: the tile is loaded to shared memory, else to registers
  serial_ = rng_.chance(20);      // a serial loop around
  twice_ = rng_.chance(20);       // another pipelined loop behind
  varying_ = rng_.chance(25);     // the trip count depends on the block
  causal_ = rng_.chance(40);      // so does the mask
  store_each_ = rng_.chance(40);  // work on rows: a result in each iteration
  if (form_ == Form::rows && store_each_) varying_ = false;
  through_memory_ = rng_.chance(10);  // the threads leave something in memory on the way
  keeps_ = rng_.chance(10);           // a product is kept in each iteration
  ends_early_ = rng_.chance(5);       // the loop may end before all iterations
  threads_ = rng_.chance(15);         // the author says how many threads there are
  inout_ = rng_.chance(10);           // the result is added to what is there
  if (varying_ || axes_ > 1 || serial_ || ends_early_) keeps_ = false;
  if (ends_early_) store_each_ = false;
  choose_type();
}

/// Now and then a type that tensor cores take in one order only, or not at all.
void PipelinedWriter::choose_type() {
  if (form_ != Form::product || !rng_.chance(12)) return;
  if (rng_.chance(70)) {
    type_ = rng_.pick({"e4m3", "e5m2"});
    if (depth_ % 32 != 0) depth_ = 32;
    trans_a_ = false;
    trans_b_ = true;
  } else {
    type_ = "f32";
    depth_ = 16;
    columns_ = rng_.pick({16, 24, 32});
  }
  if (out_ != "f32") out_ = "bf16";
  apart_ = false;
}

/// Extents of one call: few blocks, with and without tails, from no iteration on.
void PipelinedWriter::choose_calls() {
  trips_ = static_cast<int>(rng_.chance(25) ? rng_.between(0, 1) : rng_.between(2, 9));
  const bool rows = form_ == Form::rows;
  const std::int64_t step = form_ == Form::product ? depth_ : columns_;
  std::int64_t row_tiles = rng_.between(1, 3), column_tiles = axes_ > 1 ? rng_.between(1, 3) : 1;
  std::int64_t planes = axes_ > 2 ? rng_.between(1, 2) : 1;
  const std::int64_t each = std::int64_t{rows_} * columns_ *
                            (form_ == Form::product ? depth_
                             : rows                 ? 1
                                                    : 2 * head_) *
                            (serial_ ? 2 : 1) * (twice_ ? 2 : 1) * (second_ ? 2 : 1);
  while (trips_ > 2 && each * trips_ > kMostWork) --trips_;
  for (std::int64_t* tiles : {&column_tiles, &planes, &row_tiles}) {
    while (*tiles > 1 && each * trips_ * row_tiles * column_tiles * planes > kMostWork) --*tiles;
  }
  auto extent = [&](std::int64_t tiles, std::int64_t tile, std::int64_t grain) {
    if (tiles == 0) return std::int64_t{0};
    const std::int64_t cut = rng_.chance(50) ? 0 : rng_.between(0, (tile - 1) / grain) * grain;
    return tiles * tile - cut;
  };
  // Now and then an extent that TMA cannot address.
  const std::int64_t grain = rng_.chance(10) ? 1 : 8;
  dims_["M"] = extent(row_tiles, rows_, trans_a_ && form_ == Form::product ? grain : 1);
  dims_["K"] = extent(trips_, step, grain);
  if (form_ == Form::product && keeps_ && split_) dims_["L"] = std::int64_t{trips_} * columns_;
  if (form_ == Form::product && second_ && apart_) dims_["J"] = trips_ * 16;
  if (form_ == Form::product) dims_["N"] = extent(column_tiles, columns_, grain);
  if (form_ != Form::product && axes_ > 1) dims_["H"] = column_tiles;
  if (axes_ > 2) dims_["Z"] = planes;
}

/// The first axis counts tiles of rows but in products, where it counts those of columns, as kernels have it.
std::string PipelinedWriter::grid() const {
  const std::string threads = threads_ ? fmt::format("  threads {}\n", rows_ == 128 ? 256 : 128) : "";
  const std::string rows = fmt::format("ceildiv(M, {})", rows_);
  std::string text = "  grid bx = ";
  if (form_ == Form::product && axes_ > 1) {
    text += fmt::format("ceildiv(N, {}), by = {}", columns_, rows);
  } else {
    text += rows + (axes_ > 1 ? ", by = H" : "");
  }
  return text + (axes_ > 2 ? ", bz = Z\n" : "\n") + threads;
}

std::string PipelinedWriter::header() const {
  const std::string z = axes_ > 2 ? "Z, " : "", h = axes_ > 1 ? "H, " : "";
  std::string text = "kernel k(";
  if (form_ == Form::product) {
    text += fmt::format("A: in {}[{}{}], B: in {}[{}{}], ", type_, z, trans_a_ ? "K, M" : "M, K", type_, z,
                        trans_b_ ? "N, K" : "K, N");
    text += fmt::format("W: in f32[{}], E: in f32[N], C: {} {}[{}M, N]", kWeights, inout_ ? "inout" : "out", out_, z);
    if (keeps_ && split_) text += fmt::format(", T: out {}[M, L]", out_);
    if (second_ && apart_) text += fmt::format(", A2: in {0}[{1}M, J], B2: in {0}[{1}N, J]", type_, z);
    if (second_) text += fmt::format(", D: out f32[{}M, N]", z);
  } else if (form_ == Form::attention) {
    text += fmt::format("Q: in {0}[{1}M, {2}], A: in {0}[{1}K, {2}], B: in {0}[{1}K, {2}], ", type_, z + h, head_);
    text += fmt::format("W: in f32[{}], C: out {}[{}M, {}]", kWeights, out_, z + h, head_);
  } else {
    text += fmt::format("A: in {}[{}{}M, K], W: in f32[{}], E: in f32[K], ", type_, z, h, kWeights);
    text += fmt::format("C: out f32[{}{}M]", z, h);
    if (store_each_) text += fmt::format(", D: out {}[{}{}M, K]", out_, z, h);
  }
  return text + "):\n" + grid();
}

/// A tile of a tensor that starts at a row and a column; other dimensions are those of the block.
std::string PipelinedWriter::global(const std::string& tensor, const std::string& row,
                                    const std::string& column) const {
  const std::string z = axes_ > 2 ? "bz, " : "", h = form_ != Form::product && axes_ > 1 ? "by, " : "";
  return fmt::format("{}[{}{}{}, {}]", tensor, z, h, row, column);
}

void PipelinedWriter::frame() {
  const bool columns_first = form_ == Form::product && axes_ > 1;
  row0_ = fmt::format("{} * {}", columns_first ? "by" : "bx", rows_);
  column0_ = columns_first ? fmt::format("bx * {}", columns_) : "0";
  if (form_ == Form::product) {
    line(fmt::format("A_s = shared {}[{}, {}]", type_, trans_a_ ? depth_ : rows_, trans_a_ ? rows_ : depth_));
    line(fmt::format("B_s = shared {}[{}, {}]", type_, trans_b_ ? columns_ : depth_, trans_b_ ? depth_ : columns_));
    line(fmt::format("acc = fragment f32[{}, {}]", rows_, columns_));
    line("clear(acc)");
    if (second_) line(fmt::format("acc2 = fragment f32[{}, {}]", rows_, columns_));
    if (second_) line("clear(acc2)");
    if (second_ && apart_) {
      line(fmt::format("A2_s = shared {}[{}, 16]", type_, rows_));
      line(fmt::format("B2_s = shared {}[{}, 16]", type_, columns_));
    }
    if (vector_) line(fmt::format("e_s = shared f32[{}]", columns_));
  } else if (form_ == Form::attention) {
    line(fmt::format("Q_s = shared {}[{}, {}]", type_, rows_, head_));
    line(fmt::format("A_s = shared {}[{}, {}]", type_, columns_, head_));
    line(fmt::format("B_s = shared {}[{}, {}]", type_, columns_, head_));
    line(fmt::format("P = fragment {}[{}, {}]", type_, rows_, columns_));
    line(fmt::format("acc = fragment f32[{}, {}]", rows_, head_));
    line(fmt::format("last = fragment f32[{}]", rows_));
    line(fmt::format("base = fragment f32[{}]", rows_));
    if (!serial_) line(fmt::format("copy({}, Q_s)", global("Q", row0_, "0")));
    line("clear(acc)");
  } else {
    line(fmt::format("x = {} {}[{}, {}]", in_memory_ ? "shared" : "fragment", type_, rows_, columns_));
    if (vector_) line(fmt::format("e_s = {} f32[{}]", rng_.chance(70) ? "shared" : "fragment", columns_));
  }
  line(fmt::format("S = fragment f32[{}, {}]", rows_, columns_));
  line("clear(S)");
  line(fmt::format("r = fragment f32[{}]", rows_));
  line(form_ == Form::attention ? "fill(r, -inf)" : "clear(r)");
  line(fmt::format("sum = fragment f32[{}]", rows_));
  line("clear(sum)");
}

// ---- Loops ---------------------------------------------------------------------------------------------------------

std::string PipelinedWriter::trips() {
  const std::string all = fmt::format("ceildiv(K, {})", form_ == Form::product ? depth_ : columns_);
  if (!varying_) return all;
  const auto more = rng_.between(0, 2);
  const std::string by = !serial_var_.empty() && rng_.chance(50) ? serial_var_ : "bx";
  return fmt::format("min({}, {} + {})", all, by, more);
}

void PipelinedWriter::pipelined(const std::string& k) {
  const auto stages = rng_.between(0, 4);
  const std::string count = trips();
  nested(fmt::format("for {} in pipelined({}, stages={}):", k, count, stages), [&] {
    if (rng_.chance(25)) let(k);
    if (ends_early_) end_early(k);
    if (form_ == Form::product) return product_body(k);
    if (form_ == Form::attention) return attention_body(k);
    rows_body(k);
  });
}

void PipelinedWriter::loops() {
  if (serial_) {
    serial_var_ = "t";
    nested("for t in range(2):", [&] {
      if (form_ == Form::attention) line(fmt::format("copy({}, Q_s)", global("Q", row0_ + " + t", "0")));
      pipelined("k");
      if (rng_.chance(40)) rows_of("r", "t");
    });
    serial_var_.clear();
  } else {
    pipelined("k");
  }
  if (twice_) pipelined("m");
}

/// A number that is the same in all elements of an iteration.
void PipelinedWriter::let(const std::string& k) {
  const std::string name = fresh("w");
  const auto offset = rng_.between(0, 5), kind = rng_.between(0, 2);
  if (kind == 0) line(fmt::format("{} = W[({} + {}) % {}] * 0.5", name, k, offset, kWeights));
  if (kind == 1) line(fmt::format("{} = f32({} + {}) * 0.25", name, k, offset));
  if (kind == 2) line(fmt::format("{} = W[(bx + {}) % {}] + f32({})", name, offset, kWeights, k));
  let_ = name;
}

// ---- Products ------------------------------------------------------------------------------------------------------

void PipelinedWriter::load_operands(const std::string& k) {
  const std::string at = fmt::format("{} * {}", k, depth_);
  const std::string a = trans_a_ ? global("A", at, row0_) : global("A", row0_, at);
  const std::string b = trans_b_ ? global("B", column0_, at) : global("B", at, column0_);
  const bool swapped = rng_.chance(25);
  line(swapped ? fmt::format("copy({}, B_s)", b) : fmt::format("copy({}, A_s)", a));
  line(swapped ? fmt::format("copy({}, A_s)", a) : fmt::format("copy({}, B_s)", b));
}

void PipelinedWriter::multiply(const std::string& into, bool clear) {
  line(fmt::format("gemm(A_s, B_s, {}{}{}{})", into, trans_a_ ? ", trans_A=true" : "", trans_b_ ? ", trans_B=true" : "",
                   clear ? ", clear_accum=true" : ""));
}

/// The threads change a tile before it is multiplied.
void PipelinedWriter::rescale_tile(const std::string& k) {
  const int rows = trans_a_ ? depth_ : rows_, columns = trans_a_ ? rows_ : depth_;
  nested(fmt::format("for i, j in parallel({}, {}):", rows, columns),
         [&] { line(fmt::format("A_s[i, j] = {}(f32(A_s[i, j]) * 0.5 + f32({}) * 0.125)", type_, k)); });
}

/// The rest of the iterations, or of this one, is left out.
void PipelinedWriter::end_early(const std::string& k) {
  const auto at = rng_.between(1, 4);
  const bool all = rng_.chance(50);
  nested(fmt::format("if {} == {}:", k, at), [&] { line(all ? "break" : "continue"); });
}

/// Another product, of the same tiles or of tiles of its own.
void PipelinedWriter::multiply_again(const std::string& k) {
  if (!second_) return;
  if (!apart_) return multiply("acc2", false);
  line(fmt::format("copy({}, A2_s)", global("A2", row0_, k + " * 16")));
  line(fmt::format("copy({}, B2_s)", global("B2", column0_, k + " * 16")));
  line("gemm(A2_s, B2_s, acc2, trans_B=true)");
}

void PipelinedWriter::load_vector(const std::string& k) {
  const std::string at = form_ == Form::rows ? fmt::format("{} * {}", k, columns_) : column0_;
  line(fmt::format("copy(E[{}], e_s)", at));
}

void PipelinedWriter::product_body(const std::string& k) {
  const bool vector = vector_ && split_;
  if (vector && rng_.chance(50)) load_vector(k);
  const bool loaded = vector && body_.ends_with("e_s)\n");
  if (!split_) {
    return perhaps_guarded(20, k, [&] {
      load_operands(k);
      multiply("acc", false);
      multiply_again(k);
      if (rng_.chance(30)) elements("acc", k);
    });
  }
  load_operands(k);
  if (through_memory_) rescale_tile(k);
  if (vector && !loaded) load_vector(k);
  multiply("S", true);
  const bool again_first = rng_.chance(50);
  if (again_first) multiply_again(k);
  if (rng_.chance(40)) mask("S", k);
  if (!again_first) multiply_again(k);
  if (vector) {
    if (rng_.chance(30)) {
      const auto at = rng_.between(0, columns_ - 1);
      const bool again = rng_.chance(40);
      let_ = fresh("w");
      line(fmt::format("{} = e_s[{}] * 0.5", let_, at));
      if (again) {
        const std::string first = std::exchange(let_, fresh("w"));
        line(fmt::format("{} = {} + f32({})", let_, first, k));
      }
    }
    nested(fmt::format("for i, j in parallel({}, {}):", rows_, columns_), [&] { line("S[i, j] += e_s[j]"); });
  }
  scores_to_sums(k);
}

/// What becomes of a fragment that was made anew: worked on, reduced to rows, added up.
void PipelinedWriter::scores_to_sums(const std::string& k) {
  const auto changes = rng_.between(0, 2);
  for (std::int64_t n = 0; n < changes; ++n) {
    if (!rng_.chance(10)) {
      perhaps_guarded(20, k, [&] { elements("S", k); });
      continue;
    }
    nested(fmt::format("if {} % 3 != 1:", k), [&] { elements("S", k); });
    nested("else:", [&] { elements("S", k); });
  }
  perhaps_guarded(15, k, [&] { reduce_rows(k); });
  if (form_ != Form::product) return;
  if (keeps_ && k == "k") line(fmt::format("copy(S, T[{}, {} * {}])", row0_, k, columns_));
  const bool weighted = rng_.chance(40);
  perhaps_guarded(20, k, [&] {
    nested(fmt::format("for i, j in parallel({}, {}):", rows_, columns_),
           [&] { line(weighted ? "acc[i, j] += S[i, j] * r[i] * 0.125" : "acc[i, j] += S[i, j]"); });
  });
}

void PipelinedWriter::reduce_rows(const std::string& k) {
  if (rng_.chance(50)) {
    const bool greatest = rng_.chance(50), fresh_row = rng_.chance(40);
    line(fmt::format("reduce_{}(S, {}, dim=1{})", greatest ? "max" : "sum", greatest ? "r" : "sum",
                     fresh_row ? "" : ", clear=false"));
    if (rng_.chance(50)) rows_of(greatest ? "r" : "sum", k);
  } else {
    rows_of("r", k);
  }
}

// ---- A second product from the fragment of the first ---------------------------------------------------------------

void PipelinedWriter::attention_body(const std::string& k) {
  const std::string at = fmt::format("{} * {}", k, columns_);
  const bool late = rng_.chance(30);
  line(fmt::format("copy({}, A_s)", global("A", at, "0")));
  if (!late) line(fmt::format("copy({}, B_s)", global("B", at, "0")));
  line("gemm(Q_s, A_s, S, trans_B=true, clear_accum=true)");
  if (late) line(fmt::format("copy({}, B_s)", global("B", at, "0")));
  if (rng_.chance(30)) elements("S", k);
  if (rng_.chance(70)) mask("S", k);
  line("copy(r, last)");
  line("reduce_max(S, r, dim=1, clear=false)");
  nested(fmt::format("for i in parallel({}):", rows_), [&] {
    line("base[i] = select(r[i] == -inf, 0.0, r[i] * 0.125)");
    line("last[i] = exp2(last[i] * 0.125 - base[i])");
    line("sum[i] *= last[i]");
  });
  nested(fmt::format("for i, j in parallel({}, {}):", rows_, columns_),
         [&] { line("S[i, j] = exp2(S[i, j] * 0.125 - base[i])"); });
  if (rng_.chance(80)) line("reduce_sum(S, sum, dim=1, clear=false)");
  line("copy(S, P)");
  nested(fmt::format("for i, d in parallel({}, {}):", rows_, head_), [&] { line("acc[i, d] *= last[i]"); });
  line("gemm(P, B_s, acc)");
}

// ---- Work on rows --------------------------------------------------------------------------------------------------

void PipelinedWriter::rows_body(const std::string& k) {
  const std::string at = fmt::format("{} * {}", k, columns_);
  line(fmt::format("copy({}, x)", global("A", row0_, at)));
  if (vector_) load_vector(k);
  nested(fmt::format("for i, j in parallel({}, {}):", rows_, columns_),
         [&] { line(vector_ ? "S[i, j] = f32(x[i, j]) * e_s[j]" : "S[i, j] = f32(x[i, j])"); });
  if (rng_.chance(30)) mask("S", k);
  scores_to_sums(k);
  if (!body_.ends_with("sum, dim=1, clear=false)\n")) line("reduce_sum(S, sum, dim=1, clear=false)");
  if (store_each_) line(fmt::format("copy(S, {})", global("D", row0_, at)));
}

// ---- Parts ---------------------------------------------------------------------------------------------------------

/// Hides the elements behind an end, or behind the diagonal.
void PipelinedWriter::mask(const std::string& tile, const std::string& k) {
  const int step = form_ == Form::product ? depth_ : columns_;
  const bool ends = !causal_ || rng_.chance(60), nearest = rng_.chance(50);
  const auto shift = rng_.between(-20, 40);
  std::string cond;
  if (ends) cond = fmt::format("{} * {} + j < K", k, step);
  if (causal_) {
    const std::string diagonal = fmt::format("{} * {} + j <= {} + i + {}", k, step, row0_, shift);
    cond += (cond.empty() ? "" : " and ") + diagonal;
  }
  const std::string value = form_ == Form::attention ? "-inf" : nearest ? "0.0" : "-2.0";
  nested(fmt::format("for i, j in parallel({}, {}):", rows_, columns_), [&] {
    const bool named = rng_.chance(40);
    if (named) line("seen = " + cond);
    line(fmt::format("{0}[i, j] = select({1}, {0}[i, j], {2})", tile, named ? "seen" : cond, value));
  });
}

/// Changes a fragment element by element.
void PipelinedWriter::elements(const std::string& tile, const std::string& k) {
  const auto kind = rng_.between(0, 5), c = rng_.between(1, 7);
  const std::string weight = let_.empty() ? "0.75" : let_;
  nested(fmt::format("for i, j in parallel({}, {}):", rows_, columns_), [&] {
    if (kind == 0) line(fmt::format("{0}[i, j] = {0}[i, j] * 0.5 + f32({1}) * 0.125", tile, k));
    if (kind == 1) line(fmt::format("{0}[i, j] = {0}[i, j] * {1}", tile, weight));
    if (kind == 2) line(fmt::format("{0}[i, j] = {0}[i, j] + f32(i - j) * {1} * 0.0625", tile, weight));
    if (kind == 3) line(fmt::format("{0}[i, j] = max({0}[i, j], f32({1}) - 4.0) + {2}", tile, k, weight));
    if (kind == 4) {
      nested(fmt::format("if (i + {}) % {} == 0:", k, c), [&] { line(fmt::format("{}[i, j] += 1.0", tile)); });
    }
    if (kind == 5) line(fmt::format("{0}[i, j] = {0}[i, j] + sum[i] * 0.0625", tile));
  });
}

void PipelinedWriter::rows_of(const std::string& vector, const std::string& k) {
  const bool other = rng_.chance(40);
  nested(fmt::format("for i in parallel({}):", rows_), [&] {
    if (other) line(fmt::format("sum[i] = sum[i] * 0.5 + {}[i] * 0.25", vector));
    if (!other) line(fmt::format("{0}[i] = {0}[i] * 0.75 + f32({1}) * 0.125", vector, k));
  });
}

void PipelinedWriter::epilogue() {
  if (form_ == Form::rows) {
    nested(fmt::format("for i in parallel({}):", rows_), [&] { line("sum[i] += r[i] * 0.5"); });
    const std::string z = axes_ > 2 ? "bz, " : "", h = axes_ > 1 ? "by, " : "";
    return line(fmt::format("copy(sum, C[{}{}{}])", z, h, row0_));
  }
  const int columns = form_ == Form::attention ? head_ : columns_;
  if (form_ == Form::attention) {
    nested(fmt::format("for i, j in parallel({}, {}):", rows_, columns),
           [&] { line("acc[i, j] = acc[i, j] / (sum[i] + 0.5)"); });
  } else if (rng_.chance(40)) {
    nested(fmt::format("for i, j in parallel({}, {}):", rows_, columns),
           [&] { line("acc[i, j] = acc[i, j] * 0.5 + sum[i] - r[i]"); });
  }
  if (form_ == Form::product && inout_) {
    line(fmt::format("old = fragment {}[{}, {}]", out_, rows_, columns_));
    line(fmt::format("copy({}, old)", global("C", row0_, column0_)));
    nested(fmt::format("for i, j in parallel({}, {}):", rows_, columns_), [&] { line("acc[i, j] += f32(old[i, j])"); });
  }
  if (through_memory_) {
    line(fmt::format("out_s = shared {}[{}, {}]", out_, rows_, columns));
    line("copy(acc, out_s)");
    line(fmt::format("copy(out_s, {})", global("C", row0_, column0_)));
  } else {
    line(fmt::format("copy(acc, {})", global("C", row0_, column0_)));
  }
  if (form_ == Form::product && second_) line(fmt::format("copy(acc2, {})", global("D", row0_, column0_)));
}

PipelinedText PipelinedWriter::write() {
  choose_sizes();
  choose_calls();
  frame();
  loops();
  epilogue();
  return {header() + body_, dims_};
}

}  // namespace plait::test
