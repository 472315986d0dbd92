// What an agent may ask of the starter, which has root's rights: a request is read, and what was
// read is written and read again as it was.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "starter/request.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto request = holon::starter::decode(bytes);
  if (!request) return 0;
  const auto again = holon::starter::decode(holon::starter::encode(*request));
  if (!again || *again != *request) std::abort();
  static_cast<void>(holon::starter::check_run(*request));
  static_cast<void>(holon::starter::check_open(*request));
  return 0;
}
