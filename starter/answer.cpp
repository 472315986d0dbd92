#include "starter/answer.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptors/passing.hpp"

namespace holon::starter {

void tell(int line, const Told& told, std::span<const int> file) {
  send_with_descriptors(line, std::as_bytes(std::span(&told, 1)), file, MSG_DONTWAIT);
}

void refuse(int line, Step step, int error, const std::string& why) {
  Told told;
  told.what = What::failed;
  told.step = step;
  told.error = error;
  why.copy(told.text, sizeof told.text - 1);
  tell(line, told);
  _exit(1);
}

Result<Request> read_request(int body) {
  struct stat info {};
  if (fstat(body, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 0 ||
      static_cast<std::uint64_t>(info.st_size) > kMostBytes)
    return fail(Errc::invalid_argument, "the request is no memory of at most 8 MiB");
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        pread(body, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(Errc::invalid_argument, "the request ends before its end");
    done += static_cast<std::size_t>(n);
  }
  return decode(bytes);
}

}  // namespace holon::starter
