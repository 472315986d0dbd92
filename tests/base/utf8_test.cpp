// What is UTF-8, at the borders of what it allows.
#include "base/text/utf8.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

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

TEST(Utf8, TheFirstCharacterHasItsLengthAndCode) {
  const auto is = [](std::string_view text, std::size_t bytes, char32_t code) {
    const Character c = first_character(text);
    return c.bytes == bytes && c.code == code;
  };
  EXPECT_TRUE(is("ab", 1, U'a'));
  EXPECT_TRUE(is("\u00e4b", 2, U'\u00e4'));
  EXPECT_TRUE(is("\u20acb", 3, U'\u20ac'));
  EXPECT_TRUE(is("\U0001f600b", 4, U'\U0001f600'));
  EXPECT_TRUE(is("\xe2\x82", 0, 0));
}

TEST(Utf8, WhatIsCutEndsWithAWholeCharacter) {
  EXPECT_EQ(cut_within("abc", 3), "abc");
  EXPECT_EQ(cut_within("abc", 2), "ab");
  EXPECT_EQ(cut_within("a\u20ac", 4), "a\u20ac");
  EXPECT_EQ(cut_within("a\u20ac", 3), "a");
  EXPECT_EQ(cut_within("a\u20ac", 1), "a");
  EXPECT_EQ(cut_within("\u20ac", 2), "");
  EXPECT_EQ(cut_within("", 0), "");
}

}  // namespace
}  // namespace holon
