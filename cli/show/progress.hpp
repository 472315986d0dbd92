// progress.hpp - how far many jobs are, for people who wait: a bar that is drawn over itself on a
// terminal, a plain line once in a while elsewhere, and a line for each failure. For programs: an
// object in a line whenever that has changed (json_line.hpp).
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/time.hpp"
#include "cli/io.hpp"

namespace holon::cli {

struct ProgressCounts {
  std::uint64_t waiting = 0, running = 0;
  std::uint64_t ended = 0;   // failed ones included
  std::uint64_t failed = 0;  // ended and not COMPLETED

  std::uint64_t total() const { return waiting + running + ended; }
  bool operator==(const ProgressCounts&) const = default;
};

// A job that has ended and has not completed.
struct FailedJob {
  std::uint64_t id = 0;
  std::string why;
  std::string label = {};  // as people type it, "7.12"; empty: its number
};

// Ends per second, over the last half minute.
class EndRate {
 public:
  // Notes the number of ends at `now`. REQUIRES: neither goes back.
  void look(Time now, std::uint64_t ended);
  // The rate; nullopt: not known yet.
  std::optional<double> per_second() const;

 private:
  std::deque<std::pair<Time, std::uint64_t>> seen_;
};

// "[#####.....]  50%  500 of 1000 ended, 8 running, 492 waiting, 3 failed; 12.5/s, 39s left"; no
// wider than `width` columns (0: without a bar, as wide as it is).
std::string progress_line(const ProgressCounts& counts, std::optional<double> rate, int width);

// "[###       ] 12345 of 28481 jobs", no wider than `width` columns.
std::string simulation_line(std::size_t done, std::size_t total, int width);

// The cursor rests at the beginning of what is drawn: in a terminal that has become narrower this
// goes on in the lines below, and is erased from there to the end of the screen.
inline constexpr const char* kEraseDrawn = "\r\x1b[J";

// How wide the terminal is now that has this descriptor; -1, or none: io.width.
int width_now(const Io& io, int window);

class ProgressLine {
 public:
  // `to`: io.out if the progress is the output asked for, else io.err, beside other output.
  // `window`: the terminal behind `to`, asked for its width before each line; -1, or none: io.width
  // holds for good.
  ProgressLine(Io& io, std::ostream& to, int window = -1)
      : io_(io),
        to_(to),
        window_(window),
        on_terminal_(!io.dumb && (&to == &io.out ? io.terminal : io.err_terminal)) {}

  // Prints objects instead, and names all failures.
  ProgressLine& as_json() {
    is_json_ = true;
    return *this;
  }

  // Shows the counts at `now`: drawn at once on a terminal that is not dumb; elsewhere a line if
  // ten seconds have passed since the last one, and nothing as long as nothing changes.
  void show(const ProgressCounts& counts, Time now);
  // Tells that a job has failed. After some failures, further ones are only counted.
  void failed(const FailedJob& job);
  // Whether the next failure will be told with the job's label.
  bool names_failures() const;
  // Prints the final counts in a line of their own.
  void end(const ProgressCounts& counts, Time now);
  // Removes the line, for something else to be written.
  void clear();

 private:
  Io& io_;
  std::ostream& to_;
  int window_;
  bool on_terminal_;
  bool is_json_ = false;
  EndRate rate_;
  std::optional<ProgressCounts> told_;
  Time told_at_ = 0;
  bool is_drawn_ = false;
  std::uint64_t failures_ = 0;
};

}  // namespace holon::cli
