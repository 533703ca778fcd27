// Sequence models: attention, Mamba2 chunk state and chunk scan (the formulas of Mamba2, Dao and Gu, arXiv 2405.21060).
#include <algorithm>
#include <cmath>

#include "reference/access.h"

namespace plait::reference {
namespace {

struct AttentionShape {
  std::int64_t b, h, hkv, sq, sk, d;
  bool causal;
};

AttentionShape attention_shape(const ReferenceCall& call) {
  return {dim(call, "B"),  dim(call, "H"),       dim(call, "Hkv"),          dim(call, "Sq"),
          dim(call, "Sk"), int_param(call, "D"), bool_param(call, "causal")};
}

/// One output row: softmax(q·Kᵀ · scale)·V over the first `seen` keys; zeros where there is none.
void attention_row(const double* q, const double* k, const double* v, std::int64_t seen, std::int64_t d, double scale,
                   double* out) {
  std::fill(out, out + d, 0.0);
  std::vector<double> score(static_cast<std::size_t>(std::max<std::int64_t>(seen, 0)));
  double largest = -INFINITY, sum = 0;
  for (std::size_t j = 0; j < score.size(); ++j) {
    double dot = 0;
    for (std::int64_t e = 0; e < d; ++e) dot += q[e] * k[static_cast<std::int64_t>(j) * d + e];
    score[j] = dot * scale;
    largest = std::max(largest, score[j]);
  }
  for (double& s : score) sum += s = std::exp(s - largest);
  for (std::size_t j = 0; j < score.size(); ++j) {
    for (std::int64_t e = 0; e < d; ++e) out[e] += score[j] / sum * v[static_cast<std::int64_t>(j) * d + e];
  }
}

void attention(const ReferenceCall& call) {
  AttentionShape s = attention_shape(call);
  for (std::int64_t head = 0; head < s.b * s.h; ++head) {
    std::int64_t kv = head / s.h * s.hkv + head % s.h / (s.h / s.hkv);
    for (std::int64_t i = 0; i < s.sq; ++i) {
      std::int64_t seen = s.causal ? std::min(s.sk, i + s.sk - s.sq + 1) : s.sk;
      std::int64_t row = (head * s.sq + i) * s.d;
      attention_row(tensor(call, "Q").data() + row, tensor(call, "K").data() + kv * s.sk * s.d,
                    tensor(call, "V").data() + kv * s.sk * s.d, seen, s.d, 1 / std::sqrt(static_cast<double>(s.d)),
                    tensor(call, "O").data() + row);
    }
  }
}

/// A flag that a role program has as compile-time parameter, false where it is not given.
bool is_set(const ReferenceCall& call, const std::string& name) {
  auto value = call.bindings.find(name);
  return value != call.bindings.end() && value->second == "true";
}

/// The role program attention_fwd: as many query as key heads and rows, D = 128, the scale times log2(e) an argument.
void attention_fwd(const ReferenceCall& call) {
  constexpr std::int64_t d = 128;
  std::int64_t s = dim(call, "S");
  bool is_causal = is_set(call, "causal");
  double scale = call.scalars.at("scale_log2") * std::log(2.0);
  for (std::int64_t head = 0; head < dim(call, "B") * dim(call, "H"); ++head) {
    for (std::int64_t i = 0; i < s; ++i) {
      std::int64_t row = (head * s + i) * d;
      attention_row(tensor(call, "Q").data() + row, tensor(call, "K").data() + head * s * d,
                    tensor(call, "V").data() + head * s * d, is_causal ? i + 1 : s, d, scale,
                    tensor(call, "O").data() + row);
    }
  }
}

double attention_fwd_flops(const ReferenceCall& call) {
  bool is_causal = is_set(call, "causal");
  auto s = static_cast<double>(dim(call, "S"));
  return 4.0 * static_cast<double>(dim(call, "B") * dim(call, "H")) * s * s * 128 * (is_causal ? 0.5 : 1.0);
}

/// Two products of Sq x Sk x D a head; half of it when causal.
double attention_flops(const ReferenceCall& call) {
  AttentionShape s = attention_shape(call);
  return 4.0 * static_cast<double>(s.b * s.h) * static_cast<double>(s.sq) * static_cast<double>(s.sk) *
         static_cast<double>(s.d) * (s.causal ? 0.5 : 1.0);
}

struct MambaShape {
  std::int64_t b, s, h, g, l, p, n;
  std::int64_t chunks() const { return s / l; }
  std::int64_t group(std::int64_t head) const { return head / (h / g); }
};

MambaShape mamba_shape(const ReferenceCall& call) {
  return {dim(call, "B"),       dim(call, "S"),       dim(call, "H"),      dim(call, "G"),
          int_param(call, "L"), int_param(call, "P"), int_param(call, "N")};
}

/// Calls fn(b, c, h, offset of dt[b, h, c, 0]) for each batch, chunk and head.
template <typename Fn>
void each_chunk(const MambaShape& s, Fn fn) {
  for (std::int64_t b = 0; b < s.b; ++b) {
    for (std::int64_t c = 0; c < s.chunks(); ++c) {
      for (std::int64_t h = 0; h < s.h; ++h) fn(b, c, h, ((b * s.h + h) * s.chunks() + c) * s.l);
    }
  }
}

void chunk_state(const ReferenceCall& call) {
  MambaShape s = mamba_shape(call);
  const Tensor &x = tensor(call, "x"), &bm = tensor(call, "Bm"), &dt = tensor(call, "dt"),
               &da = tensor(call, "dA_cumsum");
  Tensor& states = tensor(call, "states");
  std::fill(states.begin(), states.end(), 0.0);
  each_chunk(s, [&](std::int64_t b, std::int64_t c, std::int64_t h, std::int64_t at) {
    double* out = states.data() + ((b * s.chunks() + c) * s.h + h) * s.p * s.n;
    for (std::int64_t l = 0; l < s.l; ++l) {
      std::int64_t step = b * s.s + c * s.l + l;
      double weight = std::exp(da[static_cast<std::size_t>(at + s.l - 1)] - da[static_cast<std::size_t>(at + l)]) *
                      dt[static_cast<std::size_t>(at + l)];
      const double* xs = x.data() + (step * s.h + h) * s.p;
      const double* bs = bm.data() + (step * s.g + s.group(h)) * s.n;
      for (std::int64_t p = 0; p < s.p; ++p) {
        for (std::int64_t n = 0; n < s.n; ++n) out[p * s.n + n] += xs[p] * weight * bs[n];
      }
    }
  });
}

void chunk_scan(const ReferenceCall& call) {
  MambaShape s = mamba_shape(call);
  const Tensor &x = tensor(call, "x"), &dt = tensor(call, "dt"), &da = tensor(call, "dA_cumsum"),
               &cb = tensor(call, "cb");
  const Tensor &cm = tensor(call, "C"), &previous = tensor(call, "prev_states"), &skip = tensor(call, "D");
  Tensor& out = tensor(call, "out");
  each_chunk(s, [&](std::int64_t b, std::int64_t c, std::int64_t h, std::int64_t at) {
    const double* dts = dt.data() + at;
    const double* das = da.data() + at;
    const double* state = previous.data() + ((b * s.chunks() + c) * s.h + h) * s.p * s.n;
    const double* cbs = cb.data() + ((b * s.chunks() + c) * s.g + s.group(h)) * s.l * s.l;
    for (std::int64_t l = 0; l < s.l; ++l) {
      std::int64_t step = b * s.s + c * s.l + l;
      const double* cs = cm.data() + (step * s.g + s.group(h)) * s.n;
      for (std::int64_t p = 0; p < s.p; ++p) {
        double inside = 0, carried = 0;
        for (std::int64_t k = 0; k <= l; ++k) {
          inside += cbs[l * s.l + k] * std::exp(das[l] - das[k]) * dts[k] *
                    x[static_cast<std::size_t>(((b * s.s + c * s.l + k) * s.h + h) * s.p + p)];
        }
        for (std::int64_t n = 0; n < s.n; ++n) carried += cs[n] * state[p * s.n + n];
        auto here = static_cast<std::size_t>((step * s.h + h) * s.p + p);
        out[here] = inside + std::exp(das[l]) * carried + skip[static_cast<std::size_t>(h)] * x[here];
      }
    }
  });
}

double state_flops(const ReferenceCall& call) {
  MambaShape s = mamba_shape(call);
  return 2.0 * static_cast<double>(s.b * s.s * s.h) * static_cast<double>(s.p * s.n);
}

double scan_flops(const ReferenceCall& call) {
  MambaShape s = mamba_shape(call);
  return static_cast<double>(s.b * s.s * s.h) * static_cast<double>(s.p) * static_cast<double>(s.l + 2 * s.n);
}

}  // namespace

void add_sequence(std::vector<Reference>& all) {
  all.push_back({"attention",
                 attention,
                 attention_flops,
                 {},
                 "Q[B, H, Sq, D], K[B, Hkv, Sk, D], V[B, Hkv, Sk, D], O[B, H, Sq, D]"});
  all.push_back({"attention_fwd",
                 attention_fwd,
                 attention_fwd_flops,
                 {},
                 "Q[B, H, S, 128], K[B, H, S, 128], V[B, H, S, 128], O[B, H, S, 128]"});
  all.push_back(
      {"mamba2_chunk_state",
       chunk_state,
       state_flops,
       // x·exp(…)·dt is rounded to f16 before the product, as the published kernels do.
       {{"f32", 0.02}},
       "x[B, S, H, P], Bm[B, S, G, N], dt[B, H, S / L, L], dA_cumsum[B, H, S / L, L], states[B, S / L, H, P, N]"});
  all.push_back({"mamba2_chunk_scan",
                 chunk_scan,
                 scan_flops,
                 // cb·exp(…)·dt is rounded to f16 before the product, as the published kernels do: each term carries
                 // half an ulp of f16, and terms of one row differ by orders of magnitude.
                 {{"f16", 0.02}},
                 "cb[B, S / L, G, L, L], x[B, S, H, P], dt[B, H, S / L, L], dA_cumsum[B, H, S / L, L], C[B, S, G, N], "
                 "prev_states[B, S / L, H, P, N], D[H], out[B, S, H, P]"});
}

}  // namespace plait::reference
