#include "cli/top/observe.hpp"

#include <ostream>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"

namespace holon::cli {

Result<client::Observer> connect_observer(const Invocation& call) {
  const auto uri = client::find_instance(describe);
  if (!uri) return tl::unexpected(uri.error());
  client::Address address;
  address.uri = *uri;
  address.path = call.instance;
  address.on_wait = [&call](const std::string& notice) {
    call.io.err << "holon: " << printable(notice) << "\n" << std::flush;
  };
  return client::Observer::connect(address);
}

}  // namespace holon::cli
