// Who is at the other end, by the kernel's word; and secrets that are handed over in descriptors.
#include "transport/principal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "transport/codec/envelope.hpp"
#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"
#include "transport/secret.hpp"

namespace holon::transport {
namespace {

TEST(Principal, HasAUsersName) {
  const passwd* const root = getpwuid(0);
  EXPECT_EQ(user_of({Principal::Kind::ipc, 0, 0, 1}), root != nullptr ? root->pw_name : "0");
  EXPECT_EQ(user_of({Principal::Kind::ipc, 4'000'000'001, 0, 1}), "4000000001");
  EXPECT_EQ(user_of({}), user_of({Principal::Kind::ipc, geteuid(), 0, 1}));
}

class PrincipalTest : public testing::Test {
 protected:
  void SetUp() override { dir_ = *make_runtime_dir(); }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(dir_);
  }
  void listen(const std::string& uri) {
    server_ = std::move(*Server::listen(*reactor_, uri));
    server_->on_request([this](const Request& request) { asked_ = request.principal(); });
  }
  bool is_asked() {
    return reactor_->run_until([this] { return asked_.has_value(); }, 60'000);
  }

  std::string dir_;
  std::unique_ptr<Reactor> reactor_ = std::move(*Reactor::create());
  std::unique_ptr<Server> server_;
  std::optional<Principal> asked_;
};

TEST_F(PrincipalTest, OverIpcARequestIsOfTheProcessThatConnected) {
  listen(*ipc_uri(dir_, "s"));
  const auto client = std::move(*Client::connect(*reactor_, server_->uri()));
  client->call({"x"}, [](const Result<std::string>&) {});
  ASSERT_TRUE(is_asked());
  EXPECT_EQ(*asked_, (Principal{Principal::Kind::ipc, geteuid(), getegid(), getpid()}));
}

TEST_F(PrincipalTest, OverTcpNobodyIsProved) {
  listen("tcp://127.0.0.1:*");
  const auto client = std::move(*Client::connect(*reactor_, server_->uri()));
  client->call({"x"}, [](const Result<std::string>&) {});
  ASSERT_TRUE(is_asked());
  EXPECT_EQ(asked_->kind, Principal::Kind::unknown);
}

// A ZMTP frame: flags, length, bytes; shorter than 256 bytes.
std::string frame(char flags, const std::string& bytes) {
  return std::string(1, flags) + static_cast<char>(bytes.size()) + bytes;
}
std::string property(const std::string& name, const std::string& value) {
  return static_cast<char>(name.size()) + name + std::string(3, '\0') +
         static_cast<char>(value.size()) + value;
}

// ZMTP lets a client send properties of its own, under any name.
TEST_F(PrincipalTest, WhatAConnectionSaysOfItselfIsNotBelieved) {
  listen(*ipc_uri(dir_, "s"));
  std::string hello = "\xff" + std::string(8, '\0') + "\x7f\x03" + std::string(1, '\0') + "NULL";
  hello.resize(64, '\0');
  std::string bytes =
      frame(4, "\x05READY" + property("Socket-Type", "DEALER") + property("Identity", "") +
                   property("Peer-Address", "localhost:4242:4242:1"));
  bytes += frame(0, encode({Kind::hello, 1, "", "", encode_greeting({"x", 1, 1, 0})}));
  bytes += frame(0, encode({Kind::request, 0, "x", "", ""}));
  const UniqueFd raw(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, (dir_ + "/s").c_str());
  ASSERT_EQ(connect(raw.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(write(raw.get(), hello.data(), hello.size()), ssize_t(hello.size()));
  const auto tick = reactor_->every(1, [] {});
  ASSERT_TRUE(reactor_->run_until(
      [&] { return recv(raw.get(), hello.data(), 64, MSG_PEEK | MSG_DONTWAIT) == 64; }, 60'000));
  ASSERT_EQ(write(raw.get(), bytes.data(), bytes.size()), ssize_t(bytes.size()));
  ASSERT_TRUE(is_asked());
  EXPECT_EQ(*asked_, (Principal{Principal::Kind::ipc, geteuid(), getegid(), getpid()}));
}

TEST(Secret, IsNewEachTime) {
  const std::string secret = new_secret();
  EXPECT_EQ(secret.size(), 32u);
  EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(secret, new_secret());
}

TEST(Secret, IsTakenOnceFromItsDescriptor) {
  auto held = secret_in_descriptor("what nobody else knows");
  ASSERT_TRUE(held) << held.error().what;
  EXPECT_NE(fcntl(held->get(), F_GETFD) & FD_CLOEXEC, 0);
  const int fd = dup(held->get());
  EXPECT_EQ(take_secret(fd), "what nobody else knows");
  EXPECT_LT(fcntl(fd, F_GETFD), 0) << "still open";
  EXPECT_FALSE(take_secret(fd));
  EXPECT_FALSE(take_secret(dup(held->get()))) << "whoever comes later gets nothing";
}

TEST(Secret, MayBeHandedOverWhereNoFileMayGrow) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  const auto held = secret_in_descriptor("text");
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(held) << held.error().what;
}

TEST(Secret, IsNotTakenFromOtherDescriptors) {
  const UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  for (const int fd : {-1, 0, 1, 2, file.get(), 100'000}) EXPECT_FALSE(take_secret(fd)) << fd;
  EXPECT_GE(fcntl(file.get(), F_GETFD), 0) << "somebody's open file was closed";
}

TEST(Secret, AnEmptyOneEqualsNothing) {
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  for (const auto& [a, b] : {std::pair{"abc", "abd"}, {"abc", "ab"}, {"", ""}, {"", "a"}})
    EXPECT_FALSE(is_same_secret(a, b)) << a << " and " << b;
}

}  // namespace
}  // namespace holon::transport
