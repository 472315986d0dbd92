#include "pmi/message.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace holon::pmi {
namespace {

const Message kGet = {"kvs-get", {{"jobid", "1.0"}, {"key", "a;b=c"}}};

TEST(PmiMessages, AreLinesInPmi1) {
  EXPECT_EQ(write_line({"get", {{"kvsname", "1.0"}, {"key", "a"}}}), "cmd=get kvsname=1.0 key=a\n");
  std::string bytes =
      "cmd=get_result rc=0 msg=success value=(vector,(0,1,4))=x\ncmd=barrier_out\ncmd=fin";
  EXPECT_EQ(
      take_line(bytes).value(),
      (Message{"get_result", {{"rc", "0"}, {"msg", "success"}, {"value", "(vector,(0,1,4))=x"}}}));
  EXPECT_EQ(take_line(bytes).value(), (Message{"barrier_out", {}}));
  EXPECT_EQ(take_line(bytes).value(), std::nullopt);
  EXPECT_EQ(bytes, "cmd=fin");
}

TEST(PmiMessages, AreFramesInPmi2) {
  EXPECT_EQ(write_frame(kGet), "    33cmd=kvs-get;jobid=1.0;key=a;;b=c;");
  std::string bytes = write_frame(kGet) + "    14cmd=finalize;x    ";
  const auto got = take_frame(bytes).value();
  EXPECT_EQ(got, kGet);
  EXPECT_EQ(take_frame(bytes).value()->command, "finalize");
  EXPECT_EQ(take_frame(bytes).value(), std::nullopt);
}

TEST(PmiMessages, OfManyLinesAreOne) {
  std::string bytes = "mcmd=spawn\nnprocs=1\nexecname=x\nendcmd\ncmd=finalize\n";
  EXPECT_EQ(take_line(bytes).value(), (Message{"spawn", {{"nprocs", "1"}, {"execname", "x"}}}));
  EXPECT_EQ(take_line(bytes).value()->command, "finalize");
}

TEST(PmiMessages, ThatAreNoneAreErrors) {
  for (std::string bytes : {"nonsense\n", "\n", "key=value\n"})
    EXPECT_EQ(take_line(bytes).error().code, Errc::protocol) << bytes;
  for (std::string bytes : {"abcdefcmd=x;", "  -  1x", "999999cmd=", "     3abc", "1 2   cmd=a;"})
    EXPECT_EQ(take_frame(bytes).error().code, Errc::protocol) << bytes;
  std::string endless(kMaxMessage + 1, 'x');
  EXPECT_FALSE(take_line(endless));
}

// However the bytes are cut on their way.
RC_GTEST_PROP(PmiMessages, ComeThroughInPieces, ()) {
  const auto values = *rc::gen::container<std::vector<std::string>>(
      4, rc::gen::container<std::string>(rc::gen::inRange<char>(' ' + 1, '~')));
  const Message message = {
      "put", {{"a", values[0]}, {"b", values[1]}, {"c", values[2]}, {"d", values[3]}}};
  const auto cut = *rc::gen::inRange<std::size_t>(1, 20);
  const bool framed = *rc::gen::arbitrary<bool>();
  const std::string all = framed ? write_frame(message) : write_line(message);
  std::string buffer;
  std::optional<Message> got;
  for (std::size_t at = 0; at < all.size(); at += cut) {
    RC_ASSERT(!got);
    buffer += all.substr(at, cut);
    got = framed ? take_frame(buffer).value() : take_line(buffer).value();
  }
  RC_ASSERT(got);
  RC_ASSERT(*got == message);
}

// Whatever comes: an answer, and never more than an error.
RC_GTEST_PROP(PmiMessages, AreReadFromAnyBytes, (std::string bytes)) {
  std::string copy = bytes;
  for (int i = 0; i < 100; ++i)
    if (auto got = take_line(bytes); !got || !*got) break;
  for (int i = 0; i < 100; ++i)
    if (auto got = take_frame(copy); !got || !*got) break;
}

TEST(PmiMessages, HaveWords) {
  EXPECT_TRUE(is_word("tcp://n1:80=+/"));
  for (const char* text : {"", "a b", "a;b", "a\nb", "a\tb"}) EXPECT_FALSE(is_word(text));
}

}  // namespace
}  // namespace holon::pmi
