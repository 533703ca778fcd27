// The gradient of attention, by the formulas of FlashAttention-2 (Dao, arXiv 2307.08691, section 2.3).
#include <cmath>

#include "reference/access.h"

namespace plait::reference {
namespace {

void of_queries(const ReferenceCall& call) {
  const Tensor &o = tensor(call, "O"), &d_o = tensor(call, "dO"), &lse = tensor(call, "LSE");
  Tensor &delta = tensor(call, "delta"), &lse_log2 = tensor(call, "lse_log2");
  auto d = static_cast<std::size_t>(int_param(call, "D"));
  for (std::size_t row = 0; row < lse.size(); ++row) {
    delta[row] = 0;
    for (std::size_t e = 0; e < d; ++e) delta[row] += o[row * d + e] * d_o[row * d + e];
    lse_log2[row] = lse[row] == -INFINITY ? 0 : lse[row] / std::log(2.0);
  }
}

struct Shape {
  std::int64_t b, h, hkv, sq, sk, d;
  bool causal;
  double scale() const { return 1 / std::sqrt(static_cast<double>(d)); }
};

Shape shape_of(const ReferenceCall& call) {
  return {dim(call, "B"),  dim(call, "H"),       dim(call, "Hkv"),          dim(call, "Sq"),
          dim(call, "Sk"), int_param(call, "D"), bool_param(call, "causal")};
}

/// Calls fn(row of a query, row of a key that it sees, P, dS without the scale).
template <typename Fn>
void each_pair(const ReferenceCall& call, const Shape& s, Fn fn) {
  const Tensor &q = tensor(call, "Q"), &k = tensor(call, "K"), &v = tensor(call, "V"), &d_o = tensor(call, "dO");
  const Tensor &lse = tensor(call, "lse_log2"), &delta = tensor(call, "delta");
  auto dot = [&](const Tensor& a, std::int64_t row_a, const Tensor& b, std::int64_t row_b) {
    double sum = 0;
    for (std::int64_t e = 0; e < s.d; ++e)
      sum += a[static_cast<std::size_t>(row_a * s.d + e)] * b[static_cast<std::size_t>(row_b * s.d + e)];
    return sum;
  };
  for (std::int64_t head = 0; head < s.b * s.h; ++head) {
    const std::int64_t kv = head / s.h * s.hkv + head % s.h / (s.h / s.hkv);
    for (std::int64_t i = 0; i < s.sq; ++i) {
      const std::int64_t query = head * s.sq + i;
      for (std::int64_t j = 0; j < s.sk && (!s.causal || j <= i + s.sk - s.sq); ++j) {
        const std::int64_t key = kv * s.sk + j;
        const auto row = static_cast<std::size_t>(query);
        double p = std::exp(dot(q, query, k, key) * s.scale() - lse[row] * std::log(2.0));
        fn(query, key, p, p * (dot(d_o, query, v, key) - delta[row]));
      }
    }
  }
}

/// to[row] += factor·from[other]
void add(Tensor& to, std::int64_t row, double factor, const Tensor& from, std::int64_t other, std::int64_t d) {
  for (std::int64_t e = 0; e < d; ++e)
    to[static_cast<std::size_t>(row * d + e)] += factor * from[static_cast<std::size_t>(other * d + e)];
}

void of_keys(const ReferenceCall& call) {
  const Shape s = shape_of(call);
  Tensor &dk = tensor(call, "dK"), &dv = tensor(call, "dV");
  for (Tensor* t : {&dk, &dv}) std::fill(t->begin(), t->end(), 0.0);
  each_pair(call, s, [&](std::int64_t query, std::int64_t key, double p, double ds) {
    add(dv, key, p, tensor(call, "dO"), query, s.d);
    add(dk, key, s.scale() * ds, tensor(call, "Q"), query, s.d);
  });
}

void of_dq(const ReferenceCall& call) {
  const Shape s = shape_of(call);
  Tensor& dq = tensor(call, "dQ");
  std::fill(dq.begin(), dq.end(), 0.0);
  each_pair(call, s, [&](std::int64_t query, std::int64_t key, double, double ds) {
    add(dq, query, s.scale() * ds, tensor(call, "K"), key, s.d);
  });
}

/// So many products of Sq x Sk x D a head; half of it when causal.
double flops(const ReferenceCall& call, double products) {
  const Shape s = shape_of(call);
  return products * 2 * static_cast<double>(s.b * s.h) * static_cast<double>(s.sq) * static_cast<double>(s.sk) *
         static_cast<double>(s.d) * (s.causal ? 0.5 : 1.0);
}

}  // namespace

void add_attention_bwd(std::vector<Reference>& all) {
  const std::string in =
      "Q[B, H, Sq, D], K[B, Hkv, Sk, D], V[B, Hkv, Sk, D], dO[B, H, Sq, D], lse_log2[B, H, Sq], delta[B, H, Sq], ";
  all.push_back({"attention_bwd_delta",
                 of_queries,
                 nullptr,
                 {},
                 "O[B, H, Sq, D], dO[B, H, Sq, D], LSE[B, H, Sq], delta[B, H, Sq], lse_log2[B, H, Sq]"});
  all.push_back({"attention_bwd_dkdv",
                 of_keys,
                 [](const ReferenceCall& call) { return flops(call, 4); },
                 {},
                 in + "dK[B, Hkv, Sk, D], dV[B, Hkv, Sk, D]"});
  all.push_back({"attention_bwd_dq",
                 of_dq,
                 [](const ReferenceCall& call) { return flops(call, 3); },
                 {},
                 in + "dQ[B, H, Sq, D]"});
}

}  // namespace plait::reference
