#include "cache.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>

#include "store/build.h"
#include "store/code_archive.h"

namespace plait::cli {
namespace {

using store::CodeFile;
using store::CodeFolder;

constexpr std::int64_t kSummaryBytes = 1 << 16;
constexpr std::int64_t kAbandonedSeconds = 3600;  ///< no process writes one file for so long

/// A file of the folder with what it says of itself.
struct Entry {
  CodeFolder::Listed listed;
  std::optional<CodeFile> file;  ///< without its parts
  bool is_ours() const { return file && file->build == store::build(); }
};

std::optional<CodeFile> summary_of(const CodeFolder::Listed& listed) {
  for (std::int64_t bytes = kSummaryBytes;; bytes *= 16) {
    auto begin = CodeFolder::read(listed.path, bytes);
    if (!begin) return std::nullopt;
    auto read = store::unpack_summary(*begin);
    if (auto* file = std::get_if<CodeFile>(&read)) return std::move(*file);
    if (std::holds_alternative<store::Damage>(read) || bytes >= listed.bytes) return std::nullopt;
  }
}

struct Contents {
  std::vector<Entry> entries;
  std::vector<CodeFolder::Listed> parts;  ///< of files that were never finished
  std::int64_t bytes = 0;                 ///< of the entries
};

Result<Contents> read_folder(const CodeFolder& folder) {
  auto files = folder.list();
  if (!files) return files.diagnostics();
  Contents out;
  for (CodeFolder::Listed& listed : *files) {
    if (listed.is_part) out.parts.push_back(listed);
    if (!listed.name) continue;
    out.bytes += listed.bytes;
    auto file = summary_of(listed);
    out.entries.push_back({std::move(listed), std::move(file)});
  }
  return out;
}

std::string field(const CodeFile& file, std::string_view key) {
  const Json* found = file.summary.find(key);
  const std::string* text = found != nullptr ? found->text() : nullptr;
  return text != nullptr ? *text : std::string();
}

/// Texts of files that anybody may have written, for a terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

/// `NVRTC 13.0` of `NVRTC 13.0 (FILE)`.
std::string compiler_of(const CodeFile& file) {
  std::string text = field(file, "compiler");
  return text.substr(0, text.find(" ("));
}

std::string count_text(std::int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// ---- ls ------------------------------------------------------------------------------------------------------------

Outcome list(const std::string& named) {
  CodeFolder folder = cache_folder(named);
  auto contents = read_folder(folder);
  if (!contents) return failed(contents.diagnostics());
  Outcome outcome;
  std::vector<Report> reports;
  std::vector<std::vector<std::string>> rows = {{"kernel", "arch", "device", "compiler", "size", "made", "key"}};
  std::int64_t damaged = 0, foreign = 0;
  for (const Entry& entry : contents->entries) {
    Report& report = reports.emplace_back();
    report.set("file", entry.listed.path);
    report.set("bytes", entry.listed.bytes);
    if (!entry.file) {
      ++damaged;
      continue;
    }
    foreign += entry.is_ours() ? 0 : 1;
    rows.push_back({entry.file->kernel, field(*entry.file, "arch"), field(*entry.file, "device"),
                    compiler_of(*entry.file), memory_text(entry.listed.bytes), field(*entry.file, "made_at"),
                    entry.file->name.key.substr(0, 12) + (entry.is_ours() ? "" : " *")});
    report.set("kernel", entry.file->kernel);
    report.set("key", entry.file->name.key);
    report.set("variant", entry.file->name.variant);
    report.set("version", entry.file->build);
    report.set_json("summary", entry.file->summary.dump());
  }
  outcome.text = fmt::format("{}: {}, {}\n", folder.path(),
                             count_text(static_cast<std::int64_t>(contents->entries.size()), "file"),
                             memory_text(contents->bytes));
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (std::size_t r = 0; r < rows.size() && rows.size() > 1; ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i) line += fmt::format("{:<{}}  ", rows[r][i], widths[i]);
    line.resize(line.find_last_not_of(' ') + 1);
    outcome.text += line + "\n";
  }
  if (foreign > 0)
    outcome.text += fmt::format(
        "* of another version of plait, which alone it serves; `plait cache clear --stale` "
        "removes {}\n",
        foreign == 1 ? "it" : "them");
  if (damaged > 0)
    outcome.text += fmt::format("{} cannot be read; `plait cache verify` says why\n", count_text(damaged, "file"));
  outcome.report.set("folder", folder.path());
  outcome.report.set("version", store::build());
  outcome.report.set("bytes", contents->bytes);
  outcome.report.set("files", reports);
  return outcome;
}

// ---- clear ---------------------------------------------------------------------------------------------------------

Outcome clear(const std::string& named, bool stale) {
  CodeFolder folder = cache_folder(named);
  auto contents = read_folder(folder);
  if (!contents) return failed(contents.diagnostics());
  Outcome outcome;
  std::int64_t count = 0, bytes = 0;
  auto remove = [&](const CodeFolder::Listed& listed) {
    Diagnostics found = CodeFolder::remove(listed.path);
    outcome.diagnostics.append(found);
    if (found.has_errors()) return;
    ++count;
    bytes += listed.bytes;
  };
  for (const Entry& entry : contents->entries) {
    if (!stale || !entry.is_ours()) remove(entry.listed);
  }
  for (const CodeFolder::Listed& part : contents->parts) {
    if (std::time(nullptr) - part.seconds > kAbandonedSeconds) remove(part);
  }
  outcome.text = fmt::format("{}: removed {}, {}\n", folder.path(), count_text(count, "file"), memory_text(bytes));
  outcome.report.set("folder", folder.path());
  outcome.report.set("removed", count);
  outcome.report.set("bytes", bytes);
  return outcome;
}

// ---- verify --------------------------------------------------------------------------------------------------------

/// What is wrong with a file; empty: nothing.
std::string damage_of(const CodeFolder::Listed& listed) {
  auto bytes = CodeFolder::read(listed.path);
  if (!bytes) return bytes.diagnostics().list().front().message;
  auto unpacked = store::unpack(*bytes);
  if (const auto* damage = std::get_if<store::Damage>(&unpacked)) return damage->what;
  return std::get<CodeFile>(unpacked).name == listed.name ? "" : "it holds other code than its name says";
}

Outcome verify(const std::string& named, bool remove) {
  CodeFolder folder = cache_folder(named);
  auto files = folder.list();
  if (!files) return failed(files.diagnostics());
  Outcome outcome;
  std::int64_t whole = 0, damaged = 0, abandoned = 0;
  for (const CodeFolder::Listed& listed : *files) {
    bool left = listed.is_part && std::time(nullptr) - listed.seconds > kAbandonedSeconds;
    if (left && remove) outcome.diagnostics.append(CodeFolder::remove(listed.path));
    abandoned += left ? 1 : 0;
    if (!listed.name) continue;
    std::string wrong = damage_of(listed);
    if (wrong.empty()) {
      ++whole;
      continue;
    }
    ++damaged;
    Diagnostic d{Rule::cache_entry, store::file_place(listed.path), wrong, {}, {}, Severity::error};
    if (remove) {
      d.severity = Severity::warning;
      d.fix = "nothing: it was removed";
      outcome.diagnostics.append(CodeFolder::remove(listed.path));
    }
    outcome.diagnostics.add(std::move(d));
  }
  outcome.text = fmt::format("{}: {} whole, {} damaged{}{}\n", folder.path(), whole, damaged,
                             abandoned > 0 ? fmt::format(", {} never finished", abandoned) : "",
                             remove && damaged + abandoned > 0 ? ", which were removed" : "");
  outcome.report.set("folder", folder.path());
  outcome.report.set("whole", whole);
  outcome.report.set("damaged", damaged);
  outcome.report.set("unfinished", abandoned);
  return outcome;
}

// ---- export, import ------------------------------------------------------------------------------------------------

struct ExportFlags {
  std::string folder, archive;
  std::vector<std::string> kernels;
};

Outcome export_archive(const ExportFlags& flags) {
  CodeFolder folder = cache_folder(flags.folder);
  auto contents = read_folder(folder);
  if (!contents) return failed(contents.diagnostics());
  std::vector<std::string> files;
  std::int64_t foreign = 0;
  for (const std::string& kernel : flags.kernels) {
    auto is = [&](const Entry& entry) { return entry.is_ours() && entry.file->kernel == kernel; };
    if (std::none_of(contents->entries.begin(), contents->entries.end(), is))
      throw UsageError{fmt::format("--kernel: {} has no code of {} for this version of plait", folder.path(), kernel)};
  }
  for (const Entry& entry : contents->entries) {
    bool asked = flags.kernels.empty() || (entry.file && std::find(flags.kernels.begin(), flags.kernels.end(),
                                                                   entry.file->kernel) != flags.kernels.end());
    if (!asked) continue;
    // What cannot be read is told by the one who tries.
    if (entry.file && !entry.is_ours()) {
      ++foreign;
    } else {
      files.push_back(entry.listed.path);
    }
  }
  Outcome outcome;
  if (files.empty()) {
    outcome.diagnostics.error(
        Rule::cache_archive, {},
        fmt::format("{} has no code for this version of plait: there is nothing to export", folder.path()),
        "compile kernels first, with `plait cache add FILE` or by running them");
    return outcome;
  }
  store::Exported made = store::export_code(files, flags.archive);
  outcome.diagnostics = made.errors;
  outcome.text = fmt::format("{}: {}, {}\n", flags.archive, count_text(made.count, "file"), memory_text(made.bytes));
  if (foreign > 0)
    outcome.text += fmt::format("{} of another version of plait left out\n", count_text(foreign, "file"));
  outcome.report.set("archive", flags.archive);
  outcome.report.set("files", made.count);
  outcome.report.set("bytes", made.bytes);
  outcome.report.set("left_out", foreign);
  return outcome;
}

Outcome import_archive(const std::string& named, const std::string& archive) {
  CodeFolder folder = cache_folder(named);
  store::Imported made = store::import_code(archive, folder);
  Outcome outcome;
  outcome.diagnostics = made.errors;
  outcome.text =
      fmt::format("{}: {} added, {} there already\n", folder.path(), count_text(made.added, "file"), made.known);
  if (made.foreign > 0)
    outcome.remarks = fmt::format("plait: {} of another version of plait than {}: that version alone finds {}\n",
                                  count_text(made.foreign, "file"), store::build(), made.foreign == 1 ? "it" : "them");
  outcome.report.set("folder", folder.path());
  outcome.report.set("added", made.added);
  outcome.report.set("known", made.known);
  outcome.report.set("foreign", made.foreign);
  return outcome;
}

}  // namespace

store::CodeFolder cache_folder(const std::string& named) {
  CodeFolder folder(named.empty() ? store::default_code_folder() : named);
  if (folder.is_off())
    throw UsageError{"there is no folder of compiled code: PLAIT_CACHE=none, or no home; name one with --folder"};
  return folder;
}

void add_folder_flag(const Options& options, std::string& folder) {
  options.add("--folder", folder,
              "folder of compiled code (default: PLAIT_CACHE, else plait/code in the user's cache)");
}

std::string memory_text(std::int64_t bytes) {
  constexpr std::int64_t kKibi = 1024;
  if (bytes < kKibi) return fmt::format("{} bytes", bytes);
  if (bytes < kKibi * kKibi) return fmt::format("{} KiB", (bytes + kKibi / 2) / kKibi);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (kKibi * kKibi));
}

void add_cache(CommandLine& line, Command& command) {
  CommandGroup group =
      line.group("cache", "Compiled code of GPU kernels, kept between runs: list, check, remove, take along, add",
                 "docs/cache.md says what is kept, and by what it is found.");
  auto folder = std::make_shared<std::string>();
  auto flag = std::make_shared<bool>(false);
  Options ls = add_command(group, command, "ls", "List the compiled code");
  add_folder_flag(ls, *folder);
  ls.chosen([=, &command] { command.action = [=] { return list(*folder); }; });

  Options remove = add_command(group, command, "clear", "Remove the compiled code");
  add_folder_flag(remove, *folder);
  remove.flag("--stale", *flag, "only what this version of plait has no use for");
  remove.chosen([=, &command] { command.action = [=] { return clear(*folder, *flag); }; });

  Options check = add_command(group, command, "verify", "Check every file against its digest and its name");
  add_folder_flag(check, *folder);
  check.flag("--remove", *flag, "remove what is damaged, and what was never finished");
  check.chosen([=, &command] { command.action = [=] { return verify(*folder, *flag); }; });

  Options out = add_command(group, command, "export", "Write the code for this version of plait into one archive");
  auto flags = std::make_shared<ExportFlags>();
  out.add("ARCHIVE", flags->archive, "file to write").required();
  out.add("--kernel", flags->kernels, "only the code of this kernel; may be given several times").repeated();
  add_folder_flag(out, flags->folder);
  out.chosen([=, &command] { command.action = [=] { return export_archive(*flags); }; });

  Options in = add_command(group, command, "import", "Take over the code of an archive");
  auto archive = std::make_shared<std::string>();
  in.add("ARCHIVE", *archive, "file that `plait cache export` wrote").required();
  add_folder_flag(in, *folder);
  in.chosen([=, &command] { command.action = [=] { return import_archive(*folder, *archive); }; });

  add_cache_add(group, command);
}

}  // namespace plait::cli
