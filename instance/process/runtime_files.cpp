#include "instance/process/runtime_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "instance/basics/durable_file.hpp"
#include "launch/remote/output_note.hpp"
#include "transport/endpoint.hpp"

namespace holon::instance {

namespace fs = std::filesystem;

namespace {

constexpr time_t kYoung = kYoungRuntimeDir / 1'000;  // s
constexpr time_t kUntouched = 7'200;                 // s; a supervisor touches its files more often

constexpr Duration kFirstLook = 1'000;
constexpr Duration kBetweenLooks = 3'600'000;

// Seconds since the file was last written or touched; nullopt: it is no regular file.
std::optional<time_t> age_of(const fs::path& file) {
  struct stat info {};
  if (lstat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return time(nullptr) - info.st_mtime;
}

// A supervisor takes its lock within moments of making the file; one that was stopped in between
// makes its directory again. A directory without a lock that was not touched for long was left by a
// supervisor that ended before it had made one.
bool is_abandoned(const fs::path& dir) {
  struct stat folder {};
  if (lstat(dir.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode) || folder.st_uid != geteuid())
    return false;
  const auto lock = age_of(dir / transport::SupervisorLock::kFile);
  const auto instance = age_of(dir / "instance.json");
  const auto options = instance ? instance : age_of(dir / kAgentFile);
  if (!options || *options <= (lock ? kYoung : kUntouched)) return false;
  return !lock || (*lock > kYoung && !transport::supervisor_lives(dir));
}

}  // namespace

void remove_abandoned_runtime_dirs(const std::string& base) {
  std::error_code error;
  for (fs::directory_iterator entry(base, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!transport::is_runtime_dir_name(entry->path().filename().string())) continue;
    std::error_code ignored;
    if (!is_abandoned(entry->path())) continue;
    launch::remove_noted_output(entry->path());
    fs::remove_all(entry->path(), ignored);
  }
}

RuntimeDirSweep::RuntimeDirSweep(transport::Reactor& reactor, const std::string& own_dir)
    : reactor_(reactor),
      base_(fs::path(own_dir).parent_path()),
      first_(reactor.after(kFirstLook, [this] { look(); })),
      hourly_(reactor.every(kBetweenLooks, [this] { look(); })) {}

void RuntimeDirSweep::expect_more() {
  later_ = reactor_.after(kYoungRuntimeDir + kFirstLook, [this] { look(); });
}

void remove_runtime_dir(const std::string& own_dir, bool others_too) {
  std::error_code ignored;
  fs::remove_all(own_dir, ignored);
  if (others_too) remove_abandoned_runtime_dirs(fs::path(own_dir).parent_path());
}

void open_to_everybody(const std::string& runtime_dir) {
  chmod(runtime_dir.c_str(), 0711);  // others may pass through it, not list it
}

RuntimeFiles::RuntimeFiles(std::string dir, bool for_everybody)
    : dir_(std::move(dir)), for_everybody_(for_everybody), lock_(dir_) {
  std::error_code error;
  for (fs::directory_iterator entry(dir_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code none;
    if (!entry->is_regular_file(none) ||
        entry->path().filename() == transport::SupervisorLock::kFile)
      continue;
    std::ifstream in(entry->path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    files_[entry->path().filename().string()] = text.str();
  }
  lock_.take();
}

bool RuntimeFiles::whole() const {
  return !lock_.is_lost() && std::all_of(files_.begin(), files_.end(), [this](const auto& file) {
    struct stat info {};
    return lstat((dir_ + "/" + file.first).c_str(), &info) == 0;
  });
}

Status RuntimeFiles::restore() {
  if (for_everybody_) chmod(dir_.c_str(), 0700);  // our own files are made before others may come
  if (auto made = transport::make_runtime_dir(dir_); !made) return tl::unexpected(made.error());
  if (lock_.is_lost()) lock_.take();
  for (const auto& [name, text] : files_) {
    struct stat info {};
    if (lstat((dir_ + "/" + name).c_str(), &info) == 0) continue;
    if (auto written = write_durably(dir_ + "/" + name, text); !written) return written;
  }
  if (for_everybody_) open_to_everybody(dir_);
  return {};
}

void RuntimeFiles::touch() const {
  std::error_code error;
  for (fs::directory_iterator entry(dir_, error), end; !error && entry != end;
       entry.increment(error))
    utimensat(AT_FDCWD, entry->path().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  utimensat(AT_FDCWD, dir_.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace holon::instance
