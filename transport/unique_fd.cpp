#include "transport/unique_fd.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>

namespace holon::transport {

void UniqueFd::reset(int fd) {
  const int old = std::exchange(fd_, fd);
  if (old >= 0 && old != fd) close(old);
}

void take_standard_descriptors() {
  int fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2) fd = dup(fd);
  if (fd > 2) close(fd);
}

std::size_t free_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  const auto taken = error ? 0 : std::distance(begin(open), end(open));
  return limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(taken));
}

Status check_descriptor_limit(std::uint64_t least) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= least) return {};
  return fail(Errc::system, "the limit of open files (ulimit -n) is " +
                                std::to_string(limit.rlim_cur) + "; at least " +
                                std::to_string(least) + " are needed");
}

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  constexpr rlim_t kEnough = 1 << 20;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::max(before, std::min(limit.rlim_max, kEnough));
  setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

}  // namespace holon::transport
