#include "qmanager/site/qos.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/core.h>

namespace holon::qmanager {

namespace {

constexpr std::array<std::pair<std::string_view, bool QosConfig::*>, 13> kFlags = {{
    {"RESERVEALWAYS", &QosConfig::reserve_always},
    {"NORESERVATION", &QosConfig::no_reservation},
    {"NOBF", &QosConfig::no_backfill},
    {"NTR", &QosConfig::next_to_run},
    {"IGNUSER", &QosConfig::ignore_user},
    {"IGNGROUP", &QosConfig::ignore_group},
    {"IGNACCOUNT", &QosConfig::ignore_account},
    {"IGNCLASS", &QosConfig::ignore_queue},
    {"IGNMAXJOB", &QosConfig::ignore_jobs},
    {"IGNMAXPROC", &QosConfig::ignore_procs},
    {"IGNMAXPS", &QosConfig::ignore_proc_ticks},
    {"USERESERVED", &QosConfig::use_reserved},
    {"DEDICATED", &QosConfig::dedicated},
}};

bool is_of_preemption(std::string_view word) {
  constexpr std::string_view kWords[] = {"PREEMPTOR", "PREEMPTEE", "PREEMPT", "RESTARTPREEMPT"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

std::string accepted() {
  std::string all = "IGNALL";
  for (const auto& [name, flag] : kFlags) all += fmt::format(", {}", name);
  return all;
}

}  // namespace

Status QosConfig::set_flags(std::string_view text) {
  QosConfig next = *this;
  constexpr std::string_view kBetween = ":, ";
  for (std::size_t at = text.find_first_not_of(kBetween); at != std::string_view::npos;
       at = text.find_first_not_of(kBetween, at)) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    std::string word(text.substr(at, end - at));
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    at = end;
    if (word == "IGNALL") {
      next.ignore_user = next.ignore_group = next.ignore_account = true;
      continue;
    }
    const auto flag = std::find_if(kFlags.begin(), kFlags.end(),
                                   [&](const auto& known) { return known.first == word; });
    if (flag == kFlags.end() && is_of_preemption(word))
      return fail(Errc::invalid_argument,
                  fmt::format("\"{}\" is a flag of preemption, and no job is ever stopped here to "
                              "make room for another; accepted: {}",
                              word, accepted()),
                  "flags");
    if (flag == kFlags.end())
      return fail(Errc::invalid_argument,
                  fmt::format("\"{}\" is no flag of a QOS; accepted: {}", word, accepted()),
                  "flags");
    next.*(flag->second) = true;
  }
  *this = next;
  return {};
}

bool ReservationBucket::lists(const std::string& name) const {
  return qos.empty() || std::find(qos.begin(), qos.end(), name) != qos.end();
}

}  // namespace holon::qmanager
