#include "transport/supervisor_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace holon::transport {
namespace {

std::string file_in(const std::string& runtime_dir) {
  return runtime_dir + "/supervisor";
}

}  // namespace

UniqueFd lock_supervisor(const std::string& runtime_dir) {
  UniqueFd file(open(file_in(runtime_dir).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file && flock(file.get(), LOCK_EX | LOCK_NB) != 0) file.reset();
  return file;
}

bool supervisor_lives(const std::string& runtime_dir) {
  const UniqueFd file(open(file_in(runtime_dir).c_str(), O_RDONLY | O_CLOEXEC));
  return file && flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace holon::transport
