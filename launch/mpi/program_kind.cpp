// program_kind.cpp - the names of the libraries that an ELF file needs are in its table of strings,
// which the linker puts near the beginning.
#include "launch/mpi/program_kind.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "transport/unique_fd.hpp"

namespace holon::launch {
namespace {

constexpr std::size_t kBeginningOfFile = 256 << 10;  // bytes
// Names in Open MPI 1.7 to 2, and in 2 to 5. MPICH's own name, unless a distribution changes it, is
// libmpi.so.12.
constexpr std::string_view kNames[] = {std::string_view("\0libmpi.so.20\0", 14),
                                       std::string_view("\0libmpi.so.40\0", 14)};

transport::UniqueFd open_program(const std::string& name,
                                 const std::map<std::string, std::string>& env,
                                 const std::string& cwd) {
  const auto open_one = [&](std::string file) {
    if (file[0] != '/') file.insert(0, cwd + "/");
    return transport::UniqueFd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  };
  if (name.find('/') != name.npos) return open_one(name);
  const auto found = env.find("PATH");
  std::string_view path = found == env.end() ? std::string_view() : found->second;
  while (!path.empty()) {
    const auto folder = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(path.size(), folder.size() + 1));
    if (auto file = open_one(std::string(folder) + "/" + name)) return file;
  }
  return {};
}

}  // namespace

bool names_open_mpi(const std::vector<std::string>& argv,
                    const std::map<std::string, std::string>& env, const std::string& cwd) {
  if (argv.empty() || argv[0].empty()) return false;
  const auto file = open_program(argv[0], env, cwd);
  if (!file) return false;
  std::string text(kBeginningOfFile, '\0');
  const ssize_t n = pread(file.get(), text.data(), text.size(), 0);
  if (n <= 0) return false;
  const std::string_view read(text.data(), static_cast<std::size_t>(n));
  if (!read.starts_with("\x7f"
                        "ELF"))
    return false;
  for (const auto name : kNames)
    if (read.find(name) != read.npos) return true;
  return false;
}

}  // namespace holon::launch
