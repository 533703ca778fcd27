#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "runtime/extent.h"
#include "runtime/files.h"
#include "runtime/npy.h"

namespace plait::runtime {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = 65536;
constexpr std::size_t kMaxRank = 32;

/// The one form a header has: a dict literal of three known keys. Anything else is refused; nothing is ever evaluated.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file, Diagnostics& diags)
      : text_(text), file_(file), diags_(diags) {}

  bool parse();
  const NpyHeader& header() const { return header_; }

 private:
  /// Always false, so that a parse function can end with it.
  bool fail(const std::string& message, Rule rule = Rule::npy_format, std::string fix = {}) {
    diags_.error(rule, file_loc(file_), message, std::move(fix));
    return false;
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string_view> string();
  bool entry(std::string_view key);
  bool descr();
  bool dtype(std::string_view text);
  bool shape();

  std::string_view text_;
  const std::string& file_;
  Diagnostics& diags_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

std::optional<std::string_view> HeaderParser::string() {
  skip_space();
  if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
  char quote = text_[at_];
  std::size_t end = text_.find(quote, at_ + 1);
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
  if (value.find('\\') != std::string_view::npos) return std::nullopt;
  at_ = end + 1;
  return value;
}

std::string_view refused_kind(char kind) {
  switch (kind) {
    case 'c':
      return "complex numbers";
    case 'O':
      return "Python objects";
    case 'S':
    case 'a':
      return "byte strings";
    case 'U':
      return "strings";
    case 'M':
      return "dates";
    case 'm':
      return "time spans";
    default:
      return {};
  }
}

bool HeaderParser::dtype(std::string_view text) {
  std::string_view rest = text;
  if (!rest.empty() && std::string_view("<>=|").find(rest[0]) != std::string_view::npos) {
    header_.byte_order = rest[0];
    rest.remove_prefix(1);
  }
  if (rest.empty()) return fail(fmt::format("'{}' is not an element type", text), Rule::npy_dtype);
  header_.kind = rest[0];
  std::string shown(text.substr(0, 40));
  if (auto what = refused_kind(header_.kind); !what.empty()) {
    return fail(fmt::format("the elements are {} ('{}')", what, shown), Rule::npy_dtype);
  }
  int bytes = 0;
  auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), bytes);
  bool well_formed = error == std::errc() && end == rest.data() + rest.size() && bytes > 0;
  bool known = header_.kind == 'b' ? bytes == 1 : bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (!well_formed || !known || std::string_view("biufV").find(header_.kind) == std::string_view::npos) {
    return fail(fmt::format("'{}' is no element type that plait has", shown), Rule::npy_dtype);
  }
  header_.item_bytes = bytes;
  return true;
}

bool HeaderParser::descr() {
  skip_space();
  if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
    return fail("the elements are records (a structured type)", Rule::npy_dtype,
                "save one field as an array of its own");
  }
  auto value = string();
  if (!value) return fail("'descr' is no type string");
  return dtype(*value);
}

bool HeaderParser::shape() {
  if (!take('(')) return fail("'shape' is no tuple");
  while (!take(')')) {
    if (header_.shape.size() == kMaxRank) return fail(fmt::format("'shape' has more than {} dimensions", kMaxRank));
    skip_space();
    std::int64_t extent = 0;
    const char* begin = text_.data() + at_;
    auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
    if (error == std::errc::result_out_of_range) return fail("an extent in 'shape' does not fit in 64 bits");
    if (error != std::errc() || extent < 0) return fail("'shape' holds something that is no extent");
    at_ += static_cast<std::size_t>(end - begin);
    header_.shape.push_back(extent);
    if (!take(',')) {
      if (take(')')) break;
      return fail("'shape' is no tuple of extents");
    }
  }
  return true;
}

bool HeaderParser::entry(std::string_view key) {
  auto once = [&](bool& seen) {
    if (seen) return fail(fmt::format("'{}' stands twice", key));
    return seen = true;
  };
  if (!take(':')) return fail(fmt::format("no ':' behind '{}'", key));
  if (key == "descr") return once(has_descr_) && descr();
  if (key == "shape") return once(has_shape_) && shape();
  if (!once(has_order_)) return false;
  if (take_word("True")) return header_.fortran_order = true;
  if (take_word("False")) return true;
  return fail("'fortran_order' is neither True nor False");
}

bool HeaderParser::parse() {
  if (!take('{')) return fail("the header is no dict");
  while (!take('}')) {
    auto key = string();
    if (!key) return fail("the header is no dict of 'descr', 'fortran_order' and 'shape'");
    if (*key != "descr" && *key != "fortran_order" && *key != "shape") {
      return fail(fmt::format("the header has an unknown key '{}'", key->substr(0, 40)));
    }
    if (!entry(*key)) return false;
    if (!take(',')) {
      if (take('}')) break;
      return fail("the header's dict does not end");
    }
  }
  skip_space();
  if (at_ != text_.size()) return fail("something stands behind the header's dict");
  if (!has_descr_ || !has_order_ || !has_shape_) return fail("the header lacks 'descr', 'fortran_order' or 'shape'");
  return true;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view bytes, const std::string& file) {
  Diagnostics diags;
  auto fail = [&](const std::string& message) {
    diags.error(Rule::npy_format, file_loc(file), message);
    return diags;
  };
  if (bytes.substr(0, kMagic.size()) != kMagic) return fail("this is no .npy file: it does not begin with \\x93NUMPY");
  if (bytes.size() < 8) return fail("the file ends inside its header");
  auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  std::size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0)
    return fail(fmt::format("the file has version {}.{}; plait reads 1.0, 2.0 and 3.0", version, byte(7)));
  std::size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin) return fail("the file ends inside its header");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMaxHeader)
    return fail(fmt::format("the header claims {} bytes; more than {} are refused", length, kMaxHeader));
  if (bytes.size() < begin + length) return fail("the file ends inside its header");
  HeaderParser parser(bytes.substr(begin, length), file, diags);
  if (!parser.parse()) return diags;
  NpyHeader header = parser.header();
  header.data_offset = begin + length;
  return header;
}

namespace {

std::string descr_of(ir::DType type) {
  int bits = ir::dtype_bits(type);
  if (ir::is_bool(type)) return "|b1";
  if (bits <= 8 && !(ir::is_signed_integer(type) && bits == 8)) return "|u1";
  if (bits == 8) return "|i1";
  bool is_plain_float = ir::is_float(type) && type != ir::DType::bf16;
  char kind = is_plain_float ? 'f' : (ir::is_signed_integer(type) ? 'i' : 'u');
  return fmt::format("<{}{}", kind, bits / 8);
}

}  // namespace

std::string npy_header(const ir::TensorView& view) {
  std::vector<std::int64_t> shape = view.shape;
  if (int bits = ir::dtype_bits(view.type); bits < 8) {
    if (!shape.empty() && shape.back() * bits % 8 == 0) {
      shape.back() = shape.back() * bits / 8;
    } else {
      shape = {packed_bytes(element_count(shape).value(), bits).value()};
    }
  }
  std::string extents = fmt::format("{}", fmt::join(shape, ", ")) + (shape.size() == 1 ? "," : "");
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(view.type), extents);
  // The data starts at a multiple of 64 bytes, as numpy writes it.
  std::size_t total = (10 + dict.size() + 1 + 63) / 64 * 64;
  dict.append(total - 10 - dict.size() - 1, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

}  // namespace plait::runtime
