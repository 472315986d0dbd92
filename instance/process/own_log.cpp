#include "instance/process/own_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "instance/process/spawn.hpp"

namespace holon::instance {
namespace {

bool is_written_to(const std::string& file) {
  struct stat open_one {};
  struct stat named {};
  return fstat(STDERR_FILENO, &open_one) == 0 && stat(file.c_str(), &named) == 0 &&
         open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

}  // namespace

OwnLog::OwnLog(std::string file) : file_(std::move(file)), is_ours_(is_written_to(file_)) {}

void OwnLog::keep() const {
  if (!is_ours_ || is_written_to(file_)) return;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    redirect(fd, file_.c_str(), O_WRONLY | O_CREAT | O_APPEND);
}

}  // namespace holon::instance
