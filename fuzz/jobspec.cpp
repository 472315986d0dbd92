// parse_jobspec: an error or a value that survives being written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "resource/jobspec/jobspec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto jobspec = holon::resource::parse_jobspec(bytes);
  if (!jobspec) return 0;
  const auto again = holon::resource::parse_jobspec(holon::resource::write_jobspec(*jobspec));
  if (!again || !(*again == *jobspec)) std::abort();
  return 0;
}
