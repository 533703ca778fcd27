#include "runtime/npy.h"

#include <fmt/format.h>

#include <cstring>

#include "fixture.h"
#include "ir/numeric.h"

namespace plait::runtime {
namespace {

using ir::DType;

/// A .npy file of version `version` with this dict and these bytes.
std::string npy(const std::string& dict, const std::string& data, int version = 1) {
  std::string head = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  std::string text = dict + "\n";
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) head += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return head + text + data;
}

std::string dict(const std::string& descr, const std::string& shape, bool fortran = false) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, fortran ? "True" : "False", shape);
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class NpyTest : public ::testing::Test {
 protected:
  Result<HostTensor> read(const std::string& bytes, std::optional<DType> raw = std::nullopt) {
    return read_npy(folder.write("x.npy", bytes), raw);
  }
  Diagnostics findings(const std::string& bytes, std::optional<DType> raw = std::nullopt) {
    auto tensor = read(bytes, raw);
    return tensor ? Diagnostics() : tensor.diagnostics();
  }
  TemporaryFolder folder;
};

TEST_F(NpyTest, EveryPlainType) {
  struct Case {
    const char* descr;
    DType type;
    std::string data;
    double value;
  };
  const Case cases[] = {
      {"|b1", DType::bool_, std::string("\x01"), 1},
      {"|i1", DType::i8, std::string("\xfe"), -2},
      {"|u1", DType::u8, std::string("\xfe"), 254},
      {"<i2", DType::i16, bytes_of<std::int16_t>({-300}), -300},
      {"<i4", DType::i32, bytes_of<std::int32_t>({-70000}), -70000},
      {"<i8", DType::i64, bytes_of<std::int64_t>({-5000000000}), -5000000000.0},
      {"<u2", DType::u16, bytes_of<std::uint16_t>({65535}), 65535},
      {"<u4", DType::u32, bytes_of<std::uint32_t>({4000000000}), 4000000000.0},
      {"<u8", DType::u64, bytes_of<std::uint64_t>({1ull << 63}), 0x1p63},
      {"<f2", DType::f16, bytes_of<std::uint16_t>({0x3e00}), 1.5},
      {"<f4", DType::f32, bytes_of<float>({-2.5f}), -2.5},
      {"=f8", DType::f64, bytes_of<double>({0.1}), 0.1},
      {">f4", DType::f32, std::string("\xc0\x20\0\0", 4), -2.5},
      {">i2", DType::i16, std::string("\xfe\xd4"), -300},
      {">u8", DType::u64, std::string("\0\0\0\0\0\0\1\2", 8), 258},
  };
  for (const Case& c : cases) {
    for (int version : {1, 2, 3}) {
      auto tensor = read(npy(dict(c.descr, "(1,)"), c.data, version));
      ASSERT_TRUE(tensor.ok()) << c.descr << tensor.diagnostics().render();
      EXPECT_EQ(tensor->view().type, c.type) << c.descr;
      EXPECT_EQ(to_doubles(tensor->view()), std::vector<double>{c.value}) << c.descr;
    }
  }
}

TEST_F(NpyTest, FortranOrderBecomesRowMajor) {
  auto tensor = read(npy(dict("<i2", "(2, 3)", true), bytes_of<std::int16_t>({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(tensor.ok()) << tensor.diagnostics().render();
  EXPECT_EQ(to_doubles(tensor->view()), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tensor->view().strides, (std::vector<std::int64_t>{3, 1}));
}

TEST_F(NpyTest, ShapesOfEveryRank) {
  auto scalar = read(npy(dict("<f4", "()"), bytes_of<float>({7})));
  ASSERT_TRUE(scalar.ok()) << scalar.diagnostics().render();
  EXPECT_TRUE(scalar->view().shape.empty());
  auto empty = read(npy(dict("<f4", "(3, 0, 5)", true), ""));
  ASSERT_TRUE(empty.ok()) << empty.diagnostics().render();
  EXPECT_EQ(empty->bytes(), 0);
  EXPECT_TRUE(read(npy(dict("<f4", "(1,1,2)"), bytes_of<float>({7, 8}))).ok());
}

TEST_F(NpyTest, RawBitsWithAStatedType) {
  auto bf16 = read(npy(dict("<u2", "(2,)"), bytes_of<std::uint16_t>({0x3fc0, 0xc000})), DType::bf16);
  ASSERT_TRUE(bf16.ok()) << bf16.diagnostics().render();
  EXPECT_EQ(to_doubles(bf16->view()), (std::vector<double>{1.5, -2}));
  EXPECT_TRUE(read(npy(dict("|V2", "(1,)"), "ab"), DType::bf16).ok());
  EXPECT_TRUE(read(npy(dict("<i2", "(1,)"), "ab"), DType::f16).ok());
  EXPECT_TRUE(read(npy(dict("<f1", "(1,)"), "a"), DType::e4m3).ok());
  EXPECT_TRUE(read(npy(dict("|u1", "(1,)"), "a"), DType::e5m2).ok());
  EXPECT_REPORTS(findings(npy(dict("<f2", "(1,)"), "ab"), DType::bf16), Rule::npy_dtype,
                 "elements stored as 'f2' do not hold the bits of bf16");
  EXPECT_REPORTS(findings(npy(dict("<u4", "(1,)"), "abcd"), DType::bf16), Rule::npy_dtype, "elements stored as 'u4'");
  EXPECT_REPORTS(findings(npy(dict("|b1", "(1,)"), "a"), DType::u8), Rule::npy_dtype, "elements stored as 'b1'");
  Diagnostics unsaid = findings(npy(dict("|V2", "(1,)"), "ab"));
  EXPECT_REPORTS(unsaid, Rule::npy_dtype, "raw bytes ('V2')");
  EXPECT_THAT(unsaid.render(), ::testing::HasSubstr("--dtype NAME=bf16"));
}

TEST_F(NpyTest, Tf32IsRounded) {
  auto tensor = read(npy(dict("<f4", "(2,)"), bytes_of<float>({1.0f + 0x1p-23f, 1.5f})), DType::tf32);
  ASSERT_TRUE(tensor.ok()) << tensor.diagnostics().render();
  EXPECT_EQ(to_doubles(tensor->view()), (std::vector<double>{1, 1.5}));
}

TEST_F(NpyTest, TypesNarrowerThanAByteArePackedAlongRows) {
  auto tensor = read(npy(dict("|u1", "(2, 1)"), "\x21\xf3"), DType::u4);
  ASSERT_TRUE(tensor.ok()) << tensor.diagnostics().render();
  EXPECT_EQ(tensor->view().shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(to_doubles(tensor->view()), (std::vector<double>{1, 2, 3, 15}));
  EXPECT_TRUE(read(npy(dict("|u1", "(1,)"), "\x21"), DType::e2m1).ok());
  EXPECT_REPORTS(findings(npy(dict("|u1", "()"), "a"), DType::i4), Rule::npy_format,
                 "packed i4 elements need a last dimension");
}

TEST_F(NpyTest, BoolsBecomeZeroOrOne) {
  auto tensor = read(npy(dict("|b1", "(3,)"), std::string("\0\1\7", 3)));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(to_doubles(tensor->view()), (std::vector<double>{0, 1, 1}));
}

TEST_F(NpyTest, TypesThatPlaitLacks) {
  const std::pair<const char*, const char*> cases[] = {
      {"<c8", "complex numbers"},  {"|O", "Python objects"}, {"|S5", "byte strings"},
      {"<U3", "strings"},          {"<M8[ns]", "dates"},     {"<m8[ns]", "time spans"},
      {"<f16", "'<f16'"},          {"<i3", "'<i3'"},         {"<f", "'<f'"},
      {"", "not an element type"}, {"|V7", "'|V7'"},         {"<i4x", "'<i4x'"},
      {"<i-4", "'<i-4'"},          {"<x4", "'<x4'"}};
  for (auto [descr, part] : cases) {
    EXPECT_REPORTS(findings(npy(dict(descr, "(1,)"), "12345678")), Rule::npy_dtype, part);
  }
  EXPECT_REPORTS(findings(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234")),
                 Rule::npy_dtype, "the elements are records");
}

TEST_F(NpyTest, HeadersThatLieAboutSize) {
  std::string four(16, 'x');
  EXPECT_REPORTS(findings(npy(dict("<f4", "(5,)"), four)), Rule::npy_format,
                 "shape (5) of 4-byte elements needs 20 bytes, the file has 16");
  EXPECT_REPORTS(findings(npy(dict("<f4", "(3,)"), four)), Rule::npy_format, "needs 12 bytes, the file has 16");
  EXPECT_REPORTS(findings(npy(dict("<f8", "(4,)"), four)), Rule::npy_format, "needs 32 bytes");
  EXPECT_REPORTS(findings(npy(dict("<f4", "(1000000000000,)"), four)), Rule::npy_format, "needs 4000000000000 bytes");
  EXPECT_REPORTS(findings(npy(dict("<f4", "(4294967296, 4294967296)"), four)), Rule::npy_format,
                 "names more bytes than 64 bits count");
  EXPECT_REPORTS(findings(npy(dict("<f4", "(4611686018427387905,)"), four)), Rule::npy_format,
                 "names more bytes than 64 bits count");
  EXPECT_REPORTS(findings(npy(dict("<f4", "(99999999999999999999,)"), four)), Rule::npy_format,
                 "does not fit in 64 bits");
  EXPECT_REPORTS(findings(npy(dict("<f4", "(-4,)"), four)), Rule::npy_format, "no extent");
}

TEST_F(NpyTest, HeadersThatAreNoHeader) {
  auto refused = [&](const std::string& bytes, const char* part) {
    EXPECT_REPORTS(findings(bytes), Rule::npy_format, part);
  };
  refused("", "does not begin with");
  refused("PK\x03\x04 a zip", "does not begin with");
  refused("\x93NUMPY", "ends inside its header");
  refused(std::string("\x93NUMPY\x01\0", 8), "ends inside its header");
  refused(std::string("\x93NUMPY\x01\0\xff\x7f{}", 12), "ends inside its header");
  refused(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff{}", 14), "the header claims 4294967295 bytes");
  refused(std::string("\x93NUMPY\x04\0\x02\0{}", 12), "version 4.0");
  refused(npy("{}", ""), "lacks 'descr'");
  refused(npy("[]", ""), "the header is no dict");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "1234"), "unknown key 'x'");
  refused(npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "1234"),
          "'descr' stands twice");
  refused(npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "1234"), "neither True nor False");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': 1}", "1234"), "'shape' is no tuple");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, x)}", "1234"), "no extent");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "1234"), "no tuple of extents");
  refused(npy("{'descr': 4, 'fortran_order': False, 'shape': (1,)}", "1234"), "'descr' is no type string");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", "1234"), "does not end");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + exit()", "1234"), "something stands behind");
  refused(npy("__import__('os').system('touch /tmp/x')", ""), "the header is no dict");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (__import__('os').abort(),)}", "1234"), "no extent");
  std::string many = "(";
  for (int i = 0; i < 40; ++i) many += "1,";
  refused(npy(dict("<f4", many + ")"), "1234"), "more than 32 dimensions");
}

TEST_F(NpyTest, AnyTruncationIsRefused) {
  std::string whole = npy(dict("<f4", "(2, 2)"), bytes_of<float>({1, 2, 3, 4}));
  ASSERT_TRUE(read(whole).ok());
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_TRUE(findings(whole.substr(0, n)).has_errors()) << n;
}

TEST_F(NpyTest, AnyChangedHeaderByteIsSafe) {
  std::string whole = npy(dict("<f4", "(2, 2)"), bytes_of<float>({1, 2, 3, 4}));
  for (std::size_t i = 0; i < whole.size() - 16; ++i) {
    for (char value : {'\0', '9', '\'', '(', ',', '\xff'}) {
      std::string changed = whole;
      changed[i] = value;
      (void)parse_npy_header(changed, "x.npy");
    }
  }
}

TEST_F(NpyTest, FilesThatAreNone) {
  EXPECT_REPORTS(read_npy(folder / "absent.npy").diagnostics(), Rule::file_access,
                 "cannot open the file: No such file");
  EXPECT_REPORTS(read_npy(folder / "").diagnostics(), Rule::file_access, "this is a directory, not a file");
  EXPECT_REPORTS(read_npy("/dev/zero").diagnostics(), Rule::file_access, "a device or a pipe");
  Diagnostics diags = findings("no");
  EXPECT_THAT(diags.render(), ::testing::HasSubstr(folder / "x.npy"));
  EXPECT_THAT(diags.render(), ::testing::HasSubstr("fix: "));
}

TEST_F(NpyTest, EveryTypeIsReadAsWritten) {
  for (DType type : ir::all_dtypes()) {
    HostTensor tensor(type, {{2, 8}, {8, 1}});
    for (ElementWalk walk(tensor.view()); !walk.done(); walk.next())
      store_number(tensor.view(), walk.offset(), static_cast<double>(walk.offset() % 3));
    std::string bytes = npy_header(tensor.view()) + npy_data(tensor.view());
    auto again = read(bytes, type);
    ASSERT_TRUE(again.ok()) << ir::dtype_name(type) << again.diagnostics().render();
    EXPECT_EQ(again->view().shape, tensor.view().shape) << ir::dtype_name(type);
    EXPECT_EQ(to_doubles(again->view()), to_doubles(tensor.view())) << ir::dtype_name(type);
    EXPECT_EQ(npy_header(tensor.view()).size() % 64, 0u);
  }
}

TEST_F(NpyTest, WritesStridedTensorsInRows) {
  HostTensor tensor(DType::i4, {{2, 4}, {1, 2}});
  double value = -4;
  for (ElementWalk walk(tensor.view()); !walk.done(); walk.next()) store_number(tensor.view(), walk.offset(), value++);
  auto again = read(npy_header(tensor.view()) + npy_data(tensor.view()), DType::i4);
  ASSERT_TRUE(again.ok()) << again.diagnostics().render();
  EXPECT_EQ(to_doubles(again->view()), (std::vector<double>{-4, -3, -2, -1, 0, 1, 2, 3}));
}

TEST_F(NpyTest, OddPackedRowsAreWrittenFlat) {
  HostTensor tensor(DType::u4, {{3, 3}, {3, 1}});
  EXPECT_THAT(npy_header(tensor.view()), ::testing::HasSubstr("'shape': (5,)"));
  poison(tensor);
  EXPECT_EQ(npy_data(tensor.view()), "\xa5\xa5\xa5\xa5\x05");
}

}  // namespace
}  // namespace plait::runtime
