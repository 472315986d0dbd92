#include "cli/show/job_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "cli/outcome.hpp"
#include "cli/show/units.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

using msg::JobRecord;

constexpr std::size_t kLongestName = 20;  // columns, where nobody asked for names

template <auto kMember>
std::string text_of(const JobRecord& job, Time) {
  return job.*kMember;
}
template <auto kMember>
std::string count_of(const JobRecord& job, Time) {
  return job.*kMember > 0 ? std::to_string(job.*kMember) : "";
}
template <auto kMember>
std::int64_t number_of(const JobRecord& job, Time) {
  return static_cast<std::int64_t>(job.*kMember);
}
template <auto kMember>
std::string time_of(const JobRecord& job, Time now) {
  return job.*kMember > 0 ? show_time(job.*kMember, now) : "";
}
// A duration; "" if negative, which is none.
template <auto kLength>
std::string length_of(const JobRecord& job, Time now) {
  return kLength(job, now) < 0 ? "" : show_duration(kLength(job, now));
}

// "4+2-1": two beyond its own, of which it has lent one.
template <auto kOwn, auto kExtra, auto kLent>
std::string with_extra(const JobRecord& job, Time now) {
  const std::string own = count_of<kOwn>(job, now);
  if (job.*kExtra == 0 && job.*kLent == 0) return own;
  std::string all = own.empty() ? "0" : own;
  if (job.*kExtra > 0) all += fmt::format("+{}", job.*kExtra);
  if (job.*kLent > 0) all += fmt::format("-{}", job.*kLent);
  return all;
}

std::int64_t runtime_of(const JobRecord& job, Time now) {
  return job.t_start == 0 ? -1 : (job.t_finish > 0 ? job.t_finish : now) - job.t_start;
}
// A job that ended without a start has no wait to compare with that of others.
std::int64_t wait_of(const JobRecord& job, Time now) {
  if (job.t_start == 0 && job.t_inactive > 0) return -1;
  return (job.t_start > 0 ? job.t_start : now) - job.t_submit;
}
std::int64_t limit_of(const JobRecord& job, Time) {
  return job.limit > 0 ? job.limit : -1;
}
std::int64_t cpu_of(const JobRecord& job, Time) {
  return job.t_finish > 0 ? job.cpu_ms : -1;
}

std::string shown_name(const JobRecord& job, Time) {
  return job.is_instance ? job.name + "/" : job.name;
}
std::string urgency_of(const JobRecord& job, Time) {
  return std::to_string(job.urgency);
}
std::string shown_code(const JobRecord& job, Time) {
  return job.exit_code < 0 ? "" : std::to_string(job.exit_code);
}
std::string memory_of(const JobRecord& job, Time) {
  return job.max_rss_kb > 0 ? show_kib(job.max_rss_kb) : "";
}
// CPU time in percent of the time that the job's cores were its own.
std::int64_t use_of(const JobRecord& job, Time now) {
  const std::int64_t whole = runtime_of(job, now) * job.ncores;
  return job.t_finish == 0 || whole <= 0 ? -1 : (job.cpu_ms * 100 + whole / 2) / whole;
}
std::string shown_use(const JobRecord& job, Time now) {
  const std::int64_t use = use_of(job, now);
  return use < 0 ? "" : std::to_string(use) + "%";
}
std::string shown_state(const JobRecord& job, Time) {
  return msg::state_word(job);
}

std::string shown_id(const JobRecord& job, Time) {
  return msg::label_of(job);
}
std::string shown_path(const JobRecord& job, Time) {
  return msg::shown_path(job);
}

using J = JobRecord;
constexpr auto kLeft = Table::Align::left;
constexpr auto kRight = Table::Align::right;
constexpr auto kFields = std::to_array<JobField>({
    {"id", kRight, shown_id, number_of<&J::id>},
    {"path", kLeft, shown_path, nullptr},
    {"name", kLeft, shown_name, nullptr},
    {"state", kLeft, shown_state, nullptr},
    {"user", kLeft, text_of<&J::user>, nullptr},
    {"account", kLeft, text_of<&J::account>, nullptr},
    {"queue", kLeft, text_of<&J::queue>, nullptr},
    {"urgency", kRight, urgency_of, number_of<&J::urgency>},
    {"nodes", kRight, count_of<&J::nnodes>, number_of<&J::nnodes>},
    {"cores", kRight, with_extra<&J::ncores, &J::extra_cores, &J::lent_cores>,
     number_of<&J::ncores>},
    {"gpus", kRight, with_extra<&J::ngpus, &J::extra_gpus, &J::lent_gpus>, number_of<&J::ngpus>},
    {"tasks", kRight, count_of<&J::ntasks>, number_of<&J::ntasks>},
    {"time", kRight, length_of<runtime_of>, runtime_of},
    {"limit", kRight, length_of<limit_of>, limit_of},
    {"wait", kRight, length_of<wait_of>, wait_of},
    {"cpu", kRight, length_of<cpu_of>, cpu_of},
    {"use", kRight, shown_use, use_of},
    {"memory", kRight, memory_of, number_of<&J::max_rss_kb>},
    {"code", kRight, shown_code, number_of<&J::exit_code>},
    {"retries", kRight, count_of<&J::retries>, number_of<&J::retries>},
    {"preemptions", kRight, count_of<&J::preemptions>, number_of<&J::preemptions>},
    {"submit", kLeft, time_of<&J::t_submit>, number_of<&J::t_submit>},
    {"start", kLeft, time_of<&J::t_start>, number_of<&J::t_start>},
    {"end", kLeft, time_of<&J::t_inactive>, number_of<&J::t_inactive>},
    {"nodelist", kLeft, text_of<&J::nodelist>, nullptr},
    {"command", kLeft, text_of<&J::command>, nullptr},
    {"entry", kLeft, text_of<&J::entry>, nullptr},
    {"output", kLeft, text_of<&J::output>, nullptr},
    {"info", kLeft, details_of, nullptr},
});

Result<const JobField*> find_field(std::string_view word) {
  std::string known;
  for (const auto& field : kFields) {
    if (field.name == word) return &field;
    known += (known.empty() ? "" : ", ") + std::string(field.name);
  }
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is no field; fields are {}", std::string(word), known));
}

std::vector<std::string> fields_in(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c == ',')
      words.emplace_back();
    else
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return words;
}

bool is_before(const JobRecord& a, const JobRecord& b, const JobField& field, Time now) {
  if (field.number != nullptr) return field.number(a, now) < field.number(b, now);
  return natural_before(field.text(a, now), field.text(b, now));
}

}  // namespace

std::span<const JobField> job_fields() {
  return kFields;
}

Table::Cell cell_of(const Io& io, const JobField& field, const JobRecord& job, Time now,
                    bool asked_for) {
  Table::Cell cell{field.text(job, now)};
  if (field.name == "state") cell.colour = colour_of(job);
  if (asked_for && cell.text.empty()) cell.text = "-";
  if (!asked_for && field.name == "name") cell.text = shorten(io, cell.text, kLongestName);
  return cell;
}

std::vector<Table::Column> columns_of(const std::vector<const JobField*>& fields) {
  std::vector<Table::Column> columns;
  for (const auto* field : fields) {
    std::string title(field->name);
    for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    columns.push_back({std::move(title), field->align});
  }
  return columns;
}

Result<std::vector<const JobField*>> parse_fields(const std::string& text) {
  std::vector<const JobField*> fields;
  for (const auto& word : fields_in(text)) {
    const auto field = find_field(word);
    if (!field) return tl::unexpected(field.error());
    fields.push_back(*field);
  }
  return fields;
}

Result<std::vector<SortKey>> parse_sort(const std::string& text) {
  std::vector<SortKey> keys;
  for (const auto& word : fields_in(text)) {
    const bool descending = word.starts_with('-');
    const auto field = find_field(std::string_view(word).substr(descending ? 1 : 0));
    if (!field) return tl::unexpected(field.error());
    keys.push_back({*field, descending});
  }
  return keys;
}

void sort_jobs(std::vector<JobRecord>& jobs, const std::vector<SortKey>& keys, Time now) {
  std::stable_sort(jobs.begin(), jobs.end(), [&](const JobRecord& a, const JobRecord& b) {
    for (const auto& key : keys) {
      const JobRecord& first = key.descending ? b : a;
      const JobRecord& second = key.descending ? a : b;
      if (is_before(first, second, *key.field, now)) return true;
      if (is_before(second, first, *key.field, now)) return false;
    }
    return false;
  });
}

}  // namespace holon::cli
