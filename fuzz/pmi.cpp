// What the tasks of an MPI job may say to their agent: the first byte of each piece says which of
// three tasks it is from, the second how long it is.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "pmi/server.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kTasks = 3;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  holon::pmi::Server server({"job", kTasks, holon::pmi::process_mapping({kTasks})}, {0, 1, 2});
  bool in_fence = false;
  server.on_fence = [&](const holon::pmi::Pairs&) {
    if (std::exchange(in_fence, true)) std::abort();  // one begins when the one before is over
  };
  while (bytes.size() > 2) {
    const std::size_t task = static_cast<unsigned char>(bytes[0]) % kTasks;
    const std::size_t length = static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(2);
    const auto piece = bytes.substr(0, std::min(length, bytes.size()));
    bytes.remove_prefix(piece.size());
    static_cast<void>(server.receive(task, piece));
    static_cast<void>(server.take_output(task));
    if (length % 2 == 0 && std::exchange(in_fence, false)) server.release({{"k", "v"}});
  }
  return 0;
}
