// The members of each type are listed once, in grant_members(); Writing and Reading walk over them.
#include "instance/grants/grant_codec.hpp"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

namespace holon::instance {
namespace {

namespace h = holdings;
namespace he = holdings::entry;
using nlohmann::json;

// In the order of the alternatives of holdings::Message.
constexpr std::array kMessageNames = {"demand",  "ask",    "hello",    "will",    "ready",
                                      "extend",  "taken",  "refused",  "release", "ack",
                                      "stale",   "recall", "lease",    "fenced",  "welcome",
                                      "promise", "no",     "withdraw", "reclaim"};
static_assert(kMessageNames.size() == std::variant_size_v<h::Message>);

// ---- what each has

template <class V>
void grant_members(V& v, h::Want& m) {
  v("shape", m.shape)("min", m.min)("max", m.max)("starts", m.starts)("gain", m.gain);
  v.time("until", m.until);
}
template <class V>
void grant_members(V& v, h::Idle& m) {
  v("units", m.units).time("until", m.until);
}
template <class V>
void grant_members(V& v, h::Demand& m) {
  v("op", m.op)("wants", m.wants)("idle", m.idle)("share", m.share)("pending", m.pending);
  v.time("ends_at", m.ends_at);
}
template <class V>
void grant_members(V& v, h::Ask& m) {
  v("op", m.op)("jobspec", m.jobspec)("min", m.min)("max", m.max);
  v.time("until", m.until).time("by", m.by);
}
template <class V>
void grant_members(V& v, h::Hello& m) {
  v("epoch", m.epoch);
}
template <class V>
void grant_members(V& v, h::Due& m) {
  v("units", m.units).time("at", m.at);
}
template <class V>
void grant_members(V& v, h::Will& m) {
  v("op", m.op)("units", m.units);
}
template <class V>
void grant_members(V& v, h::Ready& m) {
  v("op", m.op)("failed", m.failed)("why", m.why);
}
template <class V>
void grant_members(V& v, h::Extend& m) {
  v("op", m.op)("from", m.from)("units", m.units)("source", m.source)("notice", m.notice);
  v("answers", m.answers)("replaces", m.replaces).time("until", m.until).if_any("fence", m.fence);
}
template <class V>
void grant_members(V& v, h::Taken& m) {
  v("op", m.op);
}
template <class V>
void grant_members(V& v, h::Refused& m) {
  v("op", m.op)("why", m.why);
}
template <class V>
void grant_members(V& v, h::Release& m) {
  v("op", m.op)("from", m.from)("units", m.units)("notice", m.notice).time("back_at", m.back_at);
}
template <class V>
void grant_members(V& v, h::Ack& m) {
  v("op", m.op);
}
template <class V>
void grant_members(V& v, h::Stale& m) {
  v("op", m.op);
}
template <class V>
void grant_members(V& v, h::Recall& m) {
  v("op", m.op)("units", m.units)("mode", m.mode)("why", m.why).time("by", m.by);
}
template <class V>
void grant_members(V& v, h::Lease& m) {
  v("op", m.op).time("until", m.until);
}
template <class V>
void grant_members(V& v, h::Fenced& m) {
  v("epoch", m.epoch)("why", m.why).if_any("keeps", m.keeps).if_any("lent", m.lent);
}
template <class V>
void grant_members(V& v, h::Welcome& m) {
  v("epoch", m.epoch);
}
template <class V>
void grant_members(V& v, h::Promise& m) {
  v("op", m.op).time("at", m.at);
}
template <class V>
void grant_members(V& v, h::No& m) {
  v("op", m.op)("why", m.why)("help", m.help).flag("never", m.never);
}

template <class V>
void grant_members(V& v, h::Withdraw& m) {
  v("op", m.op);
}

template <class V>
void grant_members(V& v, h::Reclaim& m) {
  v("op", m.op)("units", m.units)("mode", m.mode)("why", m.why).time("by", m.by);
}

template <class V>
void grant_members(V& v, he::Granted& e) {
  v("units", e.units).time("until", e.until);
}
template <class V>
void grant_members(V& v, he::Placed& e) {
  v("units", e.units);
}
template <class V>
void grant_members(V& v, he::Vacated& e) {
  v("units", e.units);
}
template <class V>
void grant_members(V&, he::Closing&) {}
template <class V>
void grant_members(V& v, he::Asked& e) {
  v("ask", e.ask);
}
template <class V>
void grant_members(V& v, he::Answered& e) {
  v("child", e.child)("op", e.op)("answer", e.answer);
}
template <class V>
void grant_members(V& v, he::Offered& e) {
  v("child", e.child)("extend", e.extend);
}
template <class V>
void grant_members(V& v, he::Took& e) {
  v("extend", e.extend);
}
template <class V>
void grant_members(V& v, he::Declined& e) {
  v("extend", e.extend)("why", e.why);
}
template <class V>
void grant_members(V& v, he::Settled& e) {
  v("child", e.child)("op", e.op)("taken", e.taken);
}
template <class V>
void grant_members(V& v, he::AskedBack& e) {
  v("peer", e.peer)("recall", e.recall);
}
template <class V>
void grant_members(V& v, he::Draining& e) {
  v("peer", e.peer)("units", e.units);
}
template <class V>
void grant_members(V& v, he::Released& e) {
  v("release", e.release);
}
template <class V>
void grant_members(V& v, he::RolledBack& e) {
  v("op", e.op);
}
template <class V>
void grant_members(V& v, he::Returned& e) {
  v("child", e.child)("release", e.release);
}
template <class V>
void grant_members(V& v, he::Acked& e) {
  v("op", e.op);
}
template <class V>
void grant_members(V& v, he::Raised& e) {
  v("child", e.child)("epoch", e.epoch)("why", e.why).if_any("units", e.units);
}
template <class V>
void grant_members(V& v, he::Learned& e) {
  v("epoch", e.epoch).if_any("keeps", e.keeps).if_any("lent", e.lent);
}
template <class V>
void grant_members(V& v, he::Gone& e) {
  v("child", e.child)("units", e.units);
}
template <class V>
void grant_members(V& v, he::Leased& e) {
  v("peer", e.peer)("lease", e.lease);
}
template <class V>
void grant_members(V& v, he::Reclaimed& e) {
  v("peer", e.peer)("reclaim", e.reclaim);
}
template <class V>
void grant_members(V& v, he::Began& e) {
  v("child", e.child)("units", e.units).time("until", e.until);
}
template <class V>
void grant_members(V& v, he::Over& e) {
  v("child", e.child);
}

template <class T>
concept ListOfParts = std::is_same_v<T, std::vector<h::Want>> ||
    std::is_same_v<T, std::vector<h::Idle>> || std::is_same_v<T, std::vector<h::Due>>;

// ---- writing

struct Writing {
  json& out;
  Time base;

  template <class T>
  json value_of(T& value) const {
    if constexpr (std::is_same_v<T, Idset>) {
      return value.str();
    } else if constexpr (std::is_same_v<T, JobId>) {
      return value.value();
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<int>(value);
    } else if constexpr (std::is_same_v<T, h::Message>) {
      return std::visit(
          [&](auto& one) {
            return json{{"is", kMessageNames[value.index()]}, {"what", value_of(one)}};
          },
          value);
    } else if constexpr (ListOfParts<T>) {
      json list = json::array();
      for (auto& one : value) list.push_back(value_of(one));
      return list;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      json object = json::object();
      Writing inner{object, base};
      grant_members(inner, value);
      return object;
    }
  }
  template <class T>
  Writing& operator()(const char* name, T& value) {
    out[name] = value_of(value);
    return *this;
  }
  Writing& flag(const char* name, bool& value) {
    if (value) out[name] = true;
    return *this;
  }
  template <class T>
  Writing& if_any(const char* name, T& value) {
    if (value != T{}) out[name] = value_of(value);
    return *this;
  }
  Writing& time(const char* name, Time& value) {
    if (value != kTimeMax) out[name] = value - base;
    return *this;
  }
};

// ---- reading

template <class Enum>
constexpr Enum kLastOf{};
template <>
constexpr h::Source kLastOf<h::Source> = h::Source::spare;
template <>
constexpr h::RecallMode kLastOf<h::RecallMode> = h::RecallMode::lost;

struct Reading {
  const json& in;
  Time base;

  template <class T>
  void read(const json& from, T& value) const {
    if constexpr (std::is_same_v<T, Idset>) {
      auto units = Idset::parse(from.get<std::string>());
      if (!units) throw json::other_error::create(501, units.error().what, nullptr);
      value = std::move(*units);
    } else if constexpr (std::is_same_v<T, JobId>) {
      value = JobId(from.get<std::uint64_t>());
    } else if constexpr (std::is_enum_v<T>) {
      const auto number = from.get<std::int64_t>();
      if (number < 0 || number > static_cast<std::int64_t>(kLastOf<T>))
        throw json::other_error::create(501, "unknown kind", nullptr);
      value = static_cast<T>(number);
    } else if constexpr (std::is_same_v<T, h::Message>) {
      read_alternative<0>(from, value);
    } else if constexpr (ListOfParts<T>) {
      for (const json& one : from) read(one, value.emplace_back());
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      value = from.get<T>();
    } else {
      Reading inner{from, base};
      grant_members(inner, value);
    }
  }
  template <std::size_t i>
  void read_alternative(const json& from, h::Message& value) const {
    if constexpr (i < std::variant_size_v<h::Message>) {
      if (from.at("is").get<std::string>() != kMessageNames[i])
        return read_alternative<i + 1>(from, value);
      read(from.at("what"), value.emplace<i>());
    } else {
      throw json::other_error::create(501, "unknown kind of message", nullptr);
    }
  }
  template <class T>
  Reading& operator()(const char* name, T& value) {
    read(in.at(name), value);
    return *this;
  }
  template <class T>
  Reading& if_any(const char* name, T& value) {
    value = T{};
    if (in.contains(name)) read(in.at(name), value);
    return *this;
  }
  Reading& flag(const char* name, bool& value) {
    value = in.contains(name) && in.at(name).get<bool>();
    return *this;
  }
  Reading& time(const char* name, Time& value) {
    value = in.contains(name) ? saturating_add(base, in.at(name).get<std::int64_t>()) : kTimeMax;
    return *this;
  }
};

template <std::size_t i = 0>
void read_entry(const Reading& reading, const std::string& name, h::Entry& entry) {
  if constexpr (i < std::variant_size_v<h::Entry>) {
    entry.emplace<i>();
    if (h::name_of(entry) != name) return read_entry<i + 1>(reading, name, entry);
    reading.read(reading.in.at("what"), std::get<i>(entry));
  } else {
    throw json::other_error::create(501, "unknown kind of entry", nullptr);
  }
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace

const char* name_of(const h::Message& message) {
  return kMessageNames[message.index()];
}

std::string text_of(const h::Message& message, Time base) {
  json nothing;
  h::Message copy = message;
  return dumped(Writing{nothing, base}.value_of(copy));
}

std::string text_of(const h::Entry& entry, Time base) {
  json nothing;
  h::Entry copy = entry;
  json what = std::visit([&](auto& e) { return Writing{nothing, base}.value_of(e); }, copy);
  return dumped({{"is", h::name_of(entry)}, {"what", std::move(what)}});
}

Result<h::Message> parse_message(std::string_view text, Time base) {
  try {
    const json document = json::parse(text);
    h::Message message;
    Reading{document, base}.read(document, message);
    return message;
  } catch (const json::exception& e) {
    return fail(Errc::protocol, fmt::format("message about a grant: {}", e.what()));
  }
}

Result<h::Entry> parse_entry(std::string_view text, Time base) {
  try {
    const json document = json::parse(text);
    h::Entry entry;
    read_entry(Reading{document, base}, document.at("is").get<std::string>(), entry);
    return entry;
  } catch (const json::exception& e) {
    return fail(Errc::protocol, fmt::format("entry about a grant: {}", e.what()), "journal");
  }
}

}  // namespace holon::instance
