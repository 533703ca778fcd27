// Any bytes are an array or are refused with a message; an array written and read again is the same.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/files.h"
#include "runtime/npy.h"

namespace {

using namespace plait;

[[noreturn]] void broken(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

/// A file in memory, reachable by a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("npy", MFD_CLOEXEC)) {
    if (fd_ < 0 || !runtime::write_all(fd_, bytes)) broken("no file in memory", std::strerror(errno));
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void refused(const Diagnostics& diagnostics) {
  if (!diagnostics.has_errors()) broken("refused without an error", "");
  diagnostics.render();
}

void check(std::string_view bytes, std::optional<ir::DType> type) {
  const Result<runtime::HostTensor> tensor = runtime::read_npy(MemoryFile(bytes).path(), type);
  if (!tensor) return refused(tensor.diagnostics());
  const std::string header = runtime::npy_header(tensor->view()), elements = runtime::npy_data(tensor->view());
  const auto again = runtime::read_npy(MemoryFile(header + elements).path(), tensor->view().type);
  if (!again) broken("what was written is refused", again.diagnostics().render());
  if (runtime::npy_header(again->view()) != header) broken("another header", header);
  if (runtime::npy_data(again->view()) != elements) broken("other elements", header);
}

}  // namespace

/// The first byte chooses the type of raw elements, or none.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto parsed = runtime::parse_npy_header(bytes, "fuzz.npy");
  if (!parsed) refused(parsed.diagnostics());
  const auto& types = ir::all_dtypes();
  check(bytes, data[0] < types.size() ? std::optional(types[data[0]]) : std::nullopt);
  return 0;
}
