#include "cli/show/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "base/text/printable.hpp"
#include "cli/show/json_line.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"

namespace holon::cli {
namespace {

constexpr Duration kRateOver = 30'000;
constexpr Duration kLineEvery = 10'000;      // where nobody sees a bar
constexpr std::uint64_t kMostFailures = 20;  // shown by name
constexpr int kWidestBar = 30;               // columns
constexpr int kNarrowestBar = 5;
constexpr int kUsualWidth = 80;

std::string bar_of(const ProgressCounts& counts, int width) {
  const auto total = std::max<std::uint64_t>(1, counts.total());
  const auto full =
      static_cast<std::size_t>(counts.ended * static_cast<std::uint64_t>(width) / total);
  return "[" + std::string(full, '#') + std::string(static_cast<std::size_t>(width) - full, '.') +
         "] ";
}

std::string rate_text(double rate) {
  return rate >= 10 ? fmt::format("{:.0f}/s", rate) : fmt::format("{:.2g}/s", rate);
}

}  // namespace

void EndRate::look(Time now, std::uint64_t ended) {
  seen_.emplace_back(now, ended);
  while (seen_.size() > 2 && now - seen_[1].first >= kRateOver) seen_.pop_front();
}

std::optional<double> EndRate::per_second() const {
  if (seen_.size() < 2) return std::nullopt;
  const auto length = seen_.back().first - seen_.front().first;
  const auto ended = seen_.back().second - seen_.front().second;
  if (length <= 0 || ended == 0) return std::nullopt;
  return static_cast<double>(ended) * 1000 / static_cast<double>(length);
}

std::string progress_line(const ProgressCounts& counts, std::optional<double> rate, int width) {
  const std::uint64_t total = counts.total();
  if (total == 0) return "nothing runs or waits";
  const std::uint64_t percent = counts.ended * 100 / total;
  std::string text = fmt::format("{:>3}%  {} of {} ended", percent, counts.ended, total);
  const auto add = [&text](std::uint64_t n, const char* what) {
    if (n > 0) text += fmt::format(", {} {}", n, what);
  };
  add(counts.running, "running");
  add(counts.waiting, "waiting");
  add(counts.failed, "failed");
  const std::uint64_t left = counts.running + counts.waiting;
  if (rate && left > 0)
    text +=
        fmt::format("; {}, {} left", rate_text(*rate),
                    show_duration(static_cast<Duration>(static_cast<double>(left) / *rate * 1000)));
  if (width == 0) return text.substr(text.find_first_not_of(' '));
  const int room = width - static_cast<int>(text.size()) - 4;
  if (room >= kNarrowestBar) return bar_of(counts, std::min(room, kWidestBar)) + text;
  return text.substr(0, static_cast<std::size_t>(std::max(0, width - 1)));
}

std::string simulation_line(std::size_t done, std::size_t total, int width) {
  const std::size_t full = kWidestBar, all = std::max<std::size_t>(total, 1);
  const std::string bar(std::min(full * done / all, full), '#');
  const std::string text = fmt::format("{} of {} jobs", done, total);
  const std::string whole = fmt::format("[{:<{}}] {}", bar, full, text);
  const auto room = static_cast<std::size_t>(std::max(0, width - 1));
  return whole.size() <= room ? whole : text.substr(0, room);
}

int width_now(const Io& io, int window) {
  winsize size{};
  // $COLUMNS, if set, is a person's wish, and io.width has it.
  const bool asks = window >= 0 && std::getenv("COLUMNS") == nullptr;
  if (asks && ioctl(window, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return io.width > 0 ? io.width : kUsualWidth;
}

void ProgressLine::show(const ProgressCounts& counts, Time now) {
  if (is_json_) {
    if (told_ != counts) to_ << counts_line(counts, false) << std::flush;
    told_ = counts;
    return;
  }
  rate_.look(now, counts.ended);
  if (on_terminal_) {
    to_ << kEraseDrawn << progress_line(counts, rate_.per_second(), width_now(io_, window_)) << "\r"
        << std::flush;
    is_drawn_ = true;
    return;
  }
  if (told_ == counts || (told_ && now - told_at_ < kLineEvery)) return;
  to_ << progress_line(counts, rate_.per_second(), 0) << "\n" << std::flush;
  told_ = counts;
  told_at_ = now;
}

void ProgressLine::clear() {
  if (std::exchange(is_drawn_, false)) to_ << kEraseDrawn << std::flush;
}

bool ProgressLine::names_failures() const {
  return !is_json_ && failures_ < kMostFailures;
}

void ProgressLine::failed(const FailedJob& job) {
  if (is_json_) {
    to_ << trouble_line(job.id, job.why) << std::flush;
    return;
  }
  if (++failures_ > kMostFailures + 1) return;
  clear();
  const std::string label = job.label.empty() ? std::to_string(job.id) : job.label;
  const std::string text = failures_ <= kMostFailures
                               ? printable(fmt::format("job {}: {}", label, job.why))
                               : std::string(
                                     "further failures are not named: holon jobs --filter "
                                     "failed,timeout,canceled lists them");
  to_ << paint(io_, Colour::red, text) << "\n" << std::flush;
}

void ProgressLine::end(const ProgressCounts& counts, Time now) {
  clear();
  if (is_json_) {
    to_ << counts_line(counts, true) << std::flush;
    return;
  }
  if (told_ == counts) return;
  rate_.look(now, counts.ended);
  to_ << progress_line(counts, rate_.per_second(), 0) << "\n" << std::flush;
}

}  // namespace holon::cli
