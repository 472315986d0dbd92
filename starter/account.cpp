#include "starter/account.hpp"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <cstring>

#include "base/names.hpp"

namespace holon::starter {
namespace {

constexpr std::size_t kLongestName = 256;
constexpr std::size_t kMostOfAnEntry = 1 << 20;
constexpr int kMostGroups = 65'536;  // of one user, for the kernel

Result<Account> look_up(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(4096);
  int error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  while (error == ERANGE && buffer.size() < kMostOfAnEntry) {
    buffer.resize(buffer.size() * 2);
    error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  }
  if (found == nullptr && could_not_ask(error))
    return fail(Errc::system,
                "user \"" + name + "\" could not be asked for: " + std::strerror(error));
  if (found == nullptr || name != entry.pw_name)
    return fail(Errc::not_found, "there is no user \"" + name + "\" on this machine");
  return Account{name, entry.pw_dir, entry.pw_shell, entry.pw_uid, entry.pw_gid, {}};
}

// Groups come from the system, never from a message.
Status add_groups(Account& account) {
  int count = 64;
  account.groups.resize(static_cast<std::size_t>(count));
  while (getgrouplist(account.name.c_str(), account.gid, account.groups.data(), &count) < 0) {
    if (count > kMostGroups || static_cast<std::size_t>(count) <= account.groups.size())
      return fail(Errc::system, "the groups of user \"" + account.name + "\" cannot be found");
    account.groups.resize(static_cast<std::size_t>(count));
  }
  account.groups.resize(static_cast<std::size_t>(count));
  return {};
}

}  // namespace

Status may_be_user(uid_t uid, const std::string& name, const Settings& settings) {
  if (uid == 0) return fail(Errc::denied, "nothing is started as root");
  if (uid == settings.instance)
    return fail(Errc::denied, "nothing is started as \"" + name + "\", the instance's account");
  if (uid < settings.least)
    return fail(Errc::denied, "nothing is started as \"" + name + "\": user ids below " +
                                  std::to_string(settings.least) +
                                  " are the system's (access.least-uid)");
  if (!settings.everybody && !settings.users.contains(uid))
    return fail(Errc::denied, "\"" + name + "\" is none of its users (access.users)");
  return {};
}

Result<Account> find_account(const std::string& name, const Settings& settings) {
  if (name.empty() || name.size() > kLongestName || name.find('\0') != std::string::npos)
    return fail(Errc::not_found, "the request names no user");
  auto account = look_up(name);
  if (!account) return account;
  if (auto may = may_be_user(account->uid, name, settings); !may)
    return tl::unexpected<Error>(may.error());
  if (auto added = add_groups(*account); !added) return tl::unexpected<Error>(added.error());
  return account;
}

}  // namespace holon::starter
