// unique_fd.hpp - the owner of one file descriptor.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.hpp"

namespace holon::transport {

// A descriptor that is closed at the end; -1: none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // Gives the descriptor away: the caller closes it from now on.
  int release() { return std::exchange(fd_, -1); }
  // Closes what it owns and takes over `fd`.
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Opens /dev/null as those of the descriptors 0, 1 and 2 that are closed, lest the next socket or
// pipe becomes somebody's standard output.
void take_standard_descriptors();

// The number of further descriptors that this process may open, as its limit stands now.
std::size_t free_descriptors();

// Checks the limit. Errors: system, if this process may open less than `least` descriptors.
Status check_descriptor_limit(std::uint64_t least);

// Raises this process's soft limit of open descriptors to its hard one, or a million: a process
// with one for each task or client needs more than the usual 1024. Returns the former soft limit,
// for what it starts (0: unknown).
std::uint64_t raise_descriptor_limit();

}  // namespace holon::transport
