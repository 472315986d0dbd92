#include "instance/tree/records.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/instance_path.hpp"
#include "instance/basics/text.hpp"
#include "instance/journal/records/record_order.hpp"

namespace holon::instance {

std::optional<msg::JobRecord> Records::find(const std::string& path) const {
  const auto cut = path.rfind('/');
  if (cut == std::string::npos) return std::nullopt;
  const std::string above = cut == 0 ? "/" : path.substr(0, cut);
  if (above == uses_.identity.path) {
    auto own = uses_.jobs.record(JobId(std::strtoull(path.c_str() + cut + 1, nullptr, 10)));
    return own ? std::optional(std::move(*own)) : std::nullopt;
  }
  auto below = uses_.journal.descendant(path);
  return below ? std::move(*below) : std::nullopt;
}

void Records::take(const transport::Request& request, Time now) {
  for (const auto& path : uses_.children.records(request, now))
    if (uses_.parent != nullptr) uses_.parent->changed(path);
}

std::optional<msg::JobRecord> Records::shown(JobId child, msg::JobRecord record) {
  const auto job = job_at(record.path);
  const bool is_its_own = job && job->value() == record.id &&
                          child_towards(uses_.identity.path, record.path) == child &&
                          record.path != uses_.jobs.path_of(child);
  if (!is_its_own) return std::nullopt;
  if (uses_.access.serves_users())
    record.user = uses_.jobs.user_of(child);  // whatever name it gives
  auto [to_show, is_news] = uses_.journal.show_descendant(std::move(record));
  if (is_news && uses_.parent != nullptr) uses_.parent->changed(to_show.path);
  return std::move(to_show);
}

Time Records::as_of(const msg::JobRecord& record) const {
  const auto child = child_towards(uses_.identity.path, record.path);
  if (!child || record.state == "INACTIVE" || !uses_.children.may_know_more(*child)) return 0;
  return std::max({uses_.children.told_at(*child), record.t_submit, record.t_alloc, record.t_start,
                   record.t_finish});
}

}  // namespace holon::instance
