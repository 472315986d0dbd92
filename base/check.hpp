// check.hpp - HOLON_CHECK(condition): a bug, not an outcome. It is on in every build, says where,
// and aborts.
#pragma once

namespace holon {

[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace holon

#define HOLON_CHECK(condition) \
  ((condition) ? void(0) : ::holon::check_failed(#condition, __FILE__, __LINE__))
