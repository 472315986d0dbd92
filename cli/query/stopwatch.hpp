// stopwatch.hpp - how long something took, for -e and the statistics. Nothing is decided by it.
#pragma once
#include <chrono>

namespace holon::cli::query {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace holon::cli::query
