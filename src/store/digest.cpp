#include "store/digest.h"

#include <fmt/format.h>
#include <llvm-c/blake3.h>

#include <array>

#include "support/diagnostic.h"

namespace plait::store {

std::string digest_of(std::string_view text, std::size_t digits) {
  std::array<std::uint8_t, LLVM_BLAKE3_OUT_LEN> bytes{};
  PLAIT_ASSERT(digits <= 2 * bytes.size(), "a digest has no so many digits");
  llvm_blake3_hasher hasher;
  llvm_blake3_hasher_init(&hasher);
  llvm_blake3_hasher_update(&hasher, text.data(), text.size());
  llvm_blake3_hasher_finalize(&hasher, bytes.data(), bytes.size());
  std::string out;
  for (std::uint8_t byte : bytes) out += fmt::format("{:02x}", byte);
  out.resize(digits);
  return out;
}

}  // namespace plait::store
