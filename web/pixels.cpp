#include "web/pixels.hpp"

#include <algorithm>
#include <tuple>

namespace holon::web {
namespace {

// Holds a time times a number of pixels.
__extension__ using Wide = __int128;

constexpr std::int32_t kLeastLane = 2;  // pixels: below it lanes share a band
constexpr std::int32_t kLeastBand = 4;  // pixels of a band that several lanes share
constexpr std::int32_t kCellWidth = 2;  // pixels of its cells
constexpr int kLevels = 8;

struct Flat {
  Piece piece;
  std::int32_t y = 0;
  bool operator<(const Flat& other) const {
    const auto key = [](const Flat& flat) {
      return std::tuple(flat.y, flat.piece.lanes, flat.piece.kind, flat.piece.begin, flat.piece.end,
                        flat.piece.subject);
    };
    return key(*this) < key(other);
  }
};

// The pixel of a time, rounded down or up, kept in the window.
std::int32_t pixel(const Window& window, Time time, std::int32_t width, bool up) {
  if (time <= window.from) return 0;
  if (time >= window.to) return width;
  const auto scaled = static_cast<Wide>(time - window.from) * width;
  const auto span = static_cast<Wide>(window.span());
  return static_cast<std::int32_t>((scaled + (up ? span - 1 : 0)) / span);
}

bool is_in(const Window& window, const Piece& piece) {
  return piece.begin < window.to && std::max(piece.end, piece.begin + 1) > window.from;
}

Bar bar_of(const Window& window, const Flat& flat) {
  Bar bar;
  bar.y = flat.y;
  bar.lanes = flat.piece.lanes;
  bar.x0 = std::min(pixel(window, flat.piece.begin, window.width, false), window.width - 1);
  bar.x1 = std::max(bar.x0 + 1, pixel(window, flat.piece.end, window.width, true));
  bar.kind = flat.piece.kind;
  bar.colour = flat.piece.colour;
  bar.count = 1;
  bar.subject = flat.piece.subject;
  return bar;
}

// One bar a piece, or for several in one pixel. `flats` in their order.
std::vector<Bar> exact(const Window& window, const std::vector<Flat>& flats) {
  std::vector<Bar> bars;
  for (const Flat& flat : flats) {
    Bar bar = bar_of(window, flat);
    Bar* const last = bars.empty() ? nullptr : &bars.back();
    const bool same_line = last != nullptr && std::tie(last->y, last->lanes, last->kind) ==
                                                  std::tie(bar.y, bar.lanes, bar.kind);
    if (same_line && bar.x0 < last->x1) {
      if (bar.x1 <= last->x1) {
        last->count += 1;
        last->colour = std::max(last->colour, bar.colour);
        continue;
      }
      bar.x0 = last->x1;
    }
    bars.push_back(bar);
  }
  return bars;
}

struct Cell {
  double filled = 0;  // of the band's lanes, over the cell's time
  std::uint32_t count = 0, subject = 0;
  std::uint8_t colour = 0;
  Kind kind = Kind::ran;
  bool used = false;
};

// How full each cell of each band is: where lanes are too many to be seen.
class Raster {
 public:
  Raster(const Window& window, std::int32_t bands, std::int32_t lanes_a_band)
      : window_(window),
        lanes_a_band_(lanes_a_band),
        columns_(std::max(1, window.width / kCellWidth)),
        bands_(bands),
        cells_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(bands)) {}

  void add(const Flat& flat) {
    const std::int32_t x0 =
        std::min(pixel(window_, flat.piece.begin, columns_, false), columns_ - 1);
    const std::int32_t x1 = std::max(x0 + 1, pixel(window_, flat.piece.end, columns_, true));
    const std::int32_t last = flat.y + flat.piece.lanes - 1;
    for (std::int32_t band = flat.y / lanes_a_band_; band <= last / lanes_a_band_; ++band) {
      const std::int32_t from = std::max(flat.y, band * lanes_a_band_);
      const std::int32_t to = std::min(last + 1, (band + 1) * lanes_a_band_);
      const bool first = band == flat.y / lanes_a_band_;
      for (std::int32_t x = x0; x < x1; ++x)
        fill(cell(band, x), flat.piece, x, to - from, first && x == x0);
    }
  }

  std::vector<Bar> bars() {
    std::vector<Bar> all;
    for (std::int32_t band = 0; band < bands_; ++band)
      for (std::int32_t x = 0; x < columns_; ++x)
        if (const Cell& here = cell(band, x); here.used) add_cell(all, band, x, here);
    return all;
  }

 private:
  Cell& cell(std::int32_t band, std::int32_t x) {
    return cells_[static_cast<std::size_t>(band) * static_cast<std::size_t>(columns_) +
                  static_cast<std::size_t>(x)];
  }
  Time time_at(std::int32_t x) const {
    return window_.from + static_cast<Time>(static_cast<Wide>(window_.span()) * x / columns_);
  }
  void fill(Cell& here, const Piece& piece, std::int32_t x, std::int32_t lanes, bool begins) {
    const Time from = time_at(x), to = std::max(time_at(x + 1), from + 1);
    const Time covered = std::min(piece.end, to) - std::max(piece.begin, from);
    here.filled +=
        static_cast<double>(std::max<Time>(covered, 0)) * lanes / static_cast<double>(to - from);
    if (begins) here.count += 1;
    const auto rank = [](Kind kind, std::uint8_t colour) {
      return std::pair(kind == Kind::ran, colour);
    };
    if (!here.used || rank(piece.kind, piece.colour) > rank(here.kind, here.colour)) {
      here.kind = piece.kind;
      here.colour = piece.colour;
      here.subject = piece.subject;
    }
    here.used = true;
  }
  void add_cell(std::vector<Bar>& all, std::int32_t band, std::int32_t x, const Cell& here) const {
    Bar bar;
    bar.y = band;
    bar.x0 = x * kCellWidth;
    bar.x1 = x + 1 == columns_ ? window_.width : (x + 1) * kCellWidth;
    bar.kind = here.kind;
    bar.colour = here.colour;
    bar.level = static_cast<std::uint8_t>(
        std::clamp(static_cast<int>(here.filled * kLevels / lanes_a_band_ + 0.999), 1, kLevels));
    bar.count = here.count;
    bar.subject = here.subject;
    Bar* const last = all.empty() ? nullptr : &all.back();
    if (last != nullptr && last->y == bar.y && last->x1 == bar.x0 &&
        std::tie(last->kind, last->colour, last->level) ==
            std::tie(bar.kind, bar.colour, bar.level)) {
      last->x1 = bar.x1;
      last->count += bar.count;
    } else {
      all.push_back(bar);
    }
  }

  const Window& window_;
  std::int32_t lanes_a_band_, columns_, bands_;
  std::vector<Cell> cells_;
};

// Adds an interval's part of each of the equal parts of a window to `sums`.
void add_interval(std::vector<double>& sums, const Window& window, Time begin, Time end,
                  double weight) {
  begin = std::max(begin, window.from);
  end = std::min(end, window.to);
  if (end <= begin) return;
  const double length = static_cast<double>(window.span()) / static_cast<double>(sums.size());
  const double first = static_cast<double>(begin - window.from) / length;
  const double last = static_cast<double>(end - window.from) / length;
  for (auto part = static_cast<std::size_t>(first);
       part < sums.size() && static_cast<double>(part) < last; ++part) {
    const auto at = static_cast<double>(part);
    sums[part] += weight * (std::min(last, at + 1) - std::max(first, at));
  }
}

}  // namespace

Picture picture_of(const Layout& layout, const Window& window) {
  std::vector<std::int32_t> first_lane;
  std::int32_t lanes = 0;
  for (const Row& row : layout.rows) {
    first_lane.push_back(lanes);
    lanes += row.lanes;
  }
  std::vector<Flat> flats;
  for (const Piece& piece : layout.pieces)
    if (is_in(window, piece))
      flats.push_back({piece, first_lane[static_cast<std::size_t>(piece.row)] + piece.lane});
  Picture picture;
  picture.bands = lanes;
  if (lanes * kLeastLane <= window.height) {
    std::sort(flats.begin(), flats.end());
    picture.bars = exact(window, flats);
    return picture;
  }
  const std::int32_t most = std::max(1, window.height / kLeastBand);
  picture.lanes_a_band = (lanes + most - 1) / most;
  picture.bands = (lanes + picture.lanes_a_band - 1) / picture.lanes_a_band;
  Raster raster(window, picture.bands, picture.lanes_a_band);
  for (const Flat& flat : flats) raster.add(flat);
  picture.bars = raster.bars();
  return picture;
}

Curves curves_of(const std::vector<const msg::JobRecord*>& jobs, const Window& window,
                 std::size_t parts, Time now) {
  Curves curves{std::vector<double>(parts), std::vector<double>(parts),
                std::vector<std::int64_t>(parts), std::vector<std::int64_t>(parts)};
  for (const auto* job : jobs) {
    const Time wait_end = start_of(*job) > 0 ? start_of(*job)
                          : is_over(*job)    ? job->t_inactive
                                             : now;
    add_interval(curves.waiting, window, job->t_submit, wait_end, 1);
    if (start_of(*job) > 0)
      add_interval(curves.busy, window, start_of(*job), end_of_run(*job, now),
                   static_cast<double>(std::max<std::int64_t>(job->ncores, 1)));
    if (!is_over(*job) || job->t_inactive < window.from || job->t_inactive >= window.to) continue;
    const auto part = static_cast<std::size_t>(
        pixel(window, job->t_inactive, static_cast<std::int32_t>(parts), false));
    ++curves.ended[std::min(part, parts - 1)];
    if (job->result != "COMPLETED" && job->result != "CANCELED")
      ++curves.failed[std::min(part, parts - 1)];
  }
  return curves;
}

}  // namespace holon::web
