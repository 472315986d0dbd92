#include "instance/listing/ended_instance_jobs.hpp"

#include <utility>

#include "instance/job/jobspec_update.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {

void EndedInstanceJobs::read(const msg::JobRecord& record,
                             std::function<void(msg::DeadChildJob)> take) {
  if (!uses_.agents.beside_broker().connected()) return take({});
  const std::string instance = record.path.substr(0, record.path.rfind('/'));
  const std::string dir = state_dir_below(uses_.identity.state_dir, uses_.identity.path, instance);
  uses_.agents.beside_broker().capture(
      {uses_.identity.binary, "remains", dir, instance, "--job", std::to_string(record.id)},
      [take = std::move(take)](const Result<launch::msg::CaptureReply>& answer) {
        const bool read = answer && answer->status == 0;
        auto found = read ? transport::unpack<msg::DeadChildJob>(answer->output)
                          : tl::unexpected<Error>(Error{});
        take(found ? std::move(*found) : msg::DeadChildJob{});
      });
}

void EndedInstanceJobs::info(const transport::Request& request, const msg::JobRecord& record) {
  read(record, [request, record](msg::DeadChildJob found) {
    std::vector<Event> events;
    for (const auto& e : found.events)
      if (auto body = parse_event(e.name, e.context)) events.push_back({e.time, std::move(*body)});
    msg::JobInfoReply reply{record, as_updated(found.jobspec, events), std::move(found.R), {}};
    for (const Event& event : events) reply.eventlog += eventlog_line(event);
    request.reply(transport::pack(reply));
  });
}

void EndedInstanceJobs::output(const transport::Request& request, const msg::JobRecord& record,
                               std::function<void()> files) {
  read(record, [request, files = std::move(files)](const msg::DeadChildJob& found) {
    if (found.output.empty() && found.error.empty()) return files();
    for (const bool error : {false, true})
      if (const auto& text = error ? found.error : found.output; !text.empty())
        request.send(transport::pack(msg::OutputChunk{-1, error, text}));
    request.end();
  });
}

// Reads the jobs one after the other: one process at a time reads a journal.
void EndedInstanceJobs::watch(const transport::Request& request,
                              std::vector<msg::JobRecord> records) {
  auto watching = std::make_shared<Watching>();
  watching->request = request;
  watching->records = std::move(records);
  watch_next(watching);
}

void EndedInstanceJobs::watch_next(const std::shared_ptr<Watching>& watching) {
  if (watching->request.done()) return;
  if (watching->next == watching->records.size() || !uses_.agents.beside_broker().connected())
    return watching->request.end();
  read(watching->records[watching->next++], [this, watching](const msg::DeadChildJob& found) {
    for (const auto& e : found.events) watching->request.send(transport::pack(e));
    watch_next(watching);
  });
}

}  // namespace holon::instance
