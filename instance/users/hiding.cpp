#include "instance/users/hiding.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "instance/manager/manager.hpp"

namespace holon::instance {

// A name at the beginning of a text, and what a viewer reads instead.
struct Hiding::Named {
  std::size_t length = 0;
  std::string shown;
};

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Digits at the beginning of the text; nullopt: there are none, or they are no job's number.
struct Number {
  std::uint64_t value = 0;
  std::size_t length = 0;
};
std::optional<Number> number_at(std::string_view text) {
  Number number;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number.value);
  number.length = static_cast<std::size_t>(read.ptr - text.data());
  return read.ec == std::errc() && number.length > 0 ? std::optional(number) : std::nullopt;
}

// The length of ".3" behind an array's number; 0: it is no task.
std::size_t index_at(std::string_view text) {
  if (!text.starts_with('.')) return 0;
  const auto index = number_at(text.substr(1));
  return index ? 1 + index->length : 0;
}

// Does the text begin with an interval, as "10:00 to 12:00" or "2026-11-26 10:00:00 to 12:00"?
bool is_interval_at(std::string_view text) {
  constexpr std::string_view kTime = "0123456789-: ", kTo = " to ";
  const std::size_t to = text.find(kTo);
  const std::size_t end = to == std::string_view::npos ? to : to + kTo.size();
  return to != std::string_view::npos && end < text.size() && is_digit(text.front()) &&
         text.substr(0, to).find_first_not_of(kTime) == std::string_view::npos &&
         is_digit(text[end]);
}

// The place behind the name in parentheses at the beginning of the text; 0: there is none. A name
// may be any text: it ends where the reservation's interval follows.
std::size_t end_of_name(std::string_view text) {
  constexpr std::string_view kEnd = ") from ";
  if (!text.starts_with(" (")) return 0;
  for (auto end = text.find(kEnd); end != std::string_view::npos; end = text.find(kEnd, end + 1))
    if (is_interval_at(text.substr(end + kEnd.size()))) return end + 1;
  return 0;
}

}  // namespace

Hiding Hiding::from(std::optional<std::string> viewer, const JobManager& jobs) {
  return {std::move(viewer), [&jobs](JobId job) { return jobs.user_of(job); },
          [&jobs](JobId reservation, const std::string& user) {
            return jobs.may_use_reservation(reservation, user);
          }};
}

std::optional<Hiding::Named> Hiding::job_at(std::string_view text) const {
  for (const std::string_view word : {"job ", "array "}) {
    if (!text.starts_with(word)) continue;
    const auto id = number_at(text.substr(word.size()));
    if (!id || !is_others(JobId(id->value))) return std::nullopt;
    return Named{word.size() + id->length + index_at(text.substr(word.size() + id->length)),
                 "another user's " + std::string(word.substr(0, word.size() - 1))};
  }
  return std::nullopt;
}

// "jobs 3, 4, 5 and 2 more"
std::optional<Hiding::Named> Hiding::jobs_at(std::string_view text) const {
  constexpr std::string_view kWord = "jobs ", kComma = ", ", kAnd = " and ", kMore = " more";
  if (!text.starts_with(kWord)) return std::nullopt;
  std::size_t at = kWord.size();
  std::uint64_t count = 0;
  bool has_others = false;
  for (auto id = number_at(text.substr(at)); id; id = number_at(text.substr(at))) {
    ++count;
    has_others = has_others || is_others(JobId(id->value));
    at += id->length;
    at += index_at(text.substr(at));
    const bool goes_on = text.substr(at).starts_with(kComma) && at + kComma.size() < text.size() &&
                         is_digit(text[at + kComma.size()]);
    if (!goes_on) break;
    at += kComma.size();
  }
  if (!has_others) return std::nullopt;
  if (text.substr(at).starts_with(kAnd))
    if (const auto more = number_at(text.substr(at + kAnd.size()));
        more && text.substr(at + kAnd.size() + more->length).starts_with(kMore)) {
      count += more->value;
      at += kAnd.size() + more->length + kMore.size();
    }
  return Named{at, fmt::format("{} jobs", count)};
}

std::optional<Hiding::Named> Hiding::reservation_at(std::string_view text) const {
  constexpr std::string_view kWord = "advance reservation ";
  if (!text.starts_with(kWord)) return std::nullopt;
  const auto id = number_at(text.substr(kWord.size()));
  if (!id || may_use_(JobId(id->value), *viewer_)) return std::nullopt;
  const std::size_t at = kWord.size() + id->length;
  return Named{at + end_of_name(text.substr(at)), "an advance reservation"};
}

std::string Hiding::reason(std::string_view text) const {
  if (hides_nothing()) return std::string(text);
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins_word = at == 0 || !is_letter(text[at - 1]);
    std::optional<Named> named;
    if (begins_word) {
      const std::string_view rest = text.substr(at);
      named = job_at(rest);
      if (!named) named = jobs_at(rest);
      // What does not exist is nobody's: "there is no advance reservation 3".
      if (!named && !shown.ends_with("no ")) named = reservation_at(rest);
    }
    shown += named ? named->shown : std::string(1, text[at]);
    at += named ? named->length : 1;
  }
  return shown;
}

void Hiding::record(msg::JobRecord& record) const {
  if (!hides_nothing() && !record.reason.empty()) record.reason = reason(record.reason);
}

void Hiding::event(Event& event) const {
  if (hides_nothing()) return;
  if (auto* const preempt = std::get_if<event::Preempt>(&event.body);
      preempt != nullptr && is_others(JobId(preempt->by)))
    preempt->by = 0;
  if (auto* const exception = std::get_if<event::Exception>(&event.body))
    exception->note = reason(exception->note);
  if (auto* const requeue = std::get_if<event::Requeue>(&event.body))
    requeue->note = reason(requeue->note);
}

}  // namespace holon::instance
