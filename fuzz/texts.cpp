// The short notations: idsets, host lists, find expressions, shapes. What is read can be written
// and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/hostlist.hpp"
#include "base/idset.hpp"
#include "resource/find/find_expression.hpp"
#include "resource/formats/readers.hpp"

namespace {

// Shapes of millions of vertices are in order, and slow: short texts with short numbers will do.
bool is_small(std::string_view text) {
  std::size_t digits = 0;
  for (const char c : text) digits += c >= '0' && c <= '9' ? 1 : 0;
  return digits < 6;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto set = holon::Idset::parse(text))
    if (holon::Idset::parse(set->str()).value() != *set) std::abort();
  if (const auto list = holon::Hostlist::parse(text); list && !list->empty()) {
    const auto again = holon::Hostlist::parse(list->str()).value();
    const auto last = list->count() - 1;
    if (again.count() != last + 1 || again.at(0) != list->at(0) || again.at(last) != list->at(last))
      std::abort();
  }
  (void)holon::resource::FindExpression::parse(text);
  if (is_small(text)) (void)holon::resource::read_shape(text);
  return 0;
}
