#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>

#include "plait/plait.h"
#include "store/plans.h"

namespace plait::store {
namespace {

struct Search {
  std::uintptr_t address;  ///< in the file that is looked for
  std::string id;
};

bool holds(const dl_phdr_info& file, std::uintptr_t address) {
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    const auto& part = file.dlpi_phdr[i];
    std::uintptr_t begin = file.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= begin && address < begin + part.p_memsz) return true;
  }
  return false;
}

/// The build id among the notes of a segment, as hexadecimal digits.
std::string id_in(const char* at, const char* end) {
  constexpr std::size_t word = 4;
  auto padded = [](std::size_t bytes) { return (bytes + word - 1) / word * word; };
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char* name = at + sizeof note;
    const char* data = name + padded(note.n_namesz);
    if (data + note.n_descsz > end) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
        std::memcmp(name, "GNU", sizeof "GNU") == 0) {
      std::string id;
      for (std::size_t i = 0; i < note.n_descsz; ++i) id += fmt::format("{:02x}", static_cast<unsigned char>(data[i]));
      return id;
    }
    at = data + padded(note.n_descsz);
  }
  return {};
}

int look_at(dl_phdr_info* file, std::size_t, void* to) {
  auto& search = *static_cast<Search*>(to);
  if (!holds(*file, search.address)) return 0;
  for (int i = 0; i < file->dlpi_phnum && search.id.empty(); ++i) {
    const auto& part = file->dlpi_phdr[i];
    const auto* at = reinterpret_cast<const char*>(file->dlpi_addr + part.p_vaddr);
    if (part.p_type == PT_NOTE) search.id = id_in(at, at + part.p_memsz);
  }
  return 1;
}

}  // namespace

const std::string& build() {
  static const std::string name = [] {
    Search search{reinterpret_cast<std::uintptr_t>(&look_at), {}};
    dl_iterate_phdr(look_at, &search);
    return fmt::format("plait {} {}", PLAIT_VERSION, search.id);
  }();
  return name;
}

}  // namespace plait::store
