// The part of the Journal that keeps rows which are not of a job: each call is a row or a table of
// rows.hpp.
#include "instance/journal/state.hpp"

namespace holon::instance {

void Journal::set_number(std::string_view key, std::int64_t value) {
  state_->write([&] { write_number(state_->db, key, value); });
}
void Journal::put_grant(const HeldGrant& grant) {
  state_->write([&] { write_grant(state_->db, grant); });
}
void Journal::put_agent(const KnownAgent& agent) {
  state_->write([&] { write_agent(state_->db, agent); });
}
void Journal::put_orphans(std::uint32_t rank, const std::vector<event::Process>& all) {
  state_->write([&] { write_orphans(state_->db, rank, all); });
}
void Journal::put_offline(const OfflineAgent& agent) {
  state_->write([&] { write_offline(state_->db, agent); });
}
void Journal::remove_offline(std::uint32_t rank) {
  state_->write([&] { instance::remove_offline(state_->db, rank); });
}
void Journal::put_drains(const std::vector<KeptDrain>& all) {
  state_->write([&] { write_drains(state_->db, all); });
}
void Journal::put_closed(const ClosedGate& gate) {
  state_->write([&] { close_gate(state_->db, gate); });
}
void Journal::remove_closed(const std::string& queue, const std::string& gate) {
  state_->write([&] { open_gate(state_->db, queue, gate); });
}
void Journal::put_reservations(const std::vector<KeptReservation>& all) {
  state_->write([&] { write_reservations(state_->db, all); });
}
std::int64_t Journal::add_audit(const AuditRow& row) {
  std::int64_t number = 0;
  state_->write([&] {
    auto& insert = state_->audit;
    if (!insert) insert.emplace(state_->db, kInsertAudit);
    number = instance::add_audit(state_->db, *insert, row);
  });
  return number;
}
std::int64_t Journal::add_grant_entry(Time time, const std::string& entry) {
  std::int64_t number = 0;
  state_->write([&] { number = instance::add_grant_entry(state_->db, time, entry); });
  return number;
}
void Journal::drop_grant_entries(std::int64_t before) {
  state_->write([&] { instance::drop_grant_entries(state_->db, before); });
}
void Journal::set_audit_what(std::int64_t number, const std::string& what) {
  state_->write([&] { instance::set_audit_what(state_->db, number, what); });
}
void Journal::set_audit_refused(std::int64_t number, const std::string& why) {
  state_->write([&] { instance::set_audit_refused(state_->db, number, why); });
}
void Journal::drop_audit(std::int64_t up_to) {
  state_->write([&] { instance::drop_audit(state_->db, up_to); });
}
void Journal::add_aside(JobId job) {
  state_->write([&] { write_aside(state_->db, job); });
}
void Journal::remove_aside(JobId job) {
  state_->write([&] { instance::remove_aside(state_->db, job); });
}

Result<std::optional<std::int64_t>> Journal::number(std::string_view key) const {
  return state_->read<std::optional<std::int64_t>>([&] { return read_number(state_->db, key); });
}
Result<std::vector<GrantEntry>> Journal::grant_entries(std::int64_t from) const {
  return state_->read<std::vector<GrantEntry>>(
      [&] { return read_grant_entries(state_->db, from); });
}
Result<std::vector<GrantEntry>> Journal::last_grant_entries(std::int64_t most) const {
  return state_->read<std::vector<GrantEntry>>(
      [&] { return read_last_grant_entries(state_->db, most); });
}
Result<std::optional<HeldGrant>> Journal::grant() const {
  return state_->read<std::optional<HeldGrant>>([&] { return read_grant(state_->db); });
}
Result<std::optional<KnownAgent>> Journal::agent(std::uint32_t rank) const {
  return state_->read<std::optional<KnownAgent>>([&]() -> std::optional<KnownAgent> {
    for (auto& agent : read_agents(state_->db))
      if (agent.rank == rank) return std::move(agent);
    return std::nullopt;
  });
}
Result<std::vector<event::Process>> Journal::orphans(std::uint32_t rank) const {
  return state_->read<std::vector<event::Process>>([&] { return read_orphans(state_->db, rank); });
}
Result<std::vector<OfflineAgent>> Journal::offline() const {
  return state_->read<std::vector<OfflineAgent>>([&] { return read_offline(state_->db); });
}
Result<std::vector<KeptDrain>> Journal::drains() const {
  return state_->read<std::vector<KeptDrain>>([&] { return read_drains(state_->db); });
}
Result<std::vector<ClosedGate>> Journal::closed_gates() const {
  return state_->read<std::vector<ClosedGate>>([&] { return read_gates(state_->db); });
}
Result<std::vector<KeptReservation>> Journal::reservations() const {
  return state_->read<std::vector<KeptReservation>>([&] { return read_reservations(state_->db); });
}
Result<std::vector<AuditRow>> Journal::audit(std::int64_t before, std::size_t limit,
                                             bool refused_only) const {
  return state_->read<std::vector<AuditRow>>([&] {
    return read_audit(state_->db, before, static_cast<std::int64_t>(limit), refused_only);
  });
}
Result<std::vector<JobId>> Journal::aside() const {
  return state_->read<std::vector<JobId>>([&] { return read_aside(state_->db); });
}

}  // namespace holon::instance
