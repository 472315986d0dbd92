// The short notations: idsets, host lists, find expressions, shapes. What is read can be written
// and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/hostlist.hpp"
#include "base/idset.hpp"
#include "resource/formats/readers.hpp"
#include "resource/match/find_expression.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto set = holon::Idset::parse(text))
    if (holon::Idset::parse(set->str()).value() != *set) std::abort();
  if (const auto list = holon::Hostlist::parse(text))
    if (holon::Hostlist::parse(list->str()).value().str() != list->str()) std::abort();
  (void)holon::resource::FindExpression::parse(text);
  if (size < 200) (void)holon::resource::read_shape(text);  // longer ones only cost memory
  return 0;
}
