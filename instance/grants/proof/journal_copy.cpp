#include "instance/grants/proof/journal_copy.hpp"

#include <fmt/core.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <tuple>
#include <utility>

#include "instance/journal/files.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 20;
constexpr std::size_t kLogHead = 32;  // bytes, as SQLite's file format has it

// What changes if pages of another log may have come into the database: the log's head; without a
// log, the database itself.
using JournalStamp = std::tuple<std::string, std::int64_t, std::int64_t, off_t>;

JournalStamp stamp_of(const std::string& file) {
  std::ifstream log(log_file(file), std::ios::binary);
  std::array<char, kLogHead> bytes{};
  log.read(bytes.data(), bytes.size());
  std::string head(bytes.data(), static_cast<std::size_t>(log.gcount()));
  struct stat info {};
  if (!head.empty() || stat(file.c_str(), &info) != 0) return {std::move(head), 0, 0, 0};
  return {"", info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size};
}

// A file that is not there is not copied.
Status copy_if_there(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::remove(to, error);
  if (!fs::exists(from, error) && !error) return {};
  if (!error) fs::copy_file(from, to, error);
  if (error == std::errc::no_such_file_or_directory) return {};  // removed meanwhile
  return error ? fail(Errc::system, error.message(), from) : Status();
}

Result<std::string> new_folder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return fail(Errc::system, error.message(), "TMPDIR");
  std::string name = (parent / "holon-copy-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return system_error("mkdtemp", name);
  return name;
}

}  // namespace

JournalCopy::JournalCopy(JournalCopy&& other) noexcept : dir_(std::exchange(other.dir_, {})) {}

JournalCopy& JournalCopy::operator=(JournalCopy&& other) noexcept {
  std::swap(dir_, other.dir_);
  return *this;
}

JournalCopy::~JournalCopy() {
  std::error_code ignored;
  if (!dir_.empty()) fs::remove_all(dir_, ignored);
}

Result<JournalCopy> JournalCopy::of(const std::string& state_dir) {
  const std::string file = journal_file(state_dir);
  std::error_code error;
  const bool is_there = fs::is_regular_file(fs::symlink_status(file, error));
  if (!is_there && error && error != std::errc::no_such_file_or_directory &&
      error != std::errc::not_a_directory)
    return fail(Errc::system, error.message(), file);
  if (!is_there) return fail(Errc::not_found, "there is no journal of an instance", file);
  auto folder = new_folder();
  if (!folder) return tl::unexpected(folder.error());
  JournalCopy copy(std::move(*folder));
  // How far it had come is written after each commit: the copy has come at least as far.
  for (const char* name : {"/instance.id", "/instance.mark"})
    if (auto done = copy_if_there(state_dir + name, copy.dir_ + name); !done)
      return tl::unexpected(done.error());
  const std::string to = journal_file(copy.dir_);
  for (int i = 0; i < kMostTries; ++i) {
    const auto before = stamp_of(file);
    if (auto done = copy_if_there(file, to); !done) return tl::unexpected(done.error());
    if (auto done = copy_if_there(log_file(file), log_file(to)); !done)
      return tl::unexpected(done.error());
    if (stamp_of(file) == before) return copy;
  }
  return fail(Errc::busy, "it changes faster than it can be copied", file);
}

}  // namespace holon::instance
