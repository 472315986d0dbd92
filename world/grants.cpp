// Children that ask for more and give it back, and parents that recall it (holon grant).
#include <cstdlib>

#include "msg/grant.hpp"
#include "transport/codec/codec.hpp"
#include "world/world.hpp"

namespace holon::world {

void World::move_grant(Instance& child) {
  auto& dice = machine_.dice;
  const std::string path = child.path();
  const auto choice = dice.between(1, 10);
  if (choice <= 6) {
    Ask more;
    more.command = {"grant"};
    more.cores = dice.between(1, 2);
    more.tasks = dice.between(1, 2);
    more.limit = dice.one_in(3) ? 0 : static_cast<double>(dice.between(1, 8));
    return user_->ask(child.uri(), "grant.ask", transport::pack(msg::GrantAsk{jobspec_of(more)}),
                      [this, path](const Result<std::string>& answer) {
                        const auto got = answer ? transport::unpack<msg::GrantAnswer>(*answer)
                                                : tl::unexpected(answer.error());
                        if (got)
                          machine_.history.note("{} gets {} cores more{}", path, got->cores,
                                                got->is_here ? "" : " later");
                      });
  }
  if (choice <= 8)
    return user_->ask(child.uri(), "grant.release", transport::pack(msg::GrantRelease{}),
                      [this, path](const Result<std::string>& answer) {
                        if (answer)
                          machine_.history.note("{} gives back what is not its own", path);
                      });
  const Instance* const parent = parent_of(child);
  if (parent == nullptr || !parent->ready()) return;
  msg::GrantRecall recall;
  recall.child = std::strtoull(path.c_str() + path.rfind('/') + 1, nullptr, 10);
  recall.notice = dice.between(0, 2'000);
  user_->ask(parent->uri(), "grant.recall", transport::pack(recall),
             [this, path](const Result<std::string>& answer) {
               if (answer) machine_.history.note("{} is to give back what is not its own", path);
             });
}

}  // namespace holon::world
