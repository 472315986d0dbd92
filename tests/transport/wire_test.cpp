// Bytes: envelopes and payloads round-trip, and rubbish of every kind is an error and nothing else.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <random>

#include "transport/codec.hpp"
#include "transport/envelope.hpp"

namespace holon::transport {
namespace {

struct Inner {
  std::uint64_t id = 5;
  std::string name = "default";
  MSGPACK_DEFINE_MAP(id, name)
};
struct Newer {
  std::uint64_t id = 1;
  std::string name = "n";
  std::map<std::string, std::vector<std::int64_t>> extra = {{"x", {1, 2}}};
  MSGPACK_DEFINE_MAP(id, name, extra)
};

RC_GTEST_PROP(Envelope, RoundTrips,
              (std::uint64_t id, const std::string& topic, const std::string& path,
               const std::string& payload)) {
  const auto kind = static_cast<Kind>(*rc::gen::inRange(1, 11));
  const auto back = decode(encode({kind, id, topic, path, payload}));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->kind == kind);
  RC_ASSERT(back->id == id);
  RC_ASSERT(back->topic == topic);
  RC_ASSERT(back->path == path);
  RC_ASSERT(back->payload == payload);
}

RC_GTEST_PROP(Envelope, EveryTruncationIsAnErrorNotACrash,
              (const std::string& topic, const std::string& payload)) {
  const std::string whole = encode({Kind::request, 7, topic, "", payload});
  for (std::size_t length = 0; length < whole.size(); ++length)
    RC_ASSERT(!decode(std::string_view(whole).substr(0, length)).has_value());
  RC_ASSERT(!decode(whole + "x").has_value());
}

RC_GTEST_PROP(Envelope, RandomBytesAreAnErrorOrAnEnvelopeThatRoundTrips,
              (const std::string& bytes)) {
  if (const auto envelope = decode(bytes))
    RC_ASSERT(decode(encode(*envelope))->payload == envelope->payload);
}

TEST(Envelope, OneFlippedByteNeverCrashes) {
  const std::string whole = encode({Kind::request, 123456, "topic", "/3/7", std::string(40, 'p')});
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      std::string broken = whole;
      broken[at] = static_cast<char>(value);
      static_cast<void>(decode(broken));
    }
}

TEST(Envelope, AnUnknownVersionIsToldFromRubbishAndCanBeAnswered) {
  std::string later = encode({Kind::request, 9, "t", "", "p"});
  later[1] = 2;  // the version
  const auto refused = decode(later);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, Errc::unsupported);
  EXPECT_EQ(refused.error().request_id, 9U);
  // Of a later version only the first three places are known.
  const std::string other("\x93\x02\x01\x09", 4);
  EXPECT_EQ(decode(other).error().request_id, 9U);
  EXPECT_EQ(decode(std::string("\x93\x01\x01\x09", 4)).error().error.code, Errc::protocol);
  EXPECT_EQ(decode("\x01").error().request_id, std::nullopt);
}

TEST(Envelope, ALongTopicIsRefused) {
  EXPECT_FALSE(decode(encode({Kind::request, 1, std::string(100000, 't'), "", ""})));
}

TEST(Envelope, ErrorsKeepCodeWordsAndPlace) {
  for (int code = 0; code <= static_cast<int>(Errc::system); ++code) {
    const Error error{static_cast<Errc>(code), "what", "where"};
    EXPECT_EQ(decode_error(encode_error(error)), error);
  }
  EXPECT_EQ(decode_error("rubbish").code, Errc::protocol);
}

TEST(Codec, AbsentKeysKeepTheirDefaultsAndUnknownOnesAreSkipped) {
  const auto old = unpack<Inner>(pack(std::map<std::string, int>{{"id", 9}}));
  ASSERT_TRUE(old);
  EXPECT_EQ(old->id, 9U);
  EXPECT_EQ(old->name, "default");
  const auto newer = unpack<Inner>(pack(Newer{}));
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->name, "n");
}

TEST(Codec, WrongTypesAreProtocolErrors) {
  EXPECT_EQ(unpack<Inner>(pack(std::map<std::string, std::string>{{"id", "nine"}})).error().code,
            Errc::protocol);
  EXPECT_EQ(unpack<Inner>(pack(std::vector<int>{1})).error().code, Errc::protocol);
  EXPECT_EQ(unpack<Inner>(pack(-1)).error().code, Errc::protocol);
  EXPECT_EQ(unpack<Inner>("").error().code, Errc::protocol);
}

TEST(Codec, ContainersThatClaimMoreThanTheyHaveAreRefusedBeforeAnythingIsAllocated) {
  const std::string claims[] = {"\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff",
                                "\xc6\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff",
                                "\xc9\xff\xff\xff\xff"};
  for (const std::string& claim : claims)
    EXPECT_EQ(check_msgpack(claim).error().code, Errc::protocol);
  std::string nested;  // each level claims as many elements as there are bytes
  for (int i = 0; i < 200; ++i) nested += std::string("\xdd\x00\x00\x04\x00", 5);
  EXPECT_NE(check_msgpack(nested).error().what.find("more elements"), std::string::npos);
}

TEST(Codec, NestingIsLimited) {
  EXPECT_TRUE(check_msgpack(std::string(kMaxDepth - 1, '\x91') + '\xc0'));
  EXPECT_FALSE(check_msgpack(std::string(kMaxDepth + 1, '\x91') + '\xc0'));
  EXPECT_FALSE(check_msgpack(std::string(1000000, '\x91')));
}

RC_GTEST_PROP(Codec, RandomBytesNeverCrash, (const std::string& bytes)) {
  static_cast<void>(unpack<Inner>(bytes));
  static_cast<void>(unpack<std::vector<std::map<std::string, Newer>>>(bytes));
}

}  // namespace
}  // namespace holon::transport
