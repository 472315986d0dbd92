#include "launch/tasks/rlimits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

namespace holon::launch {
namespace {

constexpr auto kLimitNames = std::to_array<std::pair<std::string_view, int>>({
    {"as", RLIMIT_AS},
    {"core", RLIMIT_CORE},
    {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},
    {"fsize", RLIMIT_FSIZE},
    {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK},
    {"msgqueue", RLIMIT_MSGQUEUE},
    {"nice", RLIMIT_NICE},
    {"nofile", RLIMIT_NOFILE},
    {"nproc", RLIMIT_NPROC},
    {"rss", RLIMIT_RSS},
    {"rtprio", RLIMIT_RTPRIO},
    {"rttime", RLIMIT_RTTIME},
    {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK},
});

tl::unexpected<Error> unknown_limit(std::string_view name) {
  std::string known;
  for (const auto& [word, resource] : kLimitNames)
    known += (known.empty() ? "" : ", ") + std::string(word);
  return fail(Errc::invalid_argument,
              "'" + std::string(name) + "' is no limit of a process; there are " + known);
}

// The unit behind the number, as a factor; 0: it is no unit.
std::int64_t factor_of(std::string_view unit) {
  if (unit.empty()) return 1;
  if (unit.size() > 1) return 0;
  const auto at = std::string_view("KMGT").find(unit.front());
  return at == std::string_view::npos ? 0 : std::int64_t{1} << (10 * (at + 1));
}

}  // namespace

Result<ProcessLimit> process_limit(std::string_view name, std::int64_t value) {
  const auto* const known = std::find_if(kLimitNames.begin(), kLimitNames.end(),
                                         [name](const auto& limit) { return limit.first == name; });
  if (known == kLimitNames.end()) return unknown_limit(name);
  if (value < kUnlimited)
    return fail(Errc::invalid_argument, "a limit is not negative; -1 is none");
  return ProcessLimit{known->second,
                      value == kUnlimited ? RLIM_INFINITY : static_cast<std::uint64_t>(value)};
}

Result<NamedLimit> parse_process_limit(std::string_view text) {
  const auto equals = text.find('=');
  const auto wrong = [text] {
    return fail(Errc::invalid_argument, "'" + std::string(text) +
                                            "' is not accepted; NAME=NUMBER, NAME=2G and "
                                            "NAME=unlimited are");
  };
  if (equals == std::string_view::npos) return wrong();
  NamedLimit limit{std::string(text.substr(0, equals)), kUnlimited};
  const auto word = text.substr(equals + 1);
  if (word != "unlimited") {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const auto rest = word.substr(static_cast<std::size_t>(end - word.data()));
    const std::int64_t factor = factor_of(rest);
    if (error != std::errc() || number < 0 || factor == 0 ||
        __builtin_mul_overflow(number, factor, &limit.value))
      return wrong();
  }
  if (auto known = process_limit(limit.name, limit.value); !known)
    return tl::unexpected(known.error());
  return limit;
}

int apply_process_limit(const ProcessLimit& limit) {
  rlimit now{};
  const auto which = static_cast<__rlimit_resource>(limit.resource);
  if (getrlimit(which, &now) != 0) return errno;
  now.rlim_cur = limit.value;
  if (now.rlim_max < now.rlim_cur) now.rlim_max = now.rlim_cur;
  return setrlimit(which, &now) == 0 ? 0 : errno;
}

std::string_view name_of_limit(int resource) {
  for (const auto& [name, number] : kLimitNames)
    if (number == resource) return name;
  return "?";
}

}  // namespace holon::launch
