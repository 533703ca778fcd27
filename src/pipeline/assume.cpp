#include "pipeline/assume.h"

#include "runtime/eval.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// TMA addresses rows that start at multiples of so many bits.
constexpr int kRowBits = 128;
/// Lines of L2.
constexpr std::int64_t kLineBits = 1024;

/// The most bytes, a power of two, that so many bits are a multiple of.
int granule_of(std::int64_t bits) {
  int bytes = kRowBits / 8;
  while (bytes > 1 && bits % (bytes * 8) != 0) bytes /= 2;
  return bytes;
}

std::optional<std::int64_t> value_of(const ExprRef& expr, const runtime::Env& env) {
  runtime::Evaluated result = runtime::evaluate(*expr, env);
  if (!result.value) return {};
  return result.value->i;
}

/// Elements from one to the next along each dimension; none where a dim is not known.
std::vector<std::optional<std::int64_t>> strides_of(const BufferDecl& tensor, const runtime::Env& env) {
  std::vector<std::optional<std::int64_t>> strides(tensor.shape.size());
  if (!tensor.strides.empty()) {
    for (std::size_t d = 0; d < strides.size(); ++d) strides[d] = value_of(tensor.strides[d], env);
    return strides;
  }
  std::optional<std::int64_t> step = 1;
  for (std::size_t d = strides.size(); d-- > 0;) {
    strides[d] = step;
    auto extent = value_of(tensor.shape[d], env);
    bool small = step && extent && *extent < (std::int64_t{1} << 31) && *step < (std::int64_t{1} << 31);
    step = small ? std::optional(*step * *extent) : std::nullopt;
  }
  return strides;
}

}  // namespace

place::Assumptions assume(const Kernel& kernel, const std::map<std::string, std::int64_t>& dims) {
  runtime::Env env;
  for (const Var& dim : kernel.dims) {
    auto it = dims.find(dim->name);
    if (it != dims.end()) env[dim.get()] = runtime::int_value(it->second);
  }
  place::Assumptions found;
  for (const Param& param : kernel.params) {
    if (param.buffer == nullptr) continue;
    int granule = kRowBits / 8;
    auto extent = param.buffer->shape.empty() ? std::nullopt : value_of(param.buffer->shape.back(), env);
    if (extent && *extent * dtype_bits(param.buffer->type) % kRowBits != 0) {
      found.ragged.insert(param.buffer->name);
      granule = std::min(granule, granule_of(*extent * dtype_bits(param.buffer->type)));
    }
    auto strides = strides_of(*param.buffer, env);
    for (std::size_t d = 0; d + 1 < strides.size(); ++d) {
      if (!strides[d]) continue;
      std::int64_t bits = *strides[d] * dtype_bits(param.buffer->type);
      if (bits % kRowBits != 0) {
        found.unaligned.insert(param.buffer->name);
        granule = std::min(granule, granule_of(bits));
      } else if (bits % kLineBits != 0 && param.kind != ParamKind::out) {
        found.straddling.insert(param.buffer->name);
      }
    }
    if (granule < kRowBits / 8) found.granules[param.buffer->name] = granule;
  }
  return found;
}

place::Assumptions assume(const Kernel& kernel, const BoundArgs& call) {
  std::map<std::string, std::int64_t> dims;
  for (std::size_t i = 0; i < kernel.dims.size(); ++i) dims[kernel.dims[i]->name] = call.dims[i];
  place::Assumptions found = assume(kernel, dims);
  std::size_t next = 0;
  for (const Param& param : kernel.params) {
    if (param.buffer == nullptr) continue;
    const std::string& name = param.buffer->name;
    auto address = reinterpret_cast<std::uintptr_t>(call.tensors[next++].data);
    if (address % (kRowBits / 8) == 0) continue;
    auto known = found.granules.try_emplace(name, int{kRowBits / 8}).first;
    known->second = std::min(known->second, granule_of(static_cast<std::int64_t>(address % (kRowBits / 8)) * 8));
    found.unaligned.insert(name);
    found.ragged.insert(name);
    found.straddling.erase(name);
  }
  return found;
}

}  // namespace plait::pipeline
