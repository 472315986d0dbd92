// variants.cpp - xor_slots spelled out: Fluxion's order, so that the same variant is tried first.
#include "resource/match/request.hpp"

namespace holon::resource::match {
namespace {

using Needs = std::vector<Need>;

tl::unexpected<Error> too_many() {
  return fail(Errc::invalid_argument,
              "its xor_slots come to more than " + std::to_string(kMaxVariants) + " variants",
              "/resources");
}

Need with_contents(const Need& need, Needs contents) {
  Need made = need;
  made.with = std::move(contents);
  return made;
}

// Every list with each of `more` appended.
std::vector<Needs> each_with_each(const std::vector<Needs>& lists, const std::vector<Need>& more) {
  std::vector<Needs> made;
  made.reserve(lists.size() * more.size());
  for (const Needs& list : lists)
    for (const Need& need : more) {
      made.push_back(list);
      made.back().push_back(need);
    }
  return made;
}

}  // namespace

Result<std::vector<Needs>> expand_xor_slots(const Needs& needs) {
  std::vector<Needs> lists(1);
  std::vector<Need> choices;  // of the xor_slots of this level: exactly one is taken
  for (const Need& need : needs) {
    auto contents = expand_xor_slots(need.with);
    if (!contents) return contents;
    std::vector<Need> made;
    for (Needs& one : *contents) made.push_back(with_contents(need, std::move(one)));
    if (need.type != kXorSlot) {
      if (lists.size() * made.size() > kMaxVariants) return too_many();
      lists = each_with_each(lists, made);
      continue;
    }
    for (Need& choice : made) {
      choice.type = kSlot;
      choices.push_back(std::move(choice));
    }
    if (choices.size() > kMaxVariants) return too_many();
  }
  if (choices.empty()) return lists;
  if (lists.size() * choices.size() > kMaxVariants) return too_many();
  return each_with_each(lists, choices);
}

}  // namespace holon::resource::match
