#include "instance/tree/gather.hpp"

#include <memory>

namespace holon::instance {

void gather(transport::Server& server, const std::map<JobId, transport::PeerId>& children,
            const transport::Call& call, std::function<void(const Answers&)> done) {
  if (children.empty()) return done({});
  struct Collected {
    Answers answers;
    std::size_t open = 0;
    std::function<void(const Answers&)> done;
  };
  // Shared by the callbacks of all calls; the last one releases it.
  const auto collected =
      std::make_shared<Collected>(Collected{{}, children.size(), std::move(done)});
  for (const auto& [child, peer] : children)
    server.call(peer, call, [collected, id = child](Result<std::string> answer) {
      if (answer) collected->answers.emplace(id, std::move(*answer));
      if (--collected->open == 0) collected->done(collected->answers);
    });
}

}  // namespace holon::instance
