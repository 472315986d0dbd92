// accounts.cpp - the C library's functions that ask for users and groups, in a static program:
// theirs would load modules of the machine's C library, which need not be ours. Libraries that we
// link call these, too (libzmq, libedit).
#include "standalone/accounts.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace {

using holon::standalone::Group;
using holon::standalone::Sources;
using holon::standalone::User;

// The memory behind what a function without a buffer of the caller's returns, until its next call
// in this thread.
struct LastUser {
  User user;
  passwd entry{};
};
struct LastGroup {
  Group group;
  std::vector<char*> members;
  ::group entry{};
};

passwd* keep(std::optional<User> found) {
  thread_local LastUser last;
  if (!found) return nullptr;
  last.user = std::move(*found);
  User& user = last.user;
  last.entry = {user.name.data(),    user.password.data(), user.uid,         user.gid,
                user.comment.data(), user.home.data(),     user.shell.data()};
  return &last.entry;
}

::group* keep(std::optional<Group> found) {
  thread_local LastGroup last;
  if (!found) return nullptr;
  last.group = std::move(*found);
  last.members.clear();
  for (auto& member : last.group.members) last.members.push_back(member.data());
  last.members.push_back(nullptr);
  last.entry = {last.group.name.data(), last.group.password.data(), last.group.gid,
                last.members.data()};
  return &last.entry;
}

// Copies texts into a caller's buffer, one behind the other.
class Buffer {
 public:
  Buffer(char* begin, std::size_t size) : next_(begin), left_(size) {}
  char* put(const std::string& text) {
    if (next_ == nullptr || text.size() + 1 > left_) {
      next_ = nullptr;
      return nullptr;
    }
    char* const place = next_;
    std::memcpy(place, text.c_str(), text.size() + 1);
    next_ += text.size() + 1;
    left_ -= text.size() + 1;
    return place;
  }
  bool is_full() const { return next_ == nullptr; }

 private:
  char* next_;
  std::size_t left_;
};

int give(const std::optional<User>& found, passwd* entry, char* memory, std::size_t size,
         passwd** result) {
  *result = nullptr;
  if (!found) return 0;
  Buffer buffer(memory, size);
  entry->pw_name = buffer.put(found->name);
  entry->pw_passwd = buffer.put(found->password);
  entry->pw_gecos = buffer.put(found->comment);
  entry->pw_dir = buffer.put(found->home);
  entry->pw_shell = buffer.put(found->shell);
  entry->pw_uid = found->uid;
  entry->pw_gid = found->gid;
  if (buffer.is_full()) return ERANGE;
  *result = entry;
  return 0;
}

// Where getpwent(3) stands in the file passwd.
struct Walk {
  std::vector<User> users;
  std::size_t next = 0;
  bool has_begun = false;
};
Walk& walk() {
  thread_local Walk one;
  return one;
}

}  // namespace

extern "C" {

passwd* getpwnam(const char* name) {
  return keep(holon::standalone::user_named(Sources(), name));
}
passwd* getpwuid(uid_t uid) {
  return keep(holon::standalone::user_numbered(Sources(), uid));
}
int getpwnam_r(const char* name, passwd* entry, char* buffer, std::size_t size, passwd** result) {
  return give(holon::standalone::user_named(Sources(), name), entry, buffer, size, result);
}
int getpwuid_r(uid_t uid, passwd* entry, char* buffer, std::size_t size, passwd** result) {
  return give(holon::standalone::user_numbered(Sources(), uid), entry, buffer, size, result);
}

void setpwent() {
  walk() = {holon::standalone::users_of_file(Sources()), 0, true};
}
passwd* getpwent() {
  if (!walk().has_begun) setpwent();
  if (walk().next == walk().users.size()) return nullptr;
  return keep(walk().users[walk().next++]);
}
void endpwent() {
  walk() = {};
}

group* getgrnam(const char* name) {
  return keep(holon::standalone::group_named(Sources(), name));
}
group* getgrgid(gid_t gid) {
  return keep(holon::standalone::group_numbered(Sources(), gid));
}

int getgrouplist(const char* user, gid_t primary, gid_t* groups, int* count) {
  const auto ids = holon::standalone::groups_of(Sources(), user, primary);
  const auto room = static_cast<std::size_t>(*count < 0 ? 0 : *count);
  for (std::size_t i = 0; i < ids.size() && i < room; ++i) groups[i] = ids[i];
  *count = static_cast<int>(ids.size());
  return ids.size() <= room ? *count : -1;
}

int initgroups(const char* user, gid_t primary) {
  auto ids = holon::standalone::groups_of(Sources(), user, primary);
  const long most = sysconf(_SC_NGROUPS_MAX);
  if (most > 0 && ids.size() > static_cast<std::size_t>(most))
    ids.resize(static_cast<std::size_t>(most));
  return setgroups(ids.size(), ids.data());
}

}  // extern "C"
