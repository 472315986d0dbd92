#include "launch/tasks/in_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptors/writing.hpp"

namespace holon::launch {

Result<transport::UniqueFd> in_memory(const char* name, std::string_view bytes) {
  const std::string what = "memory for \"" + std::string(name) + "\"";
  transport::UniqueFd memory(memfd_create(name, MFD_CLOEXEC));
  if (!memory) return system_error(what);
  if (const auto written = write_all(memory.get(), bytes, what); !written)
    return tl::unexpected(written.error());
  if (lseek(memory.get(), 0, SEEK_SET) != 0) return system_error(what);
  return memory;
}

}  // namespace holon::launch
