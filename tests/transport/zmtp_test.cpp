#include "transport/zmtp/zmtp.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace holon::transport {
namespace {

using What = Zmtp::What;

// What a connection makes of `bytes` when they come `at_once` at a time: messages, "*" for a
// foreign one, "ready", "ping", "broken".
std::vector<std::string> read(const std::string& bytes, std::size_t at_once,
                              std::size_t max_message = 1000) {
  Zmtp zmtp(max_message);
  std::vector<std::string> seen;
  std::string buffer;
  for (std::size_t at = 0; at < bytes.size(); at += at_once) {
    buffer += bytes.substr(at, at_once);
    for (;;) {
      const auto step = zmtp.next(buffer);
      if (step.what == What::more) break;
      if (step.what == What::broken) return seen.emplace_back("broken"), seen;
      if (step.what == What::ready) seen.emplace_back("ready");
      if (step.what == What::foreign) seen.emplace_back("*");
      if (step.what == What::ping) seen.push_back("ping " + std::string(step.body));
      if (step.what == What::message) seen.emplace_back(step.body);
      buffer.erase(0, step.consumed);
    }
  }
  return seen;
}

std::string zmtp_frame(const std::string& body) {
  return Zmtp::frame_header(body.size()) + body;
}
std::string part(std::string body) {
  body = zmtp_frame(body);
  body[0] = static_cast<char>(body[0] | 1);
  return body;
}
const std::string kOpening = Zmtp::greeting() + Zmtp::ready_command();

TEST(Zmtp, MessagesComeOutWholeHoweverTheBytesAreCut) {
  const std::string large(300, 'l');
  const std::string bytes = kOpening + zmtp_frame("one") + zmtp_frame("") + part("a") +
                            part(large) + zmtp_frame("c") + zmtp_frame(large);
  const std::vector<std::string> all{"ready", "one", "", "*", large};
  for (const std::size_t at_once : {1U, 2U, 7U, 64U, 100'000U})
    EXPECT_EQ(read(bytes, at_once), all);
}

TEST(Zmtp, WhatIsTooLargeIsRefusedByItsHeaderAlone) {
  EXPECT_EQ(read(kOpening + Zmtp::frame_header(1001), 9).back(), "broken");
  EXPECT_EQ(read(kOpening + Zmtp::frame_header(std::size_t{1} << 62), 9).back(), "broken");
  EXPECT_EQ(read(kOpening + zmtp_frame(std::string(1000, 'x')), 9).back(), std::string(1000, 'x'));
}

TEST(Zmtp, OtherProtocolsMechanismsAndVersionsAreRefused) {
  EXPECT_EQ(read("GET / HTTP/1.1\r\n", 1), std::vector<std::string>{"broken"});
  std::string old = Zmtp::greeting();
  old[10] = 1;
  EXPECT_EQ(read(old, 64), std::vector<std::string>{"broken"});
  std::string curve = Zmtp::greeting();
  curve.replace(12, 5, "CURVE");
  EXPECT_EQ(read(curve, 64), std::vector<std::string>{"broken"});
  EXPECT_EQ(read(Zmtp::greeting() + zmtp_frame("no READY"), 64),
            std::vector<std::string>{"broken"});
}

TEST(Zmtp, APingIsAnsweredWithItsContext) {
  const std::string ping("\4\x0b\4PING\0\0abcd", 13);
  EXPECT_EQ(read(kOpening + ping, 5).back(), "ping abcd");
  EXPECT_EQ(Zmtp::pong("abcd"), std::string("\4\x09\4PONGabcd", 11));
}

TEST(Zmtp, RandomBytesNeverReachBeyondTheBuffer) {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 400, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    read(i % 2 == 0 ? kOpening + bytes : bytes, 1 + random() % 90);
  }
}

}  // namespace
}  // namespace holon::transport
