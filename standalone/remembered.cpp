#include "standalone/remembered.hpp"

#include <algorithm>
#include <utility>

namespace holon::standalone {
namespace {

constexpr std::size_t kBytesOfEntry = 200;  // about what one costs beside its texts

}  // namespace

RememberedAnswers::RememberedAnswers(Limits limits, std::function<Time()> clock)
    : limits_(limits), clock_(std::move(clock)) {}

GetentAnswer RememberedAnswers::ask(const Sources& sources, const std::string& database,
                                    const std::string& key) {
  const std::string question = database + " " + key;
  const auto known = kept_.find(question);
  if (known != kept_.end() && clock_() < known->second.end) return known->second.answer;
  if (known != kept_.end()) drop(known);
  auto answer = ask_getent(sources, database, key);
  keep(question, answer);
  return answer;
}

void RememberedAnswers::drop(std::map<std::string, Kept>::iterator which) {
  bytes_ -= which->second.bytes;
  kept_.erase(which);
}

// Those whose terms end first make room. Looking through all of them costs little beside the
// process that the answer has cost.
void RememberedAnswers::keep(const std::string& question, const GetentAnswer& answer) {
  const bool is_found = answer && *answer;
  const std::size_t text = is_found ? (*answer)->size() : 0;
  const std::size_t bytes = kBytesOfEntry + question.size() + text;
  if (bytes > limits_.bytes) return;
  while (bytes_ + bytes > limits_.bytes)
    drop(std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
      return a.second.end < b.second.end;
    }));
  const Duration term = is_found ? limits_.found : limits_.none;
  kept_.insert_or_assign(question, Kept{answer, saturating_add(clock_(), term), bytes});
  bytes_ += bytes;
}

}  // namespace holon::standalone
