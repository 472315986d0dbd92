#include "instance/service/asked_ids.hpp"

#include <fmt/core.h>

namespace holon::instance {
namespace {

constexpr std::size_t kMostIds = 10'000;

}  // namespace

Status check_ids(const std::vector<std::uint64_t>& ids) {
  if (ids.size() <= kMostIds) return {};
  return fail(Errc::out_of_range,
              fmt::format("{} ids; one request may have {}", ids.size(), kMostIds), "ids");
}

}  // namespace holon::instance
