#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "emit/cuda/emitter.h"

namespace plait::emit::cuda {
namespace {

/// Words of C++.
constexpr std::string_view kKeywords = R"(
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq
)";

/// Macros, types, variables and functions that a CUDA file knows without any header; two declarations of one with C
/// linkage are an error.
constexpr std::string_view kRuntime = R"(
CUDART_VERSION NULL WARP_SZ abort abs acos acosf acosh acoshf asin asinf asinh asinhf assert atan atan2 atan2f atanf
atanh atanhf atomicAdd atomicAnd atomicCAS atomicDec atomicExch atomicInc atomicMax atomicMin atomicOr atomicSub
atomicXor blockDim blockIdx cbrt cbrtf ceil ceilf clock clock64 clock_t clusterDim clusterIdx copysign copysignf cos
cosf cosh coshf cospi cospif cudaError_t cudaRoundMinInf cudaRoundNearest cudaRoundPosInf cudaRoundZero cudaStream_t
cudaSuccess cyl_bessel_i0 cyl_bessel_i0f cyl_bessel_i1 cyl_bessel_i1f dim3 erf erfc erfcf erfcinv erfcinvf erfcx
erfcxf erff erfinv erfinvf exit exp exp10 exp10f exp2 exp2f expf expm1 expm1f fabs fabsf fdim fdimf fdividef float2
float4 floor floorf fma fmaf fmax fmaxf fmin fminf fmod fmodf free frexp frexpf gridDim half half2 hypot hypotf ilogb
ilogbf isfinite isinf isnan j0 j0f j1 j1f jn jnf labs ldexp ldexpf lgamma lgammaf linux llabs llmax llmin llrint
llrintf llround llroundf log log10 log10f log1p log1pf log2 log2f logb logbf logf lrint lrintf lround lroundf main
malloc max memcpy memset min modf modff nan nanf nearbyint nearbyintf nextafter nextafterf norm norm3d norm3df norm4d
norm4df normcdf normcdff normcdfinv normcdfinvf normf pow powf printf ptrdiff_t rcbrt rcbrtf remainder remainderf
remquo remquof rhypot rhypotf rint rintf rnorm rnorm3d rnorm3df rnorm4d rnorm4df rnormf round roundf rsqrt rsqrtf
scalbln scalblnf scalbn scalbnf signbit sin sincos sincosf sincospi sincospif sinf sinh sinhf sinpi sinpif size_t sqrt
sqrtf std strlen tan tanf tanh tanhf tgamma tgammaf threadIdx trunc truncf uint2 uint4 ullmax ullmin umax umin unix
va_arg va_copy va_end va_list va_start warpSize y0 y0f y1 y1f yn ynf
)";

/// What statements of the emitted file call their own.
constexpr std::string_view kLocals = R"(
TensorMap a_desc at b_desc block_warp column from i inside map piece row shared smem smem_bytes to
)";
/// The same of loops over matrices, with an underscore behind.
constexpr std::string_view kCounters[] = {"k", "m", "n", "r", "s"};

/// How functions made for a shape or a type begin.
constexpr std::string_view kHelpers[] = {"bulk_", "ldmatrix_", "mma_", "pack_", "stmatrix_", "tma_", "wgmma_"};

using Words = std::unordered_set<std::string_view>;

Words split(std::initializer_list<std::string_view> lists) {
  Words words;
  for (std::string_view list : lists) {
    for (std::size_t at = 0; (at = list.find_first_not_of(" \n", at)) != std::string_view::npos;) {
      std::size_t end = list.find_first_of(" \n", at);
      words.insert(list.substr(at, end - at));
      at = end;
    }
  }
  return words;
}

bool taken(std::string_view word) {
  static const Words words = split({kKeywords, kRuntime, kLocals});
  auto begins = [&](std::string_view prefix) { return word.starts_with(prefix); };
  return words.contains(word) || is_fixed_helper(std::string(word)) ||
         std::any_of(std::begin(kHelpers), std::end(kHelpers), begins);
}

/// Two underscores, or one and a capital letter, belong to the compiler.
bool is_compilers(std::string_view word) {
  return word.size() > 1 && word[0] == '_' &&
         (word[1] == '_' || std::isupper(static_cast<unsigned char>(word[1])) != 0);
}

}  // namespace

/// Different names stay different: of `min` comes `min_`, and of `min_` therefore `min__`.
std::string Emitter::name(const std::string& id) {
  std::string_view word = id;
  std::string_view stem = word.substr(0, word.find_last_not_of('_') + 1);
  std::string out = id;
  if (taken(stem) ||
      (stem != word && std::find(std::begin(kCounters), std::end(kCounters), stem) != std::end(kCounters)))
    out += "_";
  std::size_t letters = word.find_first_not_of('v');
  if (letters != std::string_view::npos && is_compilers(word.substr(letters))) out = "v" + out;
  return out;
}

}  // namespace plait::emit::cuda
