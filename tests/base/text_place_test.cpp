// Where a fault of a text is.
#include <gtest/gtest.h>

#include "base/text/text_place.hpp"

namespace holon {
namespace {

TEST(TextPlace, CountsLinesAndColumnsFromOne) {
  const std::string_view text = "ab\n\ncd\n";
  const auto at = [&](std::size_t byte) { return text_of(place_in(text, byte)); };
  EXPECT_EQ(at(0), "line 1, column 1");
  EXPECT_EQ(at(2), "line 1, column 3") << "the end of the line is part of it";
  EXPECT_EQ(at(3), "line 2, column 1");
  EXPECT_EQ(at(5), "line 3, column 2");
  EXPECT_EQ(at(7), "line 4, column 1");
  EXPECT_EQ(at(99), "line 4, column 1") << "there is nothing behind its end";
}

TEST(TextPlace, LeavesOutTheReadersOwnIdeaOfThePlace) {
  EXPECT_EQ(words_of_json_error("[json.exception.parse_error.101] parse error at line 1, column 2: "
                                "syntax error while parsing value"),
            "not JSON: syntax error while parsing value");
  EXPECT_EQ(words_of_json_error("[json.exception.out_of_range.406] number overflow"),
            "not JSON: number overflow");
  EXPECT_EQ(words_of_json_error("else"), "not JSON: else");
  EXPECT_EQ(place_of_json_error(0), 0u);
  EXPECT_EQ(place_of_json_error(3), 2u);
}

}  // namespace
}  // namespace holon
