// Products: plain, transposed, with bias and activation, batched, with 4-bit weights, matrix-vector, convolution.
#include <cmath>

#include "reference/access.h"

namespace plait::reference {
namespace {

double product_flops(const ReferenceCall& call) {
  return 2.0 * static_cast<double>(dim(call, "M")) * static_cast<double>(dim(call, "N")) *
         static_cast<double>(dim(call, "K"));
}

void matmul(const ReferenceCall& call) {
  std::int64_t m = dim(call, "M"), n = dim(call, "N"), k = dim(call, "K");
  multiply(m, n, k, {tensor(call, "A").data(), k, 1}, {tensor(call, "B").data(), n, 1}, tensor(call, "C").data());
}

void matmul_nt(const ReferenceCall& call) {
  std::int64_t m = dim(call, "M"), n = dim(call, "N"), k = dim(call, "K");
  multiply(m, n, k, {tensor(call, "A").data(), k, 1}, {tensor(call, "B").data(), 1, k}, tensor(call, "C").data());
}

void matmul_tn(const ReferenceCall& call) {
  std::int64_t m = dim(call, "M"), n = dim(call, "N"), k = dim(call, "K");
  multiply(m, n, k, {tensor(call, "A").data(), 1, m}, {tensor(call, "B").data(), n, 1}, tensor(call, "C").data());
}

double activate(double x, std::int64_t act) {
  if (act == 1) return x > 0 ? x : 0;
  if (act == 2) return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  if (act == 3) return x / (1 + std::exp(-x));
  return x;
}

void matmul_bias_act(const ReferenceCall& call) {
  matmul(call);
  std::int64_t n = dim(call, "N"), act = int_param(call, "act");
  const Tensor& bias = tensor(call, "bias");
  Tensor& c = tensor(call, "C");
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = activate(c[i] + bias[i % static_cast<std::size_t>(n)], act);
}

void batched_matmul(const ReferenceCall& call) {
  std::int64_t m = dim(call, "M"), n = dim(call, "N"), k = dim(call, "K");
  for (std::int64_t b = 0; b < dim(call, "batch"); ++b) {
    multiply(m, n, k, {tensor(call, "A").data() + b * m * k, k, 1}, {tensor(call, "B").data() + b * k * n, n, 1},
             tensor(call, "C").data() + b * m * n);
  }
}

void matmul_int4(const ReferenceCall& call) {
  std::int64_t m = dim(call, "M"), n = dim(call, "N"), k = dim(call, "K"), group = int_param(call, "group");
  std::int64_t groups = (k + group - 1) / group;
  const Tensor& quantised = tensor(call, "W");
  const Tensor& scale = tensor(call, "scale");
  Tensor weights(quantised.size());
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < k; ++j) {
      auto at = static_cast<std::size_t>(i * k + j);
      weights[at] = quantised[at] * scale[static_cast<std::size_t>(i * groups + j / group)];
    }
  }
  multiply(m, n, k, {tensor(call, "A").data(), k, 1}, {weights.data(), 1, k}, tensor(call, "C").data());
}

void gemv(const ReferenceCall& call) {
  std::int64_t m = dim(call, "M"), k = dim(call, "K");
  multiply(m, 1, k, {tensor(call, "A").data(), k, 1}, {tensor(call, "x").data(), 1, 1}, tensor(call, "y").data());
}

double gemv_flops(const ReferenceCall& call) {
  return 2.0 * static_cast<double>(dim(call, "M")) * static_cast<double>(dim(call, "K"));
}

struct ConvShape {
  std::int64_t batch, h, w, c, kh, kw, f, oh, ow, stride, padding, dilation;
};

ConvShape conv_shape(const ReferenceCall& call) {
  return {dim(call, "batch"),
          dim(call, "H"),
          dim(call, "W"),
          dim(call, "C"),
          dim(call, "KH"),
          dim(call, "KW"),
          dim(call, "F"),
          dim(call, "OH"),
          dim(call, "OW"),
          int_param(call, "stride"),
          int_param(call, "padding"),
          int_param(call, "dilation")};
}

/// The output pixel (n, y, x), all F channels, added into `out`.
void conv_pixel(const ConvShape& s, const Tensor& input, const Tensor& weights, std::int64_t n, std::int64_t y,
                std::int64_t x, double* out) {
  for (std::int64_t i = 0; i < s.kh; ++i) {
    for (std::int64_t j = 0; j < s.kw; ++j) {
      std::int64_t h = y * s.stride - s.padding + i * s.dilation, w = x * s.stride - s.padding + j * s.dilation;
      if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
      for (std::int64_t c = 0; c < s.c; ++c) {
        double value = input[static_cast<std::size_t>(((n * s.h + h) * s.w + w) * s.c + c)];
        const double* row = weights.data() + ((i * s.kw + j) * s.c + c) * s.f;
        for (std::int64_t f = 0; f < s.f; ++f) out[f] += value * row[f];
      }
    }
  }
}

void conv2d(const ReferenceCall& call) {
  ConvShape s = conv_shape(call);
  Tensor& out = tensor(call, "Y");
  std::fill(out.begin(), out.end(), 0.0);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t y = 0; y < s.oh; ++y) {
      for (std::int64_t x = 0; x < s.ow; ++x) {
        conv_pixel(s, tensor(call, "X"), tensor(call, "Wt"), n, y, x, out.data() + ((n * s.oh + y) * s.ow + x) * s.f);
      }
    }
  }
}

double conv_flops(const ReferenceCall& call) {
  ConvShape s = conv_shape(call);
  return 2.0 * static_cast<double>(s.batch * s.oh * s.ow) * static_cast<double>(s.f) *
         static_cast<double>(s.kh * s.kw * s.c);
}

}  // namespace

void add_matmul(std::vector<Reference>& all) {
  all.push_back({"matmul", matmul, product_flops, {}, "A[M, K], B[K, N], C[M, N]"});
  all.push_back({"matmul_nt", matmul_nt, product_flops, {}, "A[M, K], B[N, K], C[M, N]"});
  all.push_back({"matmul_tn", matmul_tn, product_flops, {}, "A[K, M], B[K, N], C[M, N]"});
  all.push_back({"matmul_bias_act", matmul_bias_act, product_flops, {}, "A[M, K], B[K, N], bias[N], C[M, N]"});
  all.push_back(
      {"batched_matmul",
       batched_matmul,
       [](const ReferenceCall& call) { return static_cast<double>(dim(call, "batch")) * product_flops(call); },
       {},
       "A[batch, M, K], B[batch, K, N], C[batch, M, N]"});
  all.push_back(
      {"matmul_int4", matmul_int4, product_flops, {}, "A[M, K], W[N, K], scale[N, ceildiv(K, group)], C[M, N]"});
  all.push_back({"gemv", gemv, gemv_flops, {}, "A[M, K], x[K], y[M]"});
  all.push_back({"conv2d", conv2d, conv_flops, {}, "X[batch, H, W, C], Wt[KH, KW, C, F], Y[batch, OH, OW, F]"});
}

}  // namespace plait::reference
