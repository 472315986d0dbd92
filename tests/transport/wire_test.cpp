// Bytes: envelopes and payloads round-trip, and rubbish of every kind is an error and nothing else.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <msgpack.hpp>
#include <set>

#include "transport/codec/codec.hpp"
#include "transport/codec/envelope.hpp"
#include "transport/codec/fields.hpp"

namespace holon::transport {
namespace {

struct Inner {
  std::uint64_t id = 5;
  std::string name = "default";
  HOLON_FIELDS(id, name)
};
struct Newer {
  std::uint64_t id = 1;
  std::string name = "n";
  std::map<std::string, std::vector<std::int64_t>> extra = {{"x", {1, 2}}};
  HOLON_FIELDS(id, name, extra)
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

// Every type that travels, for msgpack-c's own macro and for ours.
struct Everything {
  bool flag = true;
  std::uint32_t small = 5;
  std::uint64_t large = 1ULL << 63;
  std::int32_t negative = -40000;
  std::int64_t time = 1'700'000'000'000;
  double whole = 3, part = 0.25, below = -1;
  std::string empty, text = std::string(300, 't');
  std::vector<std::int64_t> numbers = {-1, -32, -33, 0, 127, 128, 65536};
  std::vector<std::string> names = {"a", "b"};
  std::set<std::uint64_t> ids = {7, 1};
  std::map<std::string, std::int64_t> amounts = {{"core", 4}, {"gpu", 1}};
  std::pair<std::int64_t, std::string> label = {2, "two"};
  MSGPACK_DEFINE_MAP(flag, small, large, negative, time, whole, part, below, empty, text, numbers,
                     names, ids, amounts, label)
  HOLON_FIELDS(flag, small, large, negative, time, whole, part, below, empty, text, numbers, names,
               ids, amounts, label)
};
struct Nested {
  std::vector<Everything> list = {{}, {}};
  std::map<std::uint64_t, Everything> by_id = {{3, {}}};
  MSGPACK_DEFINE_MAP(list, by_id)
  HOLON_FIELDS(list, by_id)
};

TEST(Codec, BytesAreThoseOfMsgpacksOwnMacro) {
  Nested sent;
  sent.list[1].text = "another";
  msgpack::sbuffer theirs;
  msgpack::pack(theirs, sent);
  const std::string ours = pack(sent);
  EXPECT_EQ(ours, std::string(theirs.data(), theirs.size()));
  const auto back = unpack<Nested>(ours);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(pack(*back), ours);
}

TEST(Codec, BytesThatAreNoTextTravelAsBin) {
  Inner sent;
  sent.name = "\x86\xff";
  const std::string bytes = pack(sent);
  EXPECT_NE(bytes.find(std::string("\xc4\x02\x86\xff", 4)), std::string::npos);
  const auto back = unpack<Inner>(bytes);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->name, sent.name);
}

TEST(Codec, KeysMayComeInAnyOrder) {
  const auto back = unpack<Inner>(std::string("\x82\xa4name\xa1x\xa2id\x09", 12));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->id, 9U);
  EXPECT_EQ(back->name, "x");
}

struct Narrow {
  std::uint32_t count = 0;
  std::int32_t offset = 0;
  HOLON_FIELDS(count, offset)
};

TEST(Codec, NumbersThatDoNotFitAreRefusedWithTheirField) {
  using Sent = std::map<std::string, std::int64_t>;
  EXPECT_TRUE(unpack<Narrow>(pack(Sent{{"count", 4294967295}, {"offset", -2147483648}})));
  EXPECT_FALSE(unpack<Narrow>(pack(Sent{{"count", 4294967296}})));
  EXPECT_FALSE(unpack<Narrow>(pack(Sent{{"offset", 2147483648}})));
  EXPECT_FALSE(unpack<Narrow>(pack(Sent{{"offset", -2147483649}})));
  EXPECT_EQ(
      unpack<Narrow>(pack(Sent{{"count", -1}})).error().what,
      "payload does not have the expected form: \"count\": an unsigned integer is expected here");
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
