// accounts.cpp - the C library's functions that ask for users and groups, in a static program:
// theirs would load modules of the machine's C library, which need not be ours. Libraries that we
// link call these, too (libzmq, libedit).
#include "standalone/accounts.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "standalone/remembered.hpp"

namespace {

using holon::Time;
using holon::standalone::FoundUser;
using holon::standalone::Group;
using holon::standalone::RememberedAnswers;
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

// What getent has said to this thread. Threads do not share it, so that no lock is held where a
// process forks.
Sources sources() {
  thread_local RememberedAnswers remembered({}, [] {
    return Time{std::chrono::duration_cast<std::chrono::milliseconds>(
                    std::chrono::steady_clock::now().time_since_epoch())
                    .count()};
  });
  Sources all;
  all.remembered = &remembered;
  return all;
}

// Leaves errno as POSIX has it: unchanged where something is found, or where there is nothing.
class Errno {
 public:
  Errno() : before_(errno) {}
  ~Errno() { errno = could_not_ask_ ? EAGAIN : before_; }
  Errno(const Errno&) = delete;
  Errno& operator=(const Errno&) = delete;
  void could_not_ask() { could_not_ask_ = true; }

 private:
  const int before_;
  bool could_not_ask_ = false;
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

// What `find` finds, nullopt where it could not ask, which errno says.
template <typename Find>
auto settle(const Find& find)
    -> std::optional<typename std::decay_t<decltype(*find())>::value_type> {
  Errno number;
  auto found = find();
  if (found) return std::move(*found);
  number.could_not_ask();
  return std::nullopt;
}

int give(const FoundUser& asked, passwd* entry, char* memory, std::size_t size, passwd** result) {
  *result = nullptr;
  if (!asked) return EAGAIN;
  const auto& found = *asked;
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
  return keep(settle([&] { return holon::standalone::user_named(sources(), name); }));
}
passwd* getpwuid(uid_t uid) {
  return keep(settle([&] { return holon::standalone::user_numbered(sources(), uid); }));
}
int getpwnam_r(const char* name, passwd* entry, char* buffer, std::size_t size, passwd** result) {
  const Errno unchanged;
  return give(holon::standalone::user_named(sources(), name), entry, buffer, size, result);
}
int getpwuid_r(uid_t uid, passwd* entry, char* buffer, std::size_t size, passwd** result) {
  const Errno unchanged;
  return give(holon::standalone::user_numbered(sources(), uid), entry, buffer, size, result);
}

void setpwent() {
  walk() = {holon::standalone::users_of_file(sources()).value_or(std::vector<User>()), 0, true};
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
  return keep(settle([&] { return holon::standalone::group_named(sources(), name); }));
}
group* getgrgid(gid_t gid) {
  return keep(settle([&] { return holon::standalone::group_numbered(sources(), gid); }));
}

// -1 with a count of 0: it could not be asked. Callers who make room for the count find none.
int getgrouplist(const char* user, gid_t primary, gid_t* groups, int* count) {
  Errno number;
  const auto ids = holon::standalone::groups_of(sources(), user, primary);
  if (!ids) {
    number.could_not_ask();
    *count = 0;
    return -1;
  }
  const auto room = static_cast<std::size_t>(*count < 0 ? 0 : *count);
  for (std::size_t i = 0; i < ids->size() && i < room; ++i) groups[i] = (*ids)[i];
  *count = static_cast<int>(ids->size());
  return ids->size() <= room ? *count : -1;
}

int initgroups(const char* user, gid_t primary) {
  auto ids = holon::standalone::groups_of(sources(), user, primary);
  if (!ids) {
    errno = EAGAIN;
    return -1;
  }
  const long most = sysconf(_SC_NGROUPS_MAX);
  if (most > 0 && ids->size() > static_cast<std::size_t>(most))
    ids->resize(static_cast<std::size_t>(most));
  return setgroups(ids->size(), ids->data());
}

}  // extern "C"
