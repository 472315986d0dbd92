#include "instance/basics/durable_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "transport/unique_fd.hpp"

namespace holon::instance {

Status sync_to_disk(const std::string& path) {
  const transport::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0 || fsync(fd.get()) != 0) return fail(Errc::system, std::strerror(errno), path);
  return {};
}

Status write_durably(const std::string& file, const std::string& text) {
  const std::string draft = file + "." + std::to_string(getpid());
  {
    const transport::UniqueFd fd(
        open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const auto size = static_cast<ssize_t>(text.size());
    const ssize_t written = fd ? write(fd.get(), text.data(), text.size()) : -1;
    if (written != size || fsync(fd.get()) != 0) {
      // A short write sets no errno: the disk took no more.
      const int error = written >= 0 && written < size ? ENOSPC : errno;
      unlink(draft.c_str());
      return fail(Errc::system, std::strerror(error), file);
    }
  }
  if (std::rename(draft.c_str(), file.c_str()) != 0) {
    const int error = errno;
    unlink(draft.c_str());
    return fail(Errc::system, std::strerror(error), file);
  }
  return sync_to_disk(std::filesystem::path(file).parent_path().string());
}

}  // namespace holon::instance
