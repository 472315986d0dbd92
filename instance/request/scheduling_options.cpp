#include "instance/request/scheduling_options.hpp"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace holon::instance {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostMemory = std::int64_t{1} << 45;  // for each of the most tasks possible

tl::unexpected<Error> misfit_wish(const std::string& key, const char* accepted) {
  return fail(Errc::invalid_argument, fmt::format("does not fit; {} is accepted", accepted),
              "/attributes/system/" + key);
}

Status take_text(const json& value, const std::string& key, std::string& target) {
  if (!value.is_string()) return misfit_wish(key, "a string");
  target = value.get<std::string>();
  return {};
}

Status take_bool(const json& value, const std::string& key, bool& target) {
  if (!value.is_boolean()) return misfit_wish(key, "true or false");
  target = value.get<bool>();
  return {};
}

Status take_licenses(const json& value, const std::string& key, bool per_slot,
                     SchedulingOptions& wishes) {
  if (!value.is_object()) return misfit_wish(key, "an object like {\"NAME\": 2}");
  for (const auto& [name, amount] : value.items()) {
    if (!amount.is_number_unsigned() || amount > json(INT64_MAX))
      return misfit_wish(key + "/" + name, "a number of units");
    wishes.consumes.push_back(
        {.pool = name, .amount = amount.get<std::int64_t>(), .per_slot = per_slot});
  }
  return {};
}

Status take_slots(const json& value, const std::string& key, SchedulingOptions& wishes) {
  if (!value.is_string()) return misfit_wish(key, "a string like \"4-16\"");
  auto slots = read_slots(value.get<std::string>());
  if (!slots) return fail(slots.error().code, slots.error().what, "/attributes/system/" + key);
  wishes.slots = std::move(*slots);
  return {};
}

Status take_requeue(const json& value, const std::string& key, SchedulingOptions& wishes) {
  if (!value.is_number_unsigned() || value > json(kMostRetries))
    return misfit_wish(key, "a number of times, at most 1000,");
  wishes.requeue = value.get<std::uint32_t>();
  return {};
}

Status take_retry_on(const json& value, const std::string& key, SchedulingOptions& wishes) {
  if (!value.is_string()) return misfit_wish(key, "a string like \"1-3,75\"");
  auto codes = read_exit_codes(value.get<std::string>());
  if (!codes) return fail(codes.error().code, codes.error().what, "/attributes/system/" + key);
  wishes.retry_on = std::move(*codes);
  return {};
}

Status take_entries(const json& value, const std::string& key, std::vector<std::string>& entries) {
  if (!value.is_array()) return misfit_wish(key, "a list of strings");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = key + "/" + std::to_string(i);
    if (auto taken = take_text(value[i], where, entries.emplace_back()); !taken) return taken;
    if (entries.back().find('\0') != std::string::npos)
      return misfit_wish(where, "a string without a zero byte");
  }
  return {};
}

Status take_indices(const json& value, const std::string& key, Indices& indices) {
  if (!value.is_string()) return misfit_wish(key, "a string like \"1-3,75\"");
  const auto read = Idset::parse(value.get<std::string>());
  if (!read || read->empty() || read->last() > static_cast<std::uint64_t>(kMostIndex))
    return misfit_wish(key, "a list of indices, 0 to 1000000000, like \"1-3,75\",");
  indices = *read;
  return {};
}

Status take_array_number(const json& value, const std::string& where, const std::string& name,
                         Array& array) {
  const bool may_be_0 = name == "first" || name == "max_fails";
  if (!value.is_number_unsigned() || value > json(kMostIndex) || (!may_be_0 && value == json(0)))
    return misfit_wish(where, may_be_0 ? "0 to 1000000000" : "1 to 1000000000");
  if (name == "first") array.first = value.get<std::int64_t>();
  if (name == "step") array.step = value.get<std::int64_t>();
  if (name == "max_running") array.max_running = value.get<std::uint64_t>();
  if (name == "max_fails") array.max_fails = value.get<std::uint64_t>();
  return {};
}

Status take_array(const json& value, const std::string& key, SchedulingOptions& wishes) {
  if (!value.is_object()) return misfit_wish(key, "an object like {\"first\": 1, \"step\": 1}");
  Array& array = wishes.array.emplace();
  for (const auto& [name, part] : value.items()) {
    const std::string where = key + "/" + name;
    const bool is_number =
        name == "first" || name == "step" || name == "max_running" || name == "max_fails";
    if (!is_number && name != "entries" && name != "indices" && name != "open")
      return misfit_wish(
          where, "one of the keys first, step, indices, entries, max_running, max_fails and open");
    const Status taken = is_number           ? take_array_number(part, where, name, array)
                         : name == "open"    ? take_bool(part, where, array.open)
                         : name == "entries" ? take_entries(part, where, array.entries)
                                             : take_indices(part, where, array.indices);
    if (!taken) return taken;
  }
  if (!array.indices.empty() && (value.contains("first") || value.contains("step")))
    return misfit_wish(key + "/indices", "either this or first and step");
  return {};
}

Status take_grant(const json& value, const std::string& key, SchedulingOptions& wishes) {
  const auto has_number = [&](const char* name) {
    return value.is_object() && value.contains(name) && value[name].is_number_unsigned();
  };
  const bool by_itself = value.is_object() && value.contains("by_itself");
  const bool has_epoch = has_number("epoch");
  const std::size_t members = 2U + (by_itself ? 1U : 0U) + (has_epoch ? 1U : 0U);
  if (!has_number("child") || !has_number("ask") || value.size() != members)
    return misfit_wish(key, "an object like {\"child\": 3, \"ask\": 1}");
  wishes.grant_to = JobId(value["child"].get<std::uint64_t>());
  wishes.ask = value["ask"].get<std::uint64_t>();
  if (has_epoch) wishes.child_epoch = value["epoch"].get<std::uint64_t>();
  if (by_itself) return take_bool(value["by_itself"], key + "/by_itself", wishes.by_itself);
  return {};
}

Status take(const std::string& name, const json& value, SchedulingOptions& wishes) {
  const std::string key = "holon/" + name;
  if (name == "group") return take_text(value, key, wishes.group);
  if (name == "qos") return take_text(value, key, wishes.qos);
  if (name == "licenses") return take_licenses(value, key, false, wishes);
  if (name == "licenses_per_slot") return take_licenses(value, key, true, wishes);
  if (name == "environment") return take_text(value, key, wishes.environment);
  if (name == "slots") return take_slots(value, key, wishes);
  if (name == "array") return take_array(value, key, wishes);
  if (name == "grant") return take_grant(value, key, wishes);
  if (name == "lend") return take_bool(value, key, wishes.lends);
  if (name == "reservation") {
    if (!value.is_number_unsigned()) return misfit_wish(key, "the number of a reservation");
    wishes.reservation = JobId(value.get<std::uint64_t>());
    return {};
  }
  if (name == "reserve") return take_bool(value, key, wishes.reserve);
  if (name == "requeue") return take_requeue(value, key, wishes);
  if (name == "retry_on") return take_retry_on(value, key, wishes);
  if (name == "immediate") return take_bool(value, key, wishes.immediate);
  if (name == "own") return take_bool(value, key, wishes.own);
  if (name == "goes_on") return take_bool(value, key, wishes.goes_on);
  if (name == "preemptible") return take_bool(value, key, wishes.preemptible);
  if (name == "memory") {
    if (!value.is_number_unsigned() || value < json(1) || value > json(kMostMemory))
      return misfit_wish(key, "a number of bytes");
    wishes.memory = value.get<std::int64_t>();
    return {};
  }
  if (name == "checkpoint_signal") {
    if (!value.is_number_unsigned() || value < json(1) || value > json(SIGRTMAX))
      return misfit_wish(key, "the number of a signal");
    wishes.checkpoint_signal = value.get<int>();
    return {};
  }
  return fail(
      Errc::invalid_argument,
      "unknown key; accepted are group, qos, licenses, licenses_per_slot, slots, "
      "environment, reservation, "
      "reserve, immediate, requeue, retry_on, own, goes_on, preemptible, checkpoint_signal, "
      "memory and array",
      "/attributes/system/" + key);
}

}  // namespace

std::int64_t Array::index_at(std::uint64_t place) const {
  if (indices.empty()) return first + static_cast<std::int64_t>(place) * step;
  const auto index = indices.at(place);
  return index ? static_cast<std::int64_t>(*index) : -1;
}

std::uint64_t Array::run_at(std::uint64_t place) const {
  if (!indices.empty()) return std::max<std::uint64_t>(1, indices.run_at(place));
  return step == 1 ? UINT64_MAX / 2 : 1;
}

std::optional<std::uint64_t> Array::place_of(std::uint64_t index) const {
  if (!indices.empty()) return indices.place_of(index);
  const auto from = static_cast<std::uint64_t>(first), by = static_cast<std::uint64_t>(step);
  if (index < from || (index - from) % by != 0) return std::nullopt;
  return (index - from) / by;
}

namespace {

// Is one of the text's numbers larger than a count may be?
bool has_too_large_number(std::string_view text) {
  constexpr std::string_view kDecimal = "0123456789";
  if (text.find_first_not_of("0123456789-,:[]") != std::string_view::npos) return false;
  for (std::size_t at = text.find_first_of(kDecimal); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_not_of(kDecimal, at), text.size());
    std::int64_t n = 0;
    const auto error = std::from_chars(text.data() + at, text.data() + end, n).ec;
    if (error != std::errc{} || n > resource::kMaxCount) return true;
    at = text.find_first_of(kDecimal, end);
  }
  return false;
}

}  // namespace

Result<resource::Count> read_slots(const std::string& word, std::string_view unit) {
  // "-3" begins at 1, as in Grid Engine.
  const std::string text = word.size() > 1 && word.front() == '-' ? "1" + word : word;
  const auto number = [](std::string_view digits) -> std::optional<std::int64_t> {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    const bool whole = error == std::errc{} && end == digits.data() + digits.size();
    return whole && n >= 1 && n <= resource::kMaxCount ? std::optional(n) : std::nullopt;
  };
  const auto dash = text.find('-');
  const bool list = text.find_first_of(",:[") != std::string::npos;
  if (dash != std::string::npos && !list) {
    const auto least = number(text.substr(0, dash));
    const bool open = dash + 1 == text.size();
    const auto most =
        open ? std::optional(resource::Count::kUnbounded) : number(text.substr(dash + 1));
    if (least && most && *least <= *most) return resource::Count{*least, *most, '+', 1, {}};
  } else if (auto count = resource::parse_count(text)) {
    return count;
  }
  if (has_too_large_number(word))
    return fail(Errc::invalid_argument, fmt::format("'{}' is too large; at most {} {} are accepted",
                                                    word, resource::kMaxCount, unit));
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is no number of {}; accepted are 4, 4-16, 4-, -16 and ascending "
                          "lists like 2,4,8 and 1-3,5-6",
                          word, unit));
}

Result<Idset> read_exit_codes(const std::string& word) {
  constexpr std::uint64_t kMostCode = 255;
  if (word == "any") {
    Idset all;
    all.insert(1, kMostCode);
    return all;
  }
  auto codes = Idset::parse(word);
  if (codes && !codes->empty() && codes->first() > 0 && codes->last() <= kMostCode) return codes;
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is no list of exit codes, 1 to 255; accepted are 75, ascending "
                          "lists like 1-3,75 and any",
                          word));
}

Result<SchedulingOptions> read_wishes(const json& system) {
  SchedulingOptions wishes;
  if (const auto bank = system.find("bank"); bank != system.end())
    if (auto taken = take_text(*bank, "bank", wishes.account); !taken)
      return tl::unexpected(taken.error());
  const auto ours = system.find("holon");
  if (ours == system.end()) return wishes;
  if (!ours->is_object()) return misfit_wish("holon", "an object");
  for (const auto& [name, value] : ours->items())
    if (auto taken = take(name, value, wishes); !taken) return tl::unexpected(taken.error());
  if (!wishes.retry_on.empty() && wishes.requeue == 0)
    return fail(Errc::invalid_argument,
                "exit codes to try again at need the number of times, requeue",
                "/attributes/system/holon/retry_on");
  return wishes;
}

}  // namespace holon::instance
