#include "instance/process/runtime_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "instance/journal/durable_file.hpp"
#include "transport/endpoint.hpp"

namespace holon::instance {

namespace fs = std::filesystem;

RuntimeFiles::RuntimeFiles(std::string dir) : dir_(std::move(dir)), lock_(dir_) {
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
  if (auto made = transport::make_runtime_dir(dir_); !made) return tl::unexpected(made.error());
  if (lock_.is_lost()) lock_.take();
  for (const auto& [name, text] : files_) {
    struct stat info {};
    if (lstat((dir_ + "/" + name).c_str(), &info) == 0) continue;
    if (auto written = write_durably(dir_ + "/" + name, text); !written) return written;
  }
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
