#include "base/whole_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace holon {

namespace {

// Is it Linux' zero, full, random or urandom?
bool is_endless(const struct stat& file) {
  if (!S_ISCHR(file.st_mode) || major(file.st_rdev) != 1) return false;
  const auto device = minor(file.st_rdev);
  return device == 5 || device == 7 || device == 8 || device == 9;
}

tl::unexpected<Error> endless(const std::string& path) {
  return fail(Errc::invalid_argument, "a device that has no end", path);
}

// Standard input is taken as it was handed over: a socket has no name to open, and some files only
// their opener may read.
Result<int> open_to_read(const std::string& path, int flags) {
  const int fd = path == "/dev/stdin" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                      : open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (fd >= 0) return fd;
  const bool is_there = errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG;
  return fail(is_there ? Errc::system : Errc::not_found, std::strerror(errno), path);
}

void wait_for_bytes(int fd) {
  pollfd readable{fd, POLLIN, 0};
  poll(&readable, 1, -1);
}

// Reads the file and closes it.
Result<std::string> read_open_file(int fd, const std::string& path, std::size_t most) {
  std::string bytes;
  std::array<char, 65536> piece;
  ssize_t n = 0;
  while (bytes.size() <= most && (n = read(fd, piece.data(), piece.size())) != 0) {
    if (n > 0)
      bytes.append(piece.data(), static_cast<std::size_t>(n));
    else if (errno == EAGAIN)
      wait_for_bytes(fd);
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

}  // namespace

Status check_has_end(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) == 0 && is_endless(file)) return endless(path);
  return {};
}

// A named pipe is opened without waiting for its other end: a pipe that nobody writes into is an
// error.
Result<std::string> read_whole_file(const std::string& path, std::size_t most) {
  if (Status ends = check_has_end(path); !ends) return tl::unexpected(ends.error());
  const auto fd = open_to_read(path, O_NONBLOCK);
  if (!fd) return tl::unexpected(fd.error());
  struct stat file {};
  const bool is_pipe = fstat(*fd, &file) == 0 && S_ISFIFO(file.st_mode);
  auto text = read_open_file(*fd, path, most);
  if (is_pipe && text && text->empty())
    return fail(Errc::invalid_argument, "a pipe that nobody writes into", path);
  return text;
}

// Does not wait for a writer of a pipe.
Result<std::string> read_regular_file(const std::string& path, std::size_t most) {
  const auto fd = open_to_read(path, O_NONBLOCK);
  if (!fd) return tl::unexpected(fd.error());
  struct stat file {};
  if (fstat(*fd, &file) == 0 && (S_ISREG(file.st_mode) || S_ISDIR(file.st_mode)))
    return read_open_file(*fd, path, most);
  close(*fd);
  return fail(Errc::invalid_argument, "it is no regular file", path);
}

}  // namespace holon
