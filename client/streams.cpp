// Streams that go on where they were after a restart of the broker.
#include <algorithm>
#include <map>
#include <utility>

#include "client/client.hpp"
#include "client/parts.hpp"

namespace holon::client {

Status Client::watch(const msg::WatchRequest& request,
                     const std::function<bool(const msg::JobEvent&)>& on_item) {
  using Seen =
      std::map<std::uint64_t, std::size_t>;  // events of a job; a stream begins with its first
  Seen seen;
  return across_restarts(*parts_, [&] {
    Seen skip = seen;
    return parts_->stream<msg::JobEvent>(
        "job.watch", request,
        [&](const msg::JobEvent& event) {
          if (std::size_t& known = skip[event.id]; known > 0) {
            --known;
            return true;
          }
          ++seen[event.id];
          return on_item(event);
        },
        kForEver);
  });
}

Status Client::attach(std::uint64_t id,
                      const std::function<bool(const msg::OutputChunk&)>& on_item) {
  msg::AttachRequest request;
  request.id = id;
  using File = std::pair<std::int32_t, bool>;
  std::map<File, std::size_t> shown;  // bytes; a stream begins with the first one each time
  return across_restarts(*parts_, [&] {
    auto skip = shown;
    return parts_->stream<msg::OutputChunk>(
        "job.attach", request,
        [&](const msg::OutputChunk& chunk) {
          const File file{chunk.task, chunk.error};
          const std::size_t known = std::min(skip[file], chunk.data.size());
          skip[file] -= known;
          shown[file] += chunk.data.size() - known;
          return known == chunk.data.size() ||
                 on_item({chunk.task, chunk.error, chunk.data.substr(known)});
        },
        kForEver);
  });
}

Status Client::follow(msg::EventsRequest request,
                      const std::function<bool(const msg::EventsPart&)>& on_part) {
  return across_restarts(*parts_, [&] {
    return parts_->stream<msg::EventsPart>(
        "events", request,
        [&](const msg::EventsPart& part) {
          request.cursor = part.cursor;
          return on_part(part);
        },
        kForEver);
  });
}

}  // namespace holon::client
