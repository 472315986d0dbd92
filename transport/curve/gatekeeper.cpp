#include "transport/curve/gatekeeper.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace holon::transport {
namespace {

constexpr const char* kAddress = "inproc://zeromq.zap.01";
constexpr std::size_t kKeyBytes = 32;

// Places in a ZAP request: version, id, domain, address, routing id, mechanism, credentials.
constexpr std::size_t kVersion = 0, kId = 1, kSource = 3, kMechanism = 5, kKey = 6, kFrames = 7;

std::string key_text(const std::string& bytes) {
  std::array<char, 41> text{};
  if (bytes.size() != kKeyBytes) return {};
  return zmq_z85_encode(text.data(), reinterpret_cast<const std::uint8_t*>(bytes.data()),
                        bytes.size());
}

}  // namespace

Gatekeeper::Gatekeeper(Reactor& reactor, const Admission& admission)
    : reactor_(reactor),
      admission_(admission),
      socket_(reactor.zmq_context(), zmq::socket_type::rep) {
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind(kAddress);
}

Status Gatekeeper::watch() {
  auto readable = reactor_.on_socket(socket_.handle(), [this] { answer_all(); });
  if (!readable) return tl::unexpected<Error>(readable.error());
  readable_ = std::move(*readable);
  return {};
}

void Gatekeeper::answer_all() {
  try {
    while (answer_one()) {
    }
  } catch (const zmq::error_t&) {
    return;  // interrupted; the rest is offered again
  }
}

bool Gatekeeper::answer_one() {
  std::vector<std::string> frames;
  for (bool more = true; more;) {
    zmq::message_t frame;
    if (!socket_.recv(frame, zmq::recv_flags::dontwait)) return false;
    more = frame.more();
    frames.push_back(frame.to_string());
  }
  frames.resize(std::max(frames.size(), kFrames));
  const bool is_curve = frames[kVersion] == "1.0" && frames[kMechanism] == "CURVE";
  const std::string name = is_curve ? admission_.name_of(key_text(frames[kKey])) : "";
  if (name.empty() && admission_.on_refused)
    admission_.on_refused(frames[kSource], "nobody is known by its key");
  const std::array<std::string, 6> reply = {
      "1.0", frames[kId], name.empty() ? "400" : "200", name.empty() ? "denied" : "OK", name, ""};
  for (std::size_t i = 0; i < reply.size(); ++i)
    socket_.send(zmq::buffer(reply[i]),
                 i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  return true;
}

}  // namespace holon::transport
