#include "cli/options/dependencies.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "base/idset.hpp"

namespace holon::cli {
namespace {

const std::set<std::string>& schemes_of_jobs() {
  static const std::set<std::string> kSchemes = {"after",   "afterstart", "afterany",
                                                 "afterok", "afternotok", "aftercorr"};
  return kSchemes;
}

// Splits "afterok:3:5" into afterok:3 and afterok:5; any other item stays one element.
void add_item(const std::string& item, std::vector<std::string>& into) {
  const auto colon = item.find(':');
  const std::string scheme = item.substr(0, colon);
  if (colon == std::string::npos || !schemes_of_jobs().contains(scheme)) {
    into.push_back(item);
    return;
  }
  std::size_t begin = colon + 1;
  while (begin <= item.size()) {
    const std::size_t end = std::min(item.find(':', begin), item.size());
    into.push_back(scheme + ":" + item.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

std::function<Status(const std::string&)> dependencies_reader(std::vector<std::string>& into) {
  return [&into](const std::string& word) -> Status {
    if (word.find('?') != std::string::npos) {
      into.push_back(word);  // refused as it was typed
      return {};
    }
    std::size_t begin = 0;
    while (begin <= word.size()) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      const std::string item = word.substr(begin, end - begin);
      if (item.empty())
        return fail(Errc::invalid_argument,
                    fmt::format("'{}' has an empty element; accepted are dependencies with one "
                                "comma between them: afterok:3,afterany:7",
                                word));
      // "afterok:7.3,5-9" are tasks of one array.
      const bool goes_on = begin > 0 && !into.back().starts_with("begin-time") &&
                           into.back().find('.') != std::string::npos && !item.empty() &&
                           item.find_first_not_of("0123456789-") == std::string::npos;
      if (goes_on)
        into.back() += "," + item;
      else
        add_item(item, into);
      begin = end + 1;
    }
    return {};
  };
}

Status check_dependency(const std::string& word) {
  const auto colon = word.find(':');
  const std::string scheme = word.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : word.substr(colon + 1);
  const auto wrong = [&word](const std::string& what) {
    return fail(Errc::invalid_argument, what, "--dependency " + word);
  };
  if (scheme == "singleton")
    return value.empty() ? Status() : wrong("singleton takes no job: it is about all of this name");
  if (scheme == "begin-time") {
    double seconds = -1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    const bool is_number = error == std::errc{} && end == value.data() + value.size();
    if (is_number && seconds >= 0 && seconds < 1e12) return {};
    return wrong(
        fmt::format("'{}' is no number of seconds since the epoch; --begin-time takes +30m "
                    "and 18:30",
                    value));
  }
  if (!schemes_of_jobs().contains(scheme))
    return wrong(
        fmt::format("'{}' is none of after, afterany, afterok, afternotok, aftercorr, "
                    "singleton and begin-time",
                    scheme));
  const auto dot = std::min(value.find('.'), value.size());
  const bool is_id = dot > 0 && dot < 20 && value.find_first_not_of("0123456789") >= dot;
  const auto indices = Idset::parse(dot < value.size() ? value.substr(dot + 1) : "0");
  if (is_id && dot < value.size() && scheme == "aftercorr")
    return wrong("aftercorr takes an array, whose tasks are waited for one by one");
  if (is_id && indices && !indices->empty()) return {};
  if (value.find('?') != std::string::npos)
    return wrong("'?' (any of them) is not offered; ':' and ',' ask for all");
  return wrong(fmt::format("'{}' is no job id; {}:7 names a job, {}:7.3-9 tasks of an array", value,
                           scheme, scheme));
}

}  // namespace holon::cli
