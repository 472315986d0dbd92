#include "base/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace holon {

Result<std::string> read_whole_file(const std::string& path, std::size_t most) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const bool is_there = errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG;
    return fail(is_there ? Errc::system : Errc::not_found, std::strerror(errno), path);
  }
  std::string bytes;
  std::array<char, 65536> piece;
  ssize_t n = 0;
  while (bytes.size() <= most && (n = read(fd, piece.data(), piece.size())) != 0) {
    if (n > 0)
      bytes.append(piece.data(), static_cast<std::size_t>(n));
    else if (errno != EINTR)
      break;
  }
  const int why = errno;
  close(fd);
  if (n < 0 && why == EISDIR) return fail(Errc::invalid_argument, "a folder", path);
  if (n < 0) return fail(Errc::system, std::strerror(why), path);
  if (bytes.size() > most)
    return fail(Errc::out_of_range,
                "has more than the " + std::to_string(most) + " bytes that are accepted", path);
  return bytes;
}

}  // namespace holon
