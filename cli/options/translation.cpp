#include "cli/options/translation.hpp"

#include <algorithm>
#include <charconv>

#include "base/hostlist.hpp"

namespace holon::cli {

std::optional<std::int64_t> count_of(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || last != end || number < 1 || number > INT32_MAX) return std::nullopt;
  return number;
}

Text a_number(const std::string& text) {
  return count_of(text) ? Text(text) : std::nullopt;
}

const Equal* row_of(std::span<const Equal> rows, std::string_view name) {
  for (const Equal& row : rows)
    if (row.name == name || (!row.letter.empty() && row.letter == name)) return &row;
  const Equal* begun = nullptr;
  for (const Equal& row : rows) {
    if (name.size() < 3 || !row.name.starts_with(name)) continue;
    if (begun != nullptr) return nullptr;
    begun = &row;
  }
  return begun;
}

void Translation::read(const Parser::Layer& lines) {
  for (const auto& [place, words] : lines) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      const bool is_letter = word.size() > 1 && word[0] == '-' && word[1] != '-';
      const auto cut = is_letter ? std::min<std::size_t>(word.size(), 2) : word.find('=');
      const Equal* row = row_of(rows_, word.substr(0, cut));
      Given given{place, word, "", false};
      if (is_letter ? word.size() > 2 : cut != std::string::npos) {
        given.value = word.substr(is_letter ? 2 : cut + 1);
        given.has_value = true;
      } else {
        // The word after an option that no table has is its value, unless that word is an option.
        const bool follows =
            i + 1 < words.size() &&
            (row != nullptr ? row->takes == Takes::value : !words[i + 1].starts_with('-'));
        if (follows) {
          given.value = words[++i];
          given.has_value = true;
          given.typed += " " + given.value;
        }
      }
      add(row, std::move(given));
    }
  }
}

void Translation::add(const Equal* row, Given given) {
  if (row == nullptr || row->ours.empty()) {
    left_.emplace_back(row == nullptr ? "" : row->name, std::move(given));
    return;
  }
  const bool fits = given.has_value == (row->takes == Takes::value);
  const auto value = !fits                     ? std::nullopt
                     : row->convert == nullptr ? std::optional(given.value)
                                               : row->convert(given.value);
  const std::string ours(row->ours);
  if (!knows(ours)) lacking_.insert(ours);
  if (!value || !knows(ours)) return no_equal(given);
  if (row->takes != Takes::value && value->empty()) return use(given, {ours});
  used_[ours] = Given{given.place, given.typed, *value, true};
  use(given, ours.starts_with("--") ? std::vector{ours + "=" + *value} : std::vector{ours, *value});
}

std::optional<Translation::Given> Translation::take(std::string_view name) {
  std::optional<Given> last;
  for (const auto& [known, given] : left_)
    if (known == name) last = given;
  std::erase_if(left_, [name](const auto& item) { return item.first == name; });
  return last;
}

void Translation::take_where(std::string_view name, std::string_view value) {
  std::erase_if(left_,
                [&](const auto& item) { return item.first == name && item.second.value == value; });
}

void Translation::use(const Given& given, std::vector<std::string> ours) {
  if (!ours.empty()) done_.lines.push_back({given.place, std::move(ours)});
}

void Translation::no_equal(const Given& given, std::string_view why) {
  done_.no_equal.push_back(given.place + ": " + given.typed + ": " +
                           (around_.refuses ? "" : "ignored; ") +
                           (why.empty() ? "holon has no equal" : std::string(why)));
}

void Translation::set(std::string_view name, const std::string& value) {
  done_.environment.push_back(std::string(name) + "=" + value);
}

Text Translation::value_of(const std::string& ours) const {
  if (auto typed = around_.typed(ours); !typed.empty()) return typed;
  const auto found = used_.find(ours);
  return found == used_.end() ? std::nullopt : Text(found->second.value);
}

std::optional<std::int64_t> Translation::number_of(const std::string& ours) const {
  const auto value = value_of(ours);
  return value ? count_of(*value) : std::nullopt;
}

std::int64_t Translation::cores_per_task() const {
  return number_of("-c").value_or(1);
}

void Translation::count_tasks(std::initializer_list<std::string_view> per_node) {
  nodes_ = number_of("-N");
  tasks_ = number_of("-n");
  spread_over_named_hosts();
  for (const auto name : per_node) {
    const auto given = take(name);
    if (!given) continue;
    if (const auto each = count_of(given->value))
      share_tasks(*given, *each);
    else
      no_equal(*given);
  }
  if (!tasks_ && !uses("-n")) tasks_ = nodes_.value_or(1);
  leave_nodes_without_task();
  done_.many_tasks = tasks_ != 1;
}

// Slurm takes all of the hosts that -w names, as far as there are tasks for them; of holon's own -w
// one suffices.
void Translation::spread_over_named_hosts() {
  const auto named = used_.find("-w");
  if (named == used_.end() || uses("-N") || (uses("-n") && !tasks_)) return;
  const auto hosts = Hostlist::parse(named->second.value);
  if (!hosts || hosts->count() < 2) return;
  nodes_ = static_cast<std::int64_t>(hosts->count());
  if (tasks_) nodes_ = std::min(*nodes_, *tasks_);
  used_["-N"] = Given{named->second.place, named->second.typed, std::to_string(*nodes_), true};
  use(named->second, {"-N", std::to_string(*nodes_)});
}

// Slurm leaves out the nodes that would have none.
void Translation::leave_nodes_without_task() {
  const auto given = used_.find("-N");
  if (given == used_.end() || !around_.typed("-N").empty() || !nodes_ || !tasks_ ||
      *tasks_ >= *nodes_)
    return;
  nodes_ = tasks_;
  use(given->second, {"-N", std::to_string(*nodes_)});
}

// `each` tasks on each node; where it is said how many there are in all, at most so many.
void Translation::share_tasks(const Given& given, std::int64_t each) {
  if (!uses("-n")) {
    if (!nodes_) use(given, {"-N", "1"});
    nodes_ = nodes_.value_or(1);
    tasks_ = *nodes_ * each;
    return use(given, {"-n", std::to_string(*tasks_)});
  }
  if (!tasks_) return no_equal(given, "the number of tasks is a range");
  if (uses("-N")) {
    if (!nodes_ || *tasks_ > *nodes_ * each) no_equal(given, "-n and -N hold");
    return;
  }
  nodes_ = (*tasks_ + each - 1) / each;
  use(given, {"-N", std::to_string(*nodes_)});
}

std::optional<std::int64_t> Translation::tasks_per_node() const {
  if (tasks_ == 1) return 1;
  if (!tasks_ || !nodes_ || *tasks_ % *nodes_ != 0) return std::nullopt;
  return *tasks_ / *nodes_;
}

Translated Translation::finish() && {
  for (const auto& [name, given] : left_) no_equal(given);
  return std::move(done_);
}

}  // namespace holon::cli
