#include "standalone/hosts.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <array>

#include "tests/standalone/own_etc.hpp"

namespace holon::standalone {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> texts_of(const std::vector<HostAddress>& addresses) {
  std::vector<std::string> texts;
  for (const auto& one : addresses) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* const bytes = one.family == AF_INET ? static_cast<const void*>(&one.v4) : &one.v6;
    texts.emplace_back(inet_ntop(one.family, bytes, text.data(), text.size()));
  }
  return texts;
}

TEST(Hosts, ANumberIsTakenAsItIs) {
  const OwnEtc etc;
  EXPECT_THAT(texts_of(addresses_of(etc.sources(), "10.1.2.3", AF_UNSPEC).value()),
              ElementsAre("10.1.2.3"));
  EXPECT_THAT(texts_of(addresses_of(etc.sources(), "127.1", AF_INET).value()),
              ElementsAre("127.0.0.1"));
  EXPECT_THAT(texts_of(addresses_of(etc.sources(), "fe80::1%1", AF_INET6).value()),
              ElementsAre("fe80::1"));
  EXPECT_EQ(numeric_address("fe80::1%1").at(0).scope, 1u);
  EXPECT_THAT(addresses_of(etc.sources(), "10.1.2.3", AF_INET6).value(), IsEmpty());
  EXPECT_THAT(numeric_address("fe80::1%nosuchlink"), IsEmpty());
  EXPECT_EQ(etc.questions(), "");
}

TEST(Hosts, AFileComesBeforeGetent) {
  const OwnEtc etc;
  etc.write("hosts",
            "# 9.9.9.9 node1\n10.0.0.1\tnode1.cluster Node1 # the first\nfd00::1 node1\n"
            "10.0.0.2 node2\n10.0.0.1 node1\n");
  etc.answer("ahosts node1", "10.9.9.9 STREAM node1");
  EXPECT_THAT(texts_of(addresses_of(etc.sources(), "NODE1", AF_UNSPEC).value()),
              ElementsAre("10.0.0.1", "fd00::1"));
  EXPECT_THAT(texts_of(addresses_of(etc.sources(), "node1", AF_INET6).value()),
              ElementsAre("fd00::1"));
  EXPECT_THAT(texts_of(addresses_of(etc.sources(), "node2", AF_INET).value()),
              ElementsAre("10.0.0.2"));
  EXPECT_EQ(etc.questions(), "");
}

TEST(Hosts, GetentIsAskedForOthersInItsOrder) {
  const OwnEtc etc;
  etc.answer("ahosts login",
             "fd00::7         STREAM login.site\nfd00::7         DGRAM  \n10.0.0.7        STREAM ");
  etc.answer("ahostsv4 login", "10.0.0.7        STREAM login.site");
  EXPECT_THAT(texts_of(addresses_of(etc.sources(), "login", AF_UNSPEC).value()),
              ElementsAre("fd00::7", "10.0.0.7"));
  EXPECT_THAT(texts_of(addresses_of(etc.sources(), "login", AF_INET).value()),
              ElementsAre("10.0.0.7"));
  EXPECT_THAT(addresses_of(etc.sources(), "logout", AF_UNSPEC).value(), IsEmpty());
  EXPECT_EQ(etc.questions(), "ahosts login\nahostsv4 login\nahosts logout\n");
}

TEST(Hosts, ThisMachineHasANameWhereThereIsNeitherFileNorGetent) {
  OwnEtc etc;
  Sources bare = etc.sources();
  bare.getent.clear();
  EXPECT_THAT(texts_of(addresses_of(bare, "localhost", AF_UNSPEC).value()),
              ElementsAre("::1", "127.0.0.1"));
  EXPECT_THAT(addresses_of(bare, "elsewhere", AF_UNSPEC).value(), IsEmpty());
}

TEST(Hosts, SayThatTheyCouldNotAsk) {
  const OwnEtc etc;
  etc.program("#!/bin/sh\nkill -9 $$\n");
  EXPECT_FALSE(addresses_of(etc.sources(), "elsewhere", AF_UNSPEC));
  EXPECT_TRUE(addresses_of(etc.sources(), "localhost", AF_UNSPEC)) << "nobody has to be asked";
}

// With the machine's own files and getent.
TEST(Hosts, AnswerAsTheCLibraryDoesForThisMachine) {
  for (const std::string name : {"localhost", "no-such-host.invalid"}) {
    SCOPED_TRACE(name);
    addrinfo wanted{};
    wanted.ai_family = AF_INET;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    const int failed = getaddrinfo(name.c_str(), nullptr, &wanted, &first);
    std::vector<std::string> texts;
    for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
      std::array<char, INET_ADDRSTRLEN> text{};
      const auto* const address = reinterpret_cast<const sockaddr_in*>(one->ai_addr);
      texts.emplace_back(inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()));
    }
    if (failed == 0) freeaddrinfo(first);
    EXPECT_EQ(texts_of(addresses_of({}, name, AF_INET).value()), texts);
  }
}

}  // namespace
}  // namespace holon::standalone
