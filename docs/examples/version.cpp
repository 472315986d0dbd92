// The smallest program with holon in it: values of base/ and how an error reads.
#include <cstdio>

#include "base/result.hpp"
#include "base/time.hpp"

int main() {
  const holon::Interval hour{0, 3600};
  const holon::Error error{holon::Errc::out_of_range, "the hour is over", "when"};
  std::printf("%lld s: %s\n", static_cast<long long>(hour.length()),
              holon::to_string(error).c_str());
}
