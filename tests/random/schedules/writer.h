#pragma once

#include <map>
#include <string>
#include <vector>

#include "random/rng.h"

namespace plait::test {

/// The text of a program and the extents of one call.
struct PipelinedText {
  std::string text;
  std::map<std::string, std::int64_t> dims;
};

/// Writes a program of the kinds that are pipelined on a GPU: products, a second product from the fragment of a first
/// one, and work on rows; over tiles of many extents, with masks, guards, reductions and lets in between. Statement by
/// statement, legal by construction, and small enough to be simulated in milliseconds.
/// Draws stand in statements of their own, as the order in which arguments are evaluated is the compiler's choice.
class PipelinedWriter {
 public:
  explicit PipelinedWriter(std::uint64_t seed) : rng_(seed) {}
  PipelinedText write();

 private:
  void choose_sizes();
  void choose_type();
  void choose_calls();
  std::string header() const;
  std::string grid() const;
  void frame();

  // Loops.
  void loops();
  void pipelined(const std::string& k);
  std::string trips();
  template <typename Fn>
  void nested(const std::string& head, Fn body);
  template <typename Fn>
  void perhaps_guarded(int percent, const std::string& k, Fn body);

  // The bodies of the three forms.
  void product_body(const std::string& k);
  void load_operands(const std::string& k);
  void multiply_again(const std::string& k);
  void multiply(const std::string& into, bool clear);
  void attention_body(const std::string& k);
  void rows_body(const std::string& k);
  void scores_to_sums(const std::string& k);
  void reduce_rows(const std::string& k);

  // Parts of bodies.
  void let(const std::string& k);
  void load_vector(const std::string& k);
  void mask(const std::string& tile, const std::string& k);
  void elements(const std::string& tile, const std::string& k);
  void rows_of(const std::string& vector, const std::string& k);
  void rescale_tile(const std::string& k);
  void end_early(const std::string& k);
  void epilogue();

  std::string global(const std::string& tensor, const std::string& row, const std::string& column) const;
  void line(const std::string& text);
  std::string fresh(const std::string& prefix) { return prefix + std::to_string(++names_); }

  enum class Form { product, attention, rows };

  Rng rng_;
  std::string body_;
  int indent_ = 1, names_ = 0;
  Form form_ = Form::product;
  int rows_ = 64, columns_ = 64, depth_ = 32;  ///< of the tiles: result rows and columns, what one iteration sums over
  int head_ = 32;                              ///< attention: columns of the second product
  int axes_ = 2;
  int trips_ = 3;
  bool trans_a_ = false, trans_b_ = true, split_ = false, second_ = false, apart_ = false, vector_ = false,
       in_memory_ = false;
  bool serial_ = false, twice_ = false, varying_ = false, causal_ = false, store_each_ = false, through_memory_ = false;
  bool keeps_ = false, ends_early_ = false, threads_ = false, inout_ = false;
  std::string type_ = "bf16", out_ = "f32";
  std::string row0_ = "0", column0_ = "0";  ///< where the block's tile begins
  std::string serial_var_;                  ///< of the serial loop around, if there is one
  std::string let_;                         ///< a number that the iteration has computed, if any
  std::map<std::string, std::int64_t> dims_;
};

}  // namespace plait::test
