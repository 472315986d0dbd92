#include "launch/tasks/known_machine.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <filesystem>

#include "launch/tasks/in_memory.hpp"

namespace holon::launch {
namespace {

constexpr off_t kLargest = 64 << 20;  // bytes; the largest machines have some 2 MB
constexpr const char* kMemoryOfMachine = "holon machine";

}  // namespace

Result<KnownMachine> show_machine(const std::string& xml) {
  auto memory = in_memory(kMemoryOfMachine, xml);
  if (!memory) return tl::unexpected(memory.error());
  std::string path = fmt::format("/proc/{}/fd/{}", getpid(), memory->get());
  return KnownMachine{std::move(*memory), std::move(path)};
}

// The number of the process, or of its descriptor, may be another's by now.
std::string shown_machine(const std::string& path) {
  std::error_code error;
  const std::string link = std::filesystem::read_symlink(path, error).string();
  if (link != fmt::format("/memfd:{} (deleted)", kMemoryOfMachine)) return "";
  const transport::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != geteuid() || info.st_size > kLargest)
    return "";
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t n = pread(file.get(), text.data(), text.size(), 0);
  return n == info.st_size ? text : "";
}

}  // namespace holon::launch
