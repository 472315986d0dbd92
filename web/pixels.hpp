// pixels.hpp - a layout as a screen shows it: what falls under one pixel becomes one bar with a
// count, so that a hundred thousand jobs are no more to send than the pixels. Pure.
#pragma once
#include <cstdint>
#include <vector>

#include "web/rows.hpp"

namespace holon::web {

struct Window {
  Time from = 0, to = 1;
  std::int32_t width = 1, height = 1;  // pixels

  std::int64_t span() const { return to > from ? to - from : 1; }
};

// From pixel x0 to before x1, on `lanes` lanes from `y` on. Lanes are counted through all rows;
// where they are too many for the height, several are one (Picture::lanes_a_band).
struct Bar {
  std::int32_t y = 0, lanes = 1, x0 = 0, x1 = 1;
  Kind kind = Kind::ran;
  std::uint8_t colour = 0;    // the worst of what is in it
  std::uint8_t level = 8;     // how full it is, in eighths
  std::uint32_t count = 0;    // pieces that begin in it, or before the window
  std::uint32_t subject = 0;  // the first one
  bool operator==(const Bar&) const = default;
};
struct Picture {
  std::vector<Bar> bars;
  std::int32_t lanes_a_band = 1;
  std::int32_t bands = 0;
};

// The bars of a lane and kind do not overlap; the counts of all bars add up to the pieces in the
// window. O(pieces log pieces + pixels).
Picture picture_of(const Layout& layout, const Window& window);

// Means over equal parts of the window: cores in use, jobs that wait; and how many ended or failed.
struct Curves {
  std::vector<double> busy, waiting;
  std::vector<std::int64_t> ended, failed;
};
Curves curves_of(const std::vector<const msg::JobRecord*>& jobs, const Window& window,
                 std::size_t parts, Time now);

}  // namespace holon::web
