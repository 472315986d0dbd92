#include "launch/files/place_files.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/descriptors/passing.hpp"
#include "base/descriptors/writing.hpp"
#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

constexpr mode_t kPermissions = 0777;
constexpr std::size_t kMostRequest = std::size_t{16} << 20;
// The first character of a report on a folder; with one of the others: why there is none.
constexpr char kPlaced = '+', kDenied = '!', kFailed = '-';
constexpr std::size_t kLongestSentence = 8192;
constexpr std::size_t kMostLocks = 2;  // JobFolder::locks()

// Reads standard input, which may be a file that only its opener could open again.
Result<std::string> read_request() {
  std::string bytes(kMostRequest, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t n = read(STDIN_FILENO, bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(Errc::system, std::strerror(errno), "standard input");
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  bytes.resize(size);
  return bytes;
}

// Writes into a folder that nobody else enters, under a name that does not exist: follows no link.
Status place_one(int folder, const msg::File& file) {
  if (file.name.empty() || file.name == "." || file.name == ".." ||
      file.name.find('/') != std::string::npos || file.name.find('\0') != std::string::npos)
    return fail(Errc::invalid_argument, "no name of a file in a folder", file.name);
  const mode_t mode = file.mode & kPermissions;
  transport::UniqueFd fd(openat(folder, file.name.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd)
    return fail(errno == EEXIST ? Errc::invalid_argument : errc_of(errno), std::strerror(errno),
                file.name);
  if (auto written = write_all(fd.get(), file.data, file.name); !written) return written;
  if (fchmod(fd.get(), mode) != 0) return fail(errc_of(errno), std::strerror(errno), file.name);
  return {};
}

void say(int line, std::string_view sentence, std::span<const int> locks) {
  send_with_descriptors(line, std::as_bytes(std::span(sentence.substr(0, kLongestSentence))),
                        locks);
}

}  // namespace

std::string files_base() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && chosen[0] == '/' ? chosen : "/tmp";
}

Result<JobFolder> place_files(const std::string& base, const std::vector<msg::File>& files) {
  auto folder = JobFolder::create(kFilesFolder, base);
  if (!folder) return folder;
  const auto inside = folder->open();
  if (!inside) return tl::unexpected(inside.error());
  for (const msg::File& file : files)
    if (auto placed = place_one(inside->get(), file); !placed)
      return fail(placed.error().code, placed.error().what,
                  folder->path() + "/" + placed.error().where);
  return folder;
}

int place_files_main(const std::string& base, int line) {
  const auto bytes = read_request();
  const auto request = bytes ? transport::unpack<msg::Program>(*bytes)
                             : Result<msg::Program>(tl::unexpected(bytes.error()));
  const auto folder = request ? place_files(base, request->files)
                              : Result<JobFolder>(tl::unexpected(request.error()));
  if (!folder) {
    const char kind = folder.error().code == Errc::denied ? kDenied : kFailed;
    say(line, kind + to_string(folder.error()), {});
    return 1;
  }
  say(line, kPlaced + folder->path(), folder->locks());
  _exit(0);  // the folder stays
}

int remove_files_main(const std::string& base) {
  for (const char* const kind : {kFilesFolder, kMemoryFolder}) JobFolder::remove_left(kind, base);
  return 0;
}

Result<JobFolder> take_placed_files(int line, const std::string& base) {
  std::string sentence(kLongestSentence, '\0');
  const Passed passed = receive_with_descriptors(line, std::as_writable_bytes(std::span(sentence)),
                                                 kMostLocks, MSG_DONTWAIT);
  std::array<transport::UniqueFd, kMostLocks> locks;
  for (std::size_t i = 0; i < passed.descriptors.size(); ++i) locks[i].reset(passed.descriptors[i]);
  if (passed.size <= 0) return fail(Errc::not_found, "its process has said nothing");
  if (!passed.has_all_descriptors)
    return fail(Errc::not_found,
                "its process has sent other descriptors than the locks of its folder");
  sentence.resize(static_cast<std::size_t>(passed.size));
  // A process of the user's has sent it: whatever it is becomes a value of that user's environment,
  // and the name of what is removed as that user.
  const std::string beginning = kPlaced + base + "/";
  if (locks[0] && sentence.starts_with(beginning) &&
      JobFolder::is_name(kFilesFolder, std::string_view(sentence).substr(beginning.size())))
    return JobFolder(sentence.substr(1), std::move(locks[0]), std::move(locks[1]));
  return fail(sentence[0] == kDenied ? Errc::denied : Errc::system, sentence.substr(1));
}

}  // namespace holon::launch
