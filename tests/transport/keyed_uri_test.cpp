// Addresses that name the key of their server, and what a client proves for one connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/curve/admission.hpp"
#include "transport/munge/proof.hpp"

namespace holon::transport {
namespace {

TEST(KeyedUri, ComesBackAsItWas) {
  for (int i = 0; i < 50; ++i) {
    const auto keys = new_key_pair();
    ASSERT_TRUE(keys);
    const std::string uri = keyed_uri({"tcp://10.0.0.7:4711", keys->public_key});
    EXPECT_EQ(uri.find_first_not_of("tcp://10.0.0.7:4711?key=0123456789abcdef"), std::string::npos)
        << uri;  // nothing that means something to a shell but the question mark
    const auto back = parse_keyed_uri(uri);
    ASSERT_TRUE(back && *back) << uri;
    EXPECT_EQ((*back)->uri, "tcp://10.0.0.7:4711");
    EXPECT_EQ((*back)->server_key, keys->public_key);
  }
}

TEST(KeyedUri, OtherAddressesHaveNoKey) {
  for (const char* uri : {"ipc:///run/holon/x/broker", "tcp://127.0.0.1:5", "", "/run/a?key=00"}) {
    const auto none = parse_keyed_uri(uri);
    ASSERT_TRUE(none) << uri;
    EXPECT_FALSE(*none) << uri;
  }
}

TEST(KeyedUri, AKeyThatIsNoneIsRefused) {
  const std::string digits(64, '0');
  for (const std::string& key : {std::string(), digits.substr(1), digits + "0",
                                 digits.substr(1) + "g", digits.substr(1) + "A"}) {
    const auto refused = parse_keyed_uri("tcp://h:1?key=" + key);
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
    EXPECT_THAT(refused.error().what, testing::HasSubstr("64 digits"));
  }
}

TEST(KeyedUri, WhatIsProvedNamesBothEnds) {
  EXPECT_NE(text_to_prove("a", "b"), text_to_prove("b", "a"));
  EXPECT_NE(text_to_prove("a", "b"), text_to_prove("a", "c"));
}

}  // namespace
}  // namespace holon::transport
