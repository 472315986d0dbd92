// What is UTF-8, at the borders of what it allows.
#include "base/text/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holon {
namespace {

TEST(Utf8, CharactersOfEachLengthAreText) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(std::string("eight bytes, and \0 more", 23)));
  for (const char* text : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text));
    EXPECT_TRUE(is_utf8("before it, and " + std::string(text) + " after it"));
  }
}

TEST(Utf8, BytesAreNot) {
  for (const char* bytes : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x9f\xbf",
                            "\xe2\x82", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_FALSE(is_utf8(bytes));
    EXPECT_FALSE(is_utf8("before it, and " + std::string(bytes)));
    EXPECT_FALSE(is_utf8(std::string(bytes) + " before this"));
  }
}

}  // namespace
}  // namespace holon
