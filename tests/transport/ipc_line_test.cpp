// A client's end of a socket whose other side reads slowly.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>

#include "tests/support/no_descriptors.hpp"
#include "transport/endpoint.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"
#include "transport/unique_fd.hpp"
#include "transport/zmtp/line.hpp"
#include "transport/zmtp/zmtp.hpp"

namespace holon::transport {
namespace {

constexpr Duration kLinePatience = 60'000;  // ms; only a failing test waits so long

TEST(IpcLine, WritesOnWhereNoDescriptorIsLeftToWaitForRoomWith) {
  const std::string dir = *make_runtime_dir(), path = dir + "/s";
  const UniqueFd listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listening.get(), 1), 0);

  const auto reactor = std::move(*Reactor::create());
  bool made = false;
  const auto line = std::move(*open_ipc_line(
      *reactor, path, {}, {[&] { made = true; }, [] {}, [](std::string_view) {}, [] {}}));
  UniqueFd other;
  const std::string words = Zmtp::greeting() + Zmtp::ready_command();
  ASSERT_TRUE(reactor->run_until(
      [&] {
        if (other) return made;
        other.reset(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        return other && send(other.get(), words.data(), words.size(), MSG_NOSIGNAL) < 0;
      },
      kLinePatience));

  constexpr std::size_t kMuch = 2 << 20;
  auto none = std::make_optional<tests::NoDescriptors>(0);
  ASSERT_TRUE(line->send(std::string(kMuch, 'x')));
  std::size_t got = 0;
  EXPECT_TRUE(reactor->run_until(
      [&] {
        std::array<char, 65536> buffer;
        for (ssize_t n = 0; (n = recv(other.get(), buffer.data(), buffer.size(), 0)) > 0;)
          got += static_cast<std::size_t>(n);
        return got >= kMuch;
      },
      kLinePatience))
      << got << " bytes came";
  none.reset();
  line->close();
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace holon::transport
