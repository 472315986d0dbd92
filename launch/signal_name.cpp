#include "launch/signal_name.hpp"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace holon::launch {
namespace {

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int> number_of(std::string_view name) {
  if (const auto number = whole_number(name)) return number;
  for (int signal = 1; signal <= SIGRTMAX; ++signal)
    if (signal_name(signal) == name) return signal;
  return std::nullopt;
}

}  // namespace

Result<int> parse_signal(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (name.starts_with("SIG")) name.erase(0, 3);
  const auto number = number_of(name);
  if (number && *number >= 1 && *number <= SIGRTMAX) return *number;
  return fail(Errc::invalid_argument,
              "'" + std::string(text) +
                  "' is no signal; names (USR1, SIGUSR1, RTMIN+1) and numbers from 1 to " +
                  std::to_string(SIGRTMAX) + " are accepted");
}

std::string signal_name(int signal) {
  if (signal >= SIGRTMIN && signal <= SIGRTMAX)
    return signal == SIGRTMIN ? "RTMIN" : "RTMIN+" + std::to_string(signal - SIGRTMIN);
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? std::to_string(signal) : name;
}

}  // namespace holon::launch
