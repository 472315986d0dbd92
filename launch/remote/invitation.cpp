#include "launch/remote/invitation.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <string.h>  // explicit_bzero
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/duration.hpp"
#include "base/whole_file.hpp"

namespace holon::launch {
namespace {

constexpr std::size_t kLongest = 64 << 10;  // bytes

// False: neither a byte nor the end has come by then.
bool wait_for_input(std::chrono::steady_clock::time_point end) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, static_cast<int>(std::max<Duration>(0, left.count())));
    if (ready >= 0 || errno != EINTR) return ready != 0;
  }
}

// Reads byte by byte: input behind the line belongs to the next reader.
Result<std::string> first_line_of_input(Duration patience) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience);
  std::string line;
  for (char byte = 0; line.size() < kLongest;) {
    if (!wait_for_input(end))
      return fail(Errc::not_found,
                  fmt::format("an invitation was expected, and no line came within {}; `holon "
                              "invite` makes one",
                              format_duration(static_cast<double>(patience) / 1000)),
                  "standard input");
    const ssize_t n = read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || byte == '\n') break;
    line += byte;
  }
  if (line.empty())
    return fail(Errc::not_found,
                "an invitation was expected, and nothing came; `holon invite` makes one",
                "standard input");
  return line;
}

}  // namespace

std::string write_invitation(const Invitation& invitation) {
  return nlohmann::json{{"addresses", invitation.addresses},
                        {"server", invitation.server_key},
                        {"public", invitation.key.public_key},
                        {"secret", invitation.key.secret_key}}
      .dump();
}

Result<Invitation> parse_invitation(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    Invitation invitation{
        json.at("addresses"), json.at("server"), {json.at("public"), json.at("secret")}};
    if (!invitation.addresses.empty()) return invitation;
  } catch (const nlohmann::json::exception&) {
    // told below
  }
  return fail(Errc::invalid_argument, "this is no invitation of `holon start`");
}

Result<Invitation> take_invitation(const std::string& file, Duration patience) {
  if (!file.empty()) {
    const auto text = read_whole_file(file);
    return text ? parse_invitation(*text) : tl::unexpected(text.error());
  }
  if (char* const value = std::getenv(kInvitation); value != nullptr) {
    const std::string text = value;
    explicit_bzero(value, text.size());  // /proc/PID/environ shows these bytes for ever
    unsetenv(kInvitation);
    return parse_invitation(text);
  }
  const auto line = first_line_of_input(patience);
  return line ? parse_invitation(*line) : tl::unexpected(line.error());
}

}  // namespace holon::launch
