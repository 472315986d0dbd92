#include "launch/tracking/lineage.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <random>

namespace holon::launch {
std::string random_mark() {
  std::random_device random;
  std::string mark;
  for (int i = 0; i < 4; ++i) {
    std::array<char, 9> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x", random());
    mark += digits.data();
  }
  return mark;
}

std::string lineage_of_root(const std::string& outer, const std::string& mark) {
  return (outer.empty() ? "" : outer + " ") + mark + "/";
}

std::string lineage_of_job(const std::string& instance, std::uint64_t job) {
  return instance + (instance.ends_with('/') ? "" : "/") + std::to_string(job);
}

std::string jobs_prefix(std::string_view instance) {
  const auto blank = instance.rfind(' ');
  std::string prefix(blank == std::string_view::npos ? instance : instance.substr(blank + 1));
  if (!prefix.ends_with('/')) prefix += '/';
  return prefix;
}

bool is_of_job_itself(std::string_view lineage, std::string_view prefix, std::uint64_t job) {
  const std::string itself = std::string(prefix) + std::to_string(job);
  std::string_view last;
  while (!lineage.empty()) last = next_lineage_entry(lineage);
  return last == itself;
}

std::optional<std::uint64_t> job_within(std::string_view lineage, std::string_view prefix) {
  while (!lineage.empty()) {
    const std::string_view entry = next_lineage_entry(lineage);
    if (!entry.starts_with(prefix)) continue;
    std::uint64_t job = 0;
    const auto [end, error] =
        std::from_chars(entry.data() + prefix.size(), entry.data() + entry.size(), job);
    if (error == std::errc{} && (end == entry.data() + entry.size() || *end == '/')) return job;
  }
  return std::nullopt;
}

}  // namespace holon::launch
