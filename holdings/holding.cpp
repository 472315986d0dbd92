#include "holdings/holding.hpp"

namespace holon::holdings {

const char* name_of(Source source) {
  switch (source) {
    case Source::owned:
      return "owned";
    case Source::extra:
      return "extra";
    case Source::returned:
      return "returned";
    case Source::spare:
      return "spare";
  }
  return "";
}

const char* name_of(State state) {
  switch (state) {
    case State::offered:
      return "offered";
    case State::held:
      return "held";
    case State::asked_back:
      return "asked back";
    case State::draining:
      return "draining";
    case State::returned:
      return "returned";
    case State::lost:
      return "lost";
  }
  return "";
}

Units all_of(const Units& a, const Units& b) {
  Units all = a;
  for (const Units::Range& range : b.ranges()) all.insert(range.first, range.last);
  return all;
}

bool has_all(const Units& outer, const Units& inner) {
  return without(inner, outer).empty();
}

bool have_none_in_common(const Units& a, const Units& b) {
  return common(a, b).empty();
}

}  // namespace holon::holdings
