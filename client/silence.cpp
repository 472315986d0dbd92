#include "client/silence.hpp"

#include <fmt/format.h>

#include <utility>

#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"

namespace holon::client {
namespace {

class SilenceWatch : public std::enable_shared_from_this<SilenceWatch> {
 public:
  using Say = std::function<void(const std::string&)>;
  SilenceWatch(transport::BlockingClient& client, std::string path, const Patience& patience,
               Say say)
      : client_(client), path_(std::move(path)), patience_(patience), say_(std::move(say)) {}

  void begin() {
    timer_ = client_.reactor().every(patience_.ask_again, [this] { ask(); });
  }

 private:
  // Asks only with a connection; without one the wait itself says what is wrong.
  void ask() {
    if (!client_.client().connected()) return;
    client_.client().call(
        {"status", transport::pack(msg::StatusRequest{}), path_, patience_.silence},
        [weak = weak_from_this()](const Result<std::string>& answer) {
          if (const auto self = weak.lock()) self->heard(answer);
        });
  }

  void heard(const Result<std::string>& answer) {
    auto trouble = trouble_in(answer);
    const bool is_news = !trouble.empty() && trouble != trouble_;
    trouble_ = std::move(trouble);
    if (is_news && client_.client().connected()) say_(trouble_);
  }

  // The trouble; an instance at hand that does not answer is a matter of the connection.
  std::string trouble_in(const Result<std::string>& answer) const {
    if (answer) {
      const auto node = transport::unpack<msg::TreeNode>(*answer);
      if (!node || node->health != "read-only") return {};
      return fmt::format("{} cannot write its journal and starts nothing; waiting until it can",
                         path_.empty() ? "the instance" : "instance " + path_);
    }
    const bool silent =
        answer.error().code == Errc::timed_out || answer.error().code == Errc::disconnected;
    if (!silent || path_.empty()) return {};
    return fmt::format("instance {} does not answer; waiting for it", path_);
  }

  transport::BlockingClient& client_;
  const std::string path_;
  const Patience patience_;
  const Say say_;
  std::string trouble_;  // told last; "": there is none
  transport::Subscription timer_;
};

}  // namespace

transport::Subscription watch_silence(transport::BlockingClient& client, const std::string& path,
                                      const Patience& patience,
                                      std::function<void(const std::string&)> say) {
  auto watch = std::make_shared<SilenceWatch>(client, path, patience, std::move(say));
  watch->begin();
  return transport::Subscription([watch]() mutable { watch.reset(); });
}

}  // namespace holon::client
