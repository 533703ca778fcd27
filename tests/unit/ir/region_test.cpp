#include "fixture.h"
#include "ir/print_expr.h"

namespace plait::ir {
namespace {

using testing::HasSubstr;

class RegionTest : public IrTest {
 protected:
  using Dim = RegionSpec::Dim;
  /// `e` alone between the commas.
  static Dim at(ExprRef e) { return {std::move(e), nullptr}; }
  static Dim at(const std::string& name) { return at(ref(name)); }
  /// `name : name + extent`
  static Dim range(ExprRef begin, std::int64_t extent) { return {std::move(begin), i64(extent)}; }
  static Dim range(const std::string& name, std::int64_t extent) { return range(ref(name), extent); }
  static Dim all() { return {}; }

  std::string pair(const RegionSpec& left, const RegionSpec& right, bool transposed = false) {
    auto regions = resolve_pair(left, right, transposed, diags);
    if (!regions) return report();
    EXPECT_EQ(diags.render(), "");
    return region_text(regions->first) + " | " + region_text(regions->second);
  }
  std::string alone(const RegionSpec& spec) {
    auto region = resolve_alone(spec, diags);
    return region ? region_text(*region) : report();
  }

  ExprRef m = ref("M"), n = ref("N");
  Buffer a = buffer("A", DType::f16, {m, n}, Scope::global);
  Buffer q = buffer("Q", DType::f16, {ref("B"), m, ref("H"), i64(64)}, Scope::global);
  Buffer s = tile("S", DType::f16, {32, 64});
  Buffer v = tile("v", DType::f16, {64});
};

TEST_F(RegionTest, AnOpenSideTakesTheOtherSidesExtents) {
  EXPECT_EQ(pair({a, {at("r"), at("c")}, {}}, {s, {}, {}}), "A[r : r + 32, c : c + 64] | S");
  EXPECT_EQ(pair({s, {}, {}}, {a, {at("r"), at("c")}, {}}), "S | A[r : r + 32, c : c + 64]");
  EXPECT_EQ(pair({a, {at("r"), at("c")}, {}}, {s, {range("i", 8), all()}, {}}),
            "A[r : r + 8, c : c + 64] | S[i : i + 8, :]");
}

TEST_F(RegionTest, OpenExtentsAreAlignedRightWithLeadingOnes) {
  EXPECT_EQ(pair({a, {at("r"), at("c")}, {}}, {v, {}, {}}), "A[r, c : c + 64] | v");
  EXPECT_EQ(pair({q, {at("b"), at("r"), at("h"), at(i64(0))}, {}}, {s, {}, {}}), "Q[b, r, h : h + 32, :] | S");
  EXPECT_EQ(pair({v, {at("i")}, {}}, {a, {range("r", 1), range("c", 16)}, {}}), "v[i : i + 16] | A[r, c : c + 16]");
  // A unit dimension in the middle gives way too.
  EXPECT_EQ(pair({s, {at("i"), at("j")}, {}}, {q, {at("b"), range("r", 8), at("h"), all()}, {}}),
            "S[i : i + 8, j : j + 64] | Q[b, r : r + 8, h, :]");
}

TEST_F(RegionTest, ABareIndexBesideRangesIsOneElementWhereThatFits) {
  EXPECT_EQ(pair({q, {at("b"), range("r", 32), at("h"), all()}, {}}, {s, {}, {}}), "Q[b, r : r + 32, h, :] | S");
  Buffer ring = tile("R", DType::f16, {3, 32, 64});
  EXPECT_EQ(pair({a, {at("r"), at("c")}, {}}, {ring, {at("k"), all(), all()}, {}}),
            "A[r : r + 32, c : c + 64] | R[k, :, :]");
}

TEST_F(RegionTest, ABareIndexBesideRangesElseTakesTheExtentBesideIt) {
  EXPECT_EQ(pair({a, {at("r"), range("c", 64)}, {}}, {s, {}, {}}), "A[r : r + 32, c : c + 64] | S");
  EXPECT_EQ(pair({s, {}, {}}, {a, {range("r", 32), at("c")}, {}}), "S | A[r : r + 32, c : c + 64]");
}

TEST_F(RegionTest, WholeBuffersOfOneShape) {
  Buffer b = buffer("B", DType::f16, {m, n}, Scope::global);
  EXPECT_EQ(pair({a, {}, {}}, {b, {}, {}}), "A | B");
  EXPECT_EQ(pair({a, {all(), all()}, {}}, {b, {}, {}}), "A | B");
  EXPECT_EQ(pair({a, {{i64(0), m}, all()}, {}}, {b, {at(i64(0)), at(i64(0))}, {}}), "A | B");
}

TEST_F(RegionTest, LeadingOnesAgreeWithNothing) {
  Buffer row = tile("row", DType::f16, {1, 64});
  EXPECT_EQ(pair({row, {}, {}}, {v, {}, {}}), "row | v");
  EXPECT_EQ(pair({tile("one", DType::f16, {1}), {}, {}}, {v, {range("i", 1)}, {}}), "one | v[i : i + 1]");
}

TEST_F(RegionTest, TransposedExtents) {
  Buffer t = tile("T", DType::f16, {64, 32});
  EXPECT_EQ(pair({s, {}, {}}, {t, {}, {}}, true), "S | T");
  EXPECT_EQ(pair({a, {at("r"), at("c")}, {}}, {t, {}, {}}, true), "A[r : r + 32, c : c + 64] | T");
  EXPECT_EQ(pair({s, {}, {}}, {a, {at("r"), at("c")}, {}}, true), "S | A[r : r + 64, c : c + 32]");
  Buffer column = tile("column", DType::f16, {64, 1});
  EXPECT_EQ(pair({v, {}, {}}, {column, {}, {}}, true), "v | column");
  EXPECT_EQ(pair({q, {at("b"), range("r", 32), at("h"), all()}, {}}, {t, {}, {}}, true), "Q[b, r : r + 32, h, :] | T");
  EXPECT_THAT(pair({s, {}, {}}, {s, {}, {}}, true), HasSubstr("[extent-mismatch]"));
}

TEST_F(RegionTest, TwoOpenSidesAreRefused) {
  EXPECT_THAT(pair({a, {at("r"), at("c")}, {}}, {s, {at("i"), at("j")}, {}}),
              HasSubstr("neither A nor S gives the extents of the tile [open-extent]\n  fix: write one side in full, "
                        "e.g. A[r : r + 64, c : c + 64], or as a whole buffer\nnote: the other side"));
}

TEST_F(RegionTest, ExtentsThatDoNotAgreeAreRefused) {
  EXPECT_THAT(pair({s, {}, {}}, {tile("T", DType::f16, {32, 32}), {}, {}}),
              HasSubstr("the extents [32, 64] of S do not agree with [32, 32] of T [extent-mismatch]\n  fix: "));
  EXPECT_THAT(pair({a, {}, {}}, {s, {}, {}}), HasSubstr("extents [M, N] of A do not agree with [32, 64] of S"));
  EXPECT_THAT(pair({a, {range("r", 16), range("c", 64)}, {}}, {s, {}, {}}), HasSubstr("[16, 64] of A"));
  EXPECT_THAT(pair({v, {at("i")}, {}}, {s, {}, {}}), HasSubstr("do not agree with [32, 64] of S"));
  EXPECT_THAT(pair({s, {}, {}}, {v, {at("i")}, {}}), HasSubstr("of v do not agree with [32, 64] of S"));
}

TEST_F(RegionTest, WrongRankIsRefused) {
  EXPECT_THAT(pair({a, {at("r")}, {}}, {s, {}, {}}),
              HasSubstr("A has 2 dimensions, but is indexed with 1 [index-rank]"));
  EXPECT_THAT(alone({v, {all(), all()}, {}}), HasSubstr("v has 1 dimension, but is indexed with 2 [index-rank]"));
}

TEST_F(RegionTest, AloneTheExtentsMustBeKnown) {
  EXPECT_EQ(alone({s, {}, {}}), "S");
  EXPECT_EQ(alone({s, {at("i"), range("j", 16)}, {}}), "S[i, j : j + 16]");
  EXPECT_EQ(alone({a, {}, {}}), "A");
  EXPECT_EQ(alone({a, {{i64(0), m}, range("c", 2)}, {}}), "A[:, c : c + 2]");
  EXPECT_THAT(alone({s, {at("i"), at("j")}, {}}),
              HasSubstr("nothing gives the extents of this tile of S [open-extent]\n  fix: write it in full"));
  EXPECT_THAT(alone({a, {{ref("r"), ref("k")}, all()}, {}}),
              HasSubstr("the extent k of a range of A is no literal [range-extent]\n  fix: write e.g. r : r + 64"));
  EXPECT_THAT(alone({s, {range("i", -3), all()}, {}}),
              HasSubstr("a range of S ends 3 before it begins [range-extent]"));
  EXPECT_EQ(alone({s, {range("i", 0), all()}, {}}), "S[i : i + 0, :]");
}

TEST_F(RegionTest, BeginsAreWidenedToI64) {
  EXPECT_EQ(alone({v, {range(ref("i", DType::i32), 4)}, {}}), "v[i64(i) : i64(i) + 4]");
  EXPECT_THAT(alone({v, {range(ref("f", DType::f32), 4)}, {}}),
              HasSubstr("a value of type f32 is used where i64 is wanted [implicit-conversion]"));
  EXPECT_THAT(alone({v, {range(ref("u", DType::u64), 4)}, {}}), HasSubstr("type u64 is used where i64 is wanted"));
}

TEST_F(RegionTest, WhetherItIsAllOfItsBuffer) {
  auto whole = [&](const RegionSpec& spec) { return is_whole(*resolve_alone(spec, diags)); };
  EXPECT_TRUE(whole({s, {}, {}}));
  EXPECT_TRUE(whole({s, {range(i64(0), 32), all()}, {}}));
  EXPECT_FALSE(whole({s, {range(i64(0), 16), all()}, {}}));
  EXPECT_FALSE(whole({s, {range("r", 32), all()}, {}}));
  EXPECT_FALSE(whole({a, {}, {}}));
}

}  // namespace
}  // namespace plait::ir
