#include "cli/show/grant_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/show/units.hpp"
#include "holdings/messages.hpp"

namespace holon::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string until(const Json& terms, Time now) {
  return terms.contains("until")
             ? fmt::format(" until {}", show_time(terms["until"].get<Time>(), now))
             : "";
}

std::string because(const Json& terms) {
  const auto why = terms.value("why", std::string());
  return why.empty() ? "" : ": " + why;
}

std::string units(const Json& terms) {
  return terms.value("units", std::string());
}

std::string answer_text(const Json& answer, Time now) {
  const Json& what = answer.at("what");
  if (answer.value("is", std::string()) == "stale") return "what it gave back came too early";
  if (answer.value("is", std::string()) != "promise") return "no" + because(what);
  return what.contains("at") ? "planned for " + show_time(what["at"].get<Time>(), now)
                             : "later, it is not known when";
}

class EventText {
 public:
  EventText(const std::string& path, const Json& what, Time now)
      : path_(path), what_(what), now_(now) {}

  // "": it is no such event.
  std::string of_parent(std::string_view name) const {
    if (name == "began") return fmt::format("{} began with {}", child(), units(what_));
    if (name == "offered" && is_return())
      return fmt::format("gave {} {} back, which it had lent", child(), units(extend()));
    if (name == "offered")
      return fmt::format("offered {} {}{}", child(), units(extend()), until(extend(), now_));
    if (name == "settled")
      return fmt::format("{} {} it", child(), what_.value("taken", false) ? "took" : "refused");
    if (name == "answered")
      return fmt::format("answered {}: {}", child(), answer_text(what_.at("answer"), now_));
    if (name == "returned" && is_loan())
      return fmt::format("{} lent {}{}", child(), units(release()), back_at());
    if (name == "returned")
      return fmt::format("{} gave {} back", child(), units(what_.at("release")));
    if (name == "gone") return fmt::format("{} has left {}", child(), units(what_));
    if (name == "raised" && what_.contains("units"))
      return fmt::format("{} was fenced, and {} taken from it{}", child(), units(what_),
                         because(what_));
    if (name == "raised") return fmt::format("{} was fenced{}", child(), because(what_));
    if (name == "over") return fmt::format("{} is over", child());
    return "";
  }

  // Likewise, of what an instance says of itself.
  std::string of_itself(std::string_view name) const {
    if (name == "granted") return fmt::format("began with {}{}", units(what_), until(what_, now_));
    if (name == "asked") return "asked for more";
    if (name == "took" && is_return()) return fmt::format("{} are back", units(extend()));
    if (name == "took") return fmt::format("took {}{}", units(extend()), until(extend(), now_));
    if (name == "declined")
      return fmt::format("did not take {}{}", units(extend()), because(what_));
    if (name == "released" && is_loan())
      return fmt::format("lent {}{}", units(release()), back_at());
    if (name == "released") return fmt::format("gave {} back", units(what_.at("release")));
    if (name == "rolled-back") return "what it gave back stays";
    if (name == "acked") return "the instance above has it";
    if (name == "learned") return "it was fenced by the instance above";
    if (name == "placed") return fmt::format("a job has {}", units(what_));
    if (name == "vacated") return fmt::format("no job has {} any more", units(what_));
    if (name == "closing") return "takes nothing more";
    return "";
  }

  std::string of_both(std::string_view name) const {
    if (name == "recall") {
      const Json& recall = what_.at("recall");
      const bool kills = recall.value("mode", 0) >= static_cast<int>(holdings::RecallMode::kill);
      const std::string by =
          recall.contains("by") ? " by " + show_time(recall["by"].get<Time>(), now_) : "";
      const std::string of = peer().empty() ? "" : " from " + peer();
      return fmt::format("{} asked back{}{}{}{}", units(recall), of, by,
                         kills ? ", what runs there then is ended" : "", because(recall));
    }
    if (name == "reclaim") {
      const Json& reclaim = what_.at("reclaim");
      const std::string who = peer().empty() ? "wants" : peer() + " wants";
      return fmt::format("{} {} back before its time{}", who, units(reclaim), because(reclaim));
    }
    if (name == "drain")
      return peer().empty() ? fmt::format("places nothing more on {}", units(what_))
                            : fmt::format("{} places nothing more on {}", peer(), units(what_));
    if (name == "leased")
      return fmt::format("lease{}{}", peer().empty() ? "" : " of " + peer(),
                         until(what_.at("lease"), now_));
    return "";
  }

 private:
  const Json& extend() const { return what_.at("extend"); }
  const Json& release() const { return what_.at("release"); }
  bool is_return() const {
    return extend().value("source", 0) == static_cast<int>(holdings::Source::returned);
  }
  bool is_loan() const { return release().contains("back_at"); }
  std::string back_at() const {
    return " until " + show_time(release()["back_at"].get<Time>(), now_);
  }
  std::string child() const { return path_of_child(path_, what_.at("child").get<std::uint64_t>()); }
  // "": the instance above.
  std::string peer() const {
    const auto job = what_.at("peer").get<std::uint64_t>();
    return job == 0 ? "" : path_of_child(path_, job);
  }

  const std::string& path_;
  const Json& what_;
  Time now_;
};

}  // namespace

std::string path_of_child(const std::string& path, std::uint64_t job) {
  return fmt::format("{}/{}", path == "/" ? "" : path, job);
}

std::string text_of_grant_event(const std::string& path, std::string_view name, const Json& what,
                                Time now) {
  const EventText text(path, what, now);
  try {
    for (const auto& said : {text.of_parent(name), text.of_itself(name), text.of_both(name)})
      if (!said.empty()) return said;
  } catch (const Json::exception&) {  // of a later version
  }
  return fmt::format("{} {}", name, what.dump());
}

}  // namespace holon::cli
