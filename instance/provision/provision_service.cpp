#include "instance/provision/provision_service.hpp"

#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {

void ProvisionService::add_to(transport::Dispatcher& dispatcher) {
  using transport::pack;
  using transport::Request;
  dispatcher.add("provision.add", [this](const Request& request) {
    const auto ask = transport::unpack<msg::ProvisionRequest>(request.payload());
    if (!ask) return request.fail(ask.error());
    auto reply = provisions_.add(*ask);
    if (!reply) return request.fail(reply.error());
    after_commit_.add([request, reply = std::move(*reply)] { request.reply(pack(reply)); });
  });
  dispatcher.add("provision.list", [this](const Request& request) {
    after_commit_.add([request, reply = provisions_.list()] { request.reply(pack(reply)); });
  });
  dispatcher.add("provision.change", [this](const Request& request) {
    const auto ask = transport::unpack<msg::ProvisionChange>(request.payload());
    if (!ask) return request.fail(ask.error());
    if (auto changed = provisions_.change(*ask); !changed) return request.fail(changed.error());
    after_commit_.add([request] { request.reply(pack(msg::Empty{})); });
  });
}

}  // namespace holon::instance
