// no_descriptors.hpp - a process that can have no further descriptor.
#pragma once
#include <sys/resource.h>

namespace holon::tests {

// While it lives, no descriptor can be had from number `least` on; those that are open stay.
class NoDescriptors {
 public:
  explicit NoDescriptors(rlim_t least) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{least, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace holon::tests
