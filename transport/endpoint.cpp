// endpoint.cpp - runtime directories and ipc:// addresses.
#include "transport/endpoint.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace holon::transport {
namespace {

constexpr std::size_t kMaxPath = sizeof(sockaddr_un{}.sun_path) - 1;
constexpr std::string_view kScheme = "ipc://";
constexpr const char* kNewDir = "/holon-XXXXXX";
constexpr std::size_t kSocketRoom = 16;  // bytes for "/broker" and its like

tl::unexpected<Error> folder_error(const std::string& what, const std::string& where) {
  const Errc code = errno == EACCES || errno == EPERM ? Errc::denied : Errc::system;
  return fail(code, what + ": " + std::strerror(errno), where);
}

std::string users_dir() {
  return "/run/user/" + std::to_string(geteuid());
}

bool may_hold_sockets(const std::string& dir) {
  return dir.starts_with('/') && access(dir.c_str(), W_OK | X_OK) == 0 &&
         dir.size() + std::strlen(kNewDir) + kSocketRoom <= kMaxPath;
}

Result<std::string> new_dir() {
  std::string path = runtime_base() + kNewDir;
  if (!mkdtemp(path.data())) return folder_error("cannot make a runtime directory", path);
  return path;
}

}  // namespace

std::string runtime_base() {
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* dir = std::getenv(name);
    if (dir != nullptr && may_hold_sockets(dir)) return dir;
  }
  // Files here are not cleared up by age, as they are in /tmp.
  const std::string own = users_dir();
  return may_hold_sockets(own) ? own : "/tmp";
}

std::vector<std::string> runtime_bases() {
  const std::string base = runtime_base();
  if (base == users_dir()) return {base, "/tmp"};
  return {base};
}

Result<std::string> make_runtime_dir(const std::string& path) {
  if (path.empty()) return new_dir();
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return folder_error("cannot make the directory", path);
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return folder_error("cannot look at the directory", path);
  if (!S_ISDIR(info.st_mode)) return fail(Errc::denied, "is not a directory", path);
  if (info.st_uid != geteuid())
    return fail(Errc::denied, "the directory belongs to another user", path);
  if ((info.st_mode & 077) != 0)
    return fail(Errc::denied, "others may enter the directory; its mode must be 0700", path);
  return path;
}

bool is_runtime_dir_name(const std::string& name) {
  const std::string pattern = kNewDir + 1;
  return name.size() == pattern.size() && name.starts_with(pattern.substr(0, pattern.find('X')));
}

Result<std::string> ipc_uri(const std::string& dir, const std::string& name) {
  const std::string path = dir + "/" + name;
  if (path.size() > kMaxPath)
    return fail(Errc::out_of_range,
                "the socket's path has " + std::to_string(path.size()) + " characters, at most " +
                    std::to_string(kMaxPath) + " are possible; choose a shorter directory",
                path);
  return std::string(kScheme) + path;
}

Result<IpcState> probe_ipc(const std::string& uri) {
  if (!uri.starts_with(kScheme)) return fail(Errc::invalid_argument, "not an ipc:// address", uri);
  const std::string path = uri.substr(kScheme.size());
  if (path.empty() || path.size() > kMaxPath)
    return fail(Errc::invalid_argument,
                "a socket's path has 1 to " + std::to_string(kMaxPath) + " characters, this one " +
                    std::to_string(path.size()),
                uri);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return folder_error("cannot make a socket", uri);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int rc = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = rc == 0 ? 0 : errno;
  close(fd);
  errno = error;
  if (error == 0 || error == EAGAIN) return IpcState::alive;  // EAGAIN: its backlog is full
  if (error == ENOENT || error == ENOTDIR) return IpcState::absent;
  if (error == ECONNREFUSED) return IpcState::stale;
  return folder_error("cannot reach the socket", uri);
}

}  // namespace holon::transport
