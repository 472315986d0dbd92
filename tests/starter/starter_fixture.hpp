// starter_fixture.hpp - the starter as a process of its own, spoken to by hand: by an agent that
// may say anything.
#pragma once
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "starter/request.hpp"
#include "starter/serve.hpp"
#include "starter/wire.hpp"
#include "tests/private_users.hpp"

namespace holon::starter {

namespace fs = std::filesystem;
using namespace holon::testing_users;  // NOLINT: names of people

inline constexpr int kPatience = 30'000;  // ms

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    close_it();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Fd() { close_it(); }
  int get() const { return fd_; }
  void close_it() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

inline std::pair<Fd, Fd> pair_of_sockets() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

inline Fd memory_with(const std::string& bytes) {
  Fd memory(memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(write(memory.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return memory;
}

inline void send_to(int socket, const void* bytes, std::size_t size,
                    const std::vector<int>& descriptors) {
  iovec part{const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(20 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
  }
  EXPECT_EQ(sendmsg(socket, &message, MSG_NOSIGNAL), static_cast<ssize_t>(size));
}

struct Heard {
  Told told;
  Fd file;
};

// Nothing: the other end is closed.
inline std::optional<Heard> hear(int line) {
  pollfd look{line, POLLIN, 0};
  if (poll(&look, 1, kPatience) != 1) {
    ADD_FAILURE() << "nothing is said";
    return std::nullopt;
  }
  Heard heard;
  iovec part{&heard.told, sizeof heard.told};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(line, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof heard.told))
    return std::nullopt;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message)) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    heard.file = Fd(fd);
  }
  return heard;
}

inline void give_order(int line, Do what, int signal = 0) {
  Order order;
  order.what = what;
  order.signal = signal;
  EXPECT_EQ(send(line, &order, sizeof order, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof order));
}

inline std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline std::string line_of(const std::string& text, const std::string& name) {
  const auto at = text.find("\n" + name + ":");
  if (at == std::string::npos) return {};
  const auto from = text.find_first_not_of(" \t", at + name.size() + 2);
  return text.substr(from, text.find('\n', from) - from);
}

class Starters : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_private_users(); !why.empty()) GTEST_SKIP() << why;
    std::string folder = "/tmp/holon-starter-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
    users_.emplace(folder_);
    ASSERT_TRUE(users_->is_there());
    for (const auto& [name, uid] :
         {std::pair("holon", kInstance), std::pair("ann", kAnn), std::pair("bob", kBob)}) {
      const std::string home = folder_ + "/home-" + name;
      fs::create_directory(home);
      ASSERT_EQ(chown(home.c_str(), uid, uid), 0);
      ASSERT_EQ(chmod(home.c_str(), 0700), 0);
    }
    settings_.instance = kInstance;
  }
  void TearDown() override {
    asks_.close_it();
    if (starter_ > 0) {
      int status = 0;
      EXPECT_EQ(waitpid(starter_, &status, 0), starter_);
      EXPECT_EQ(status, 0);
    }
    users_.reset();
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  void start() {
    auto [ours, theirs] = pair_of_sockets();
    asks_ = std::move(ours);
    starter_ = fork();
    if (starter_ == 0) serve({theirs.get()}, settings_);
  }
  std::string home_of(const std::string& name) const { return folder_ + "/home-" + name; }

  Request request(const std::string& user, std::vector<std::string> argv) const {
    Request made;
    made.user = user;
    made.argv = std::move(argv);
    made.env = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    made.cwd = "/";
    return made;
  }
  // The connection to the keeper. `out`: what becomes standard output and error.
  Fd run(const Request& what, int out) const { return run(encode(what), out); }
  Fd run(const std::string& bytes, int out) const {
    auto [ours, theirs] = pair_of_sockets();
    const Fd body = memory_with(bytes), null(open("/dev/null", O_RDWR | O_CLOEXEC));
    const int streams = out < 0 ? null.get() : out;
    const Ask ask;
    send_to(asks_.get(), &ask, sizeof ask,
            {theirs.get(), body.get(), null.get(), streams, streams});
    return std::move(ours);
  }
  struct Result {
    std::string output;
    int status = -1;
    std::string refused;
    Step step = Step::request;
    int error = 0;
  };
  // To its end.
  Result ran(const Request& what) const {
    int pipe_ends[2];
    EXPECT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
    Fd from(pipe_ends[0]), to(pipe_ends[1]);
    const Fd line = run(what, to.get());
    to.close_it();
    Result result;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(from.get(), buffer, sizeof buffer)) > 0;)
      result.output.append(buffer, static_cast<std::size_t>(n));
    while (const auto heard = hear(line.get())) {
      if (heard->told.what == What::ended) result.status = heard->told.status;
      if (heard->told.what != What::failed) continue;
      result.refused = heard->told.text;
      result.step = heard->told.step;
      result.error = heard->told.error;
    }
    return result;
  }
  Result shell(const std::string& user, const std::string& script) const {
    return ran(request(user, {"sh", "-c", script}));
  }
  std::optional<Heard> opened(const std::string& user, const std::string& path, int flags) const {
    auto [ours, theirs] = pair_of_sockets();
    Request what;
    what.user = user;
    what.path = path;
    what.flags = static_cast<std::uint32_t>(flags);
    const Fd body = memory_with(encode(what));
    Ask ask;
    ask.kind = Kind::open;
    send_to(asks_.get(), &ask, sizeof ask, {theirs.get(), body.get()});
    theirs.close_it();
    return hear(ours.get());
  }
  // What one look finds; -1: it is refused.
  int swept(const Request& what) const {
    auto [ours, theirs] = pair_of_sockets();
    const Fd body = memory_with(encode(what));
    Ask ask;
    ask.kind = Kind::sweep;
    send_to(asks_.get(), &ask, sizeof ask, {theirs.get(), body.get()});
    theirs.close_it();
    const auto heard = hear(ours.get());
    return heard && heard->told.what == What::ended ? heard->told.status : -1;
  }
  std::uint32_t count() const {
    Ask ask;
    ask.kind = Kind::count;
    send_to(asks_.get(), &ask, sizeof ask, {});
    Count count{~0U};
    EXPECT_EQ(recv(asks_.get(), &count, sizeof count, 0), static_cast<ssize_t>(sizeof count));
    return count.processes;
  }
  void wait_until_idle() const {
    for (int i = 0; count() != 0; ++i) {
      ASSERT_LT(i, 10'000);
      poll(nullptr, 0, 1);
    }
  }
  // Of processes of this user, their command lines.
  static std::vector<std::string> processes_of(unsigned uid) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (!testing_users::is_of_this_test(name)) continue;
      const std::string status = file_text(entry.path() / "status");
      if (line_of(status, "Uid").starts_with(std::to_string(uid)) &&
          !line_of(status, "State").starts_with("Z"))
        found.push_back(file_text(entry.path() / "cmdline"));
    }
    return found;
  }

  // Until Ann has so many `sleep`s and so many shells: one that has yet to start a `sleep`, or to
  // end when it has, is one too many.
  static void wait_for(std::size_t sleepers, std::size_t shells) {
    const auto all_there = [&] {
      const auto found = processes_of(kAnn);
      const auto sleeping = std::count_if(
          found.begin(), found.end(), [](const auto& words) { return words.starts_with("sleep"); });
      return std::size_t(sleeping) == sleepers && found.size() == sleepers + shells;
    };
    for (int i = 0; !all_there() && i < 10'000; ++i) poll(nullptr, 0, 1);
    EXPECT_TRUE(all_there());
  }

  std::string folder_;
  std::optional<PrivateUsers> users_;
  Settings settings_;
  Fd asks_;
  pid_t starter_ = 0;
};

}  // namespace holon::starter
