#include "transport/secret.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>

namespace holon::transport {
std::string new_secret() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device random;
  std::string secret;
  while (secret.size() < 32)
    for (auto bits = random(), i = 8U; i > 0; --i, bits >>= 4) secret += kDigits[bits & 15];
  return secret;
}

// The secret is in a pipe, which can be read once and has no limit on the size of files. Neither
// end ever waits: all is in it before it is handed over.
Result<UniqueFd> secret_in_descriptor(std::string_view text) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return fail(Errc::system, std::strerror(errno), "pipe");
  UniqueFd out(ends[0]);
  const UniqueFd in(ends[1]);
  constexpr std::size_t kUsual = 60'000;  // bytes that fit into any pipe
  if (text.size() > kUsual) fcntl(in.get(), F_SETPIPE_SZ, static_cast<int>(2 * text.size()));
  if (write(in.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail(Errc::system, "a secret does not fit into a pipe");
  return out;
}

Result<std::string> take_secret(int fd) {
  struct stat info {};
  if (fd <= STDERR_FILENO || fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode))
    return fail(Errc::invalid_argument, "the descriptor is no pipe", std::to_string(fd));
  const UniqueFd out(fd);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; (n = read(fd, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(n));
  if (text.empty())
    return fail(Errc::invalid_argument, "the descriptor holds no secret", std::to_string(fd));
  return text;
}

bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.empty() || a.size() != b.size()) return false;
  volatile unsigned char different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different = different | static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

}  // namespace holon::transport
