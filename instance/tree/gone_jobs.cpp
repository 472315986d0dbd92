#include "instance/tree/gone_jobs.hpp"

#include <memory>

#include "transport/codec/codec.hpp"

namespace holon::instance {

void GoneJobs::read(const msg::JobRecord& record, std::function<void(msg::RemainsOfJob)> take) {
  if (!core_.agent.connected()) return take({});
  const std::string instance = record.path.substr(0, record.path.rfind('/'));
  const std::string dir = state_dir_below(core_.identity.state_dir, core_.identity.path, instance);
  core_.agent.capture(
      {core_.identity.binary, "remains", dir, instance, "--job", std::to_string(record.id)},
      [take = std::move(take)](const Result<launch::msg::CaptureReply>& answer) {
        const bool read = answer && answer->status == 0;
        auto found = read ? transport::unpack<msg::RemainsOfJob>(answer->output)
                          : tl::unexpected<Error>(Error{});
        take(found ? std::move(*found) : msg::RemainsOfJob{});
      });
}

void GoneJobs::info(const transport::Request& request, const msg::JobRecord& record) {
  read(record, [request, record](msg::RemainsOfJob found) {
    msg::JobInfoReply reply{record, std::move(found.jobspec), std::move(found.R), {}};
    for (const auto& e : found.events)
      if (auto body = parse_event(e.name, e.context))
        reply.eventlog += eventlog_line({e.time, std::move(*body)});
    request.reply(transport::pack(reply));
  });
}

void GoneJobs::watch(const transport::Request& request,
                     const std::vector<msg::JobRecord>& records) {
  if (records.empty()) return request.end();
  // Shared by the callbacks of all reads; the last one releases it.
  const auto left = std::make_shared<std::size_t>(records.size());
  for (const auto& record : records)
    read(record, [request, left](const msg::RemainsOfJob& found) {
      for (const auto& e : found.events) request.send(transport::pack(e));
      if (--*left == 0) request.end();
    });
}

}  // namespace holon::instance
