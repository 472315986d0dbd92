#include "config/access.hpp"

#include <charconv>

#include "config/value.hpp"

namespace holon::config {

std::uint64_t cores_of_user(const std::string& cores_of, const std::string& user) {
  for (const std::string& word : words(cores_of)) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || word.substr(0, equals) != user) continue;
    std::uint64_t cores = 0;
    std::from_chars(word.data() + equals + 1, word.data() + word.size(), cores);
    return cores;
  }
  return 0;
}

}  // namespace holon::config
