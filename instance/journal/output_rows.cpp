// The part of the Journal that keeps where a task's output is in the log of outputs
// (output/output_log.hpp).
#include "instance/journal/journal.hpp"
#include "instance/journal/state.hpp"

namespace holon::instance {

void Journal::add_output(const OutputPlace& place) {
  auto& s = *state_;
  s.write([&] {
    if (!s.output_in) s.output_in.emplace(s.db, "INSERT OR REPLACE INTO outputs VALUES(?,?,?,?,?)");
    s.output_in->bind(1, static_cast<std::int64_t>(place.job.value()));
    s.output_in->bind(2, place.segment);
    s.output_in->bind(3, place.begin);
    s.output_in->bind(4, place.output);
    s.output_in->bind(5, place.error);
    s.run(*s.output_in);
  });
}

namespace {

constexpr const char* kPlaceOfOutput =
    "SELECT segment, begin, output, error FROM outputs WHERE id=?";

Result<std::optional<OutputPlace>> output_place_in(SQLite::Statement& q, JobId job) {
  q.bind(1, static_cast<std::int64_t>(job.value()));
  if (!q.executeStep()) return std::optional<OutputPlace>();
  const OutputPlace place{job, q.getColumn(0).getInt64(), q.getColumn(1).getInt64(),
                          q.getColumn(2).getInt64(), q.getColumn(3).getInt64()};
  const auto is_size = [](std::int64_t n) { return n >= 0 && n <= kMostLogged; };
  if (place.begin >= 0 && is_size(place.output) && is_size(place.error)) return place;
  return fail(Errc::invalid_argument,
              fmt::format("job {}: where its output is makes no sense", job.value()));
}

}  // namespace

Result<std::optional<OutputPlace>> Journal::output_of(JobId job) const {
  using Found = std::optional<OutputPlace>;
  if (state_->for_reading) return output_place(state_->db, job);
  return state_->read<Found>([&]() -> Result<Found> {
    auto& known = state_->output_known;
    if (!known) known.emplace(state_->db, kPlaceOfOutput);
    known->tryReset();  // after a step that failed
    auto found = output_place_in(*known, job);
    known->tryReset();
    return found;
  });
}

Result<std::optional<OutputPlace>> output_place(SQLite::Database& db, JobId job) {
  try {
    if (!db.tableExists("outputs")) return std::optional<OutputPlace>();
    SQLite::Statement q(db, kPlaceOfOutput);
    return output_place_in(q, job);
  } catch (const std::exception& e) {
    return fail(Errc::system, fmt::format("the journal cannot be read: {}", e.what()));
  }
}

Result<std::set<std::int64_t>> Journal::output_segments() const {
  return state_->read<std::set<std::int64_t>>([&] {
    SQLite::Statement q(state_->db, "SELECT DISTINCT segment FROM outputs");
    std::set<std::int64_t> segments;
    while (q.executeStep()) segments.insert(q.getColumn(0).getInt64());
    return segments;
  });
}

}  // namespace holon::instance
