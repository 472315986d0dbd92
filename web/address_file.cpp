#include "web/address_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace holon::web {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(KeptAddress, address, write_address, socket, host,
                                                port, look, write)

namespace {

constexpr std::size_t kMostAddressBytes = 4'096;  // bytes

// Anybody who can write the file would choose the secrets, and who can read it has them.
Status check_owner(int fd, const std::string& file) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(Errc::system, std::strerror(errno), file);
  if (!S_ISREG(info.st_mode)) return fail(Errc::denied, "is no regular file", file);
  if (info.st_uid != ::geteuid() || (info.st_mode & 077) != 0)
    return fail(Errc::denied, "is not yours alone; its mode has to be 600", file);
  return {};
}

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// An empty file says nothing yet. One that anybody has named by mistake is not to be written over.
Result<KeptAddress> read_kept(int fd, const std::string& file) {
  std::array<char, kMostAddressBytes> text{};
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  if (n < 0) return fail(Errc::system, std::strerror(errno), file);
  if (n == 0) return KeptAddress();
  const auto json = nlohmann::json::parse(text.data(), text.data() + n, nullptr, false);
  try {
    if (json.is_object() && json.contains("look")) return json.get<KeptAddress>();
  } catch (const nlohmann::json::exception&) {
    // a member is of another kind
  }
  return fail(Errc::invalid_argument, "holds something else than the address of a page", file);
}

}  // namespace

Result<AddressFile> AddressFile::take(const std::string& file) {
  AddressFile taken;
  taken.file_ = file;
  taken.fd_.reset(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!taken.fd_) return fail(Errc::system, std::strerror(errno), file);
  if (auto good = check_owner(taken.fd_.get(), file); !good) return tl::unexpected(good.error());
  struct flock all = whole_file(F_WRLCK);
  if (::fcntl(taken.fd_.get(), F_OFD_SETLK, &all) != 0)
    return errno == EAGAIN || errno == EACCES
               ? fail(Errc::busy, "a page is served with it already", file)
               : fail(Errc::system, std::strerror(errno), file);
  auto before = read_kept(taken.fd_.get(), file);
  if (!before) return tl::unexpected(before.error());
  taken.before_ = std::move(*before);
  return taken;
}

Status AddressFile::write(const KeptAddress& address) {
  const std::string text = nlohmann::json(address).dump(2) + "\n";
  const bool good =
      ::pwrite(fd_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
      ::ftruncate(fd_.get(), static_cast<off_t>(text.size())) == 0;
  if (good) return {};
  const auto failed = fail(Errc::system, std::strerror(errno), file_);
  // Half an address would be something else at the next time.
  static_cast<void>(::ftruncate(fd_.get(), 0) == 0);
  return failed;
}

Result<KeptAddress> served_address(const std::string& file) {
  const transport::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno != ENOENT) return fail(Errc::system, std::strerror(errno), file);
  if (!fd) return fail(Errc::not_found, "no page is served", file);
  if (auto good = check_owner(fd.get(), file); !good) return tl::unexpected(good.error());
  // Looks without locking: a page that begins just now would find it taken.
  struct flock lock = whole_file(F_RDLCK);
  if (::fcntl(fd.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
    return fail(Errc::not_found, "no page is served", file);
  auto address = read_kept(fd.get(), file);
  if (!address) return tl::unexpected(address.error());
  if (address->port == 0 && address->socket.empty())
    return fail(Errc::not_found, "no page is served yet", file);
  return address;
}

}  // namespace holon::web
