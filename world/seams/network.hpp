// network.hpp - the connections between the processes of a world.
//
// Each connection keeps the order of its messages; between connections there is none. A connection
// may break (what is on its way is lost), be held up, or end with one of its processes.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "transport/codec/envelope.hpp"
#include "transport/network.hpp"
#include "world/seams/timeline.hpp"

namespace holon::world {

class Machine;
class Process;
class WorldDoor;
class WorldLine;

struct Link {
  std::uint64_t id = 0;
  std::string uri;
  Process* client = nullptr;  // nullptr: gone
  Process* server = nullptr;
  std::weak_ptr<WorldLine> line;
  std::weak_ptr<WorldDoor> door;
  bool dead = false;    // nothing is delivered any more
  bool unread = false;  // the server has left it
  Micros last_up = 0, last_down = 0, held_until = 0;
  // Topics of open requests, by the client and by the server.
  std::map<std::uint64_t, std::string> asked, asked_below;
};

class Wires {
 public:
  explicit Wires(Machine& machine) : machine_(machine) {}

  std::unique_ptr<transport::Network> port(Process& owner);
  // A process is no more: so are its listeners and connections.
  void gone(Process& process);

  // Of faults: some connection, if there is any.
  void break_one();
  void hold_one(Micros duration);
  void heal();

  // For doors and lines.
  Result<std::shared_ptr<transport::Door>> listen(Process& owner, const std::string& uri,
                                                  transport::Door::Events events);
  std::shared_ptr<Link> connect(const std::shared_ptr<WorldLine>& line, Process& client,
                                const std::string& uri);
  void send(const std::shared_ptr<Link>& link, bool up, std::string bytes);
  void hang_up(const std::shared_ptr<Link>& link, bool by_client);
  Machine& machine() { return machine_; }
  std::uint64_t messages() const { return messages_; }

 private:
  void carry(const std::shared_ptr<Link>& link, bool up, std::string bytes);
  void tell_broken(const std::shared_ptr<Link>& link, bool client, Micros when);
  // What a planted fault makes of a message. False: it is not to be carried.
  bool tap(const std::shared_ptr<Link>& link, bool up, std::string& bytes);
  void note_refusal(const Process& who, const std::string& topic,
                    const transport::Envelope& message);
  static std::string summary(const transport::Envelope& message);
  bool tap_request(const std::shared_ptr<Link>& link, bool up, std::string& bytes);
  // As if all agents of that broker had sent it.
  void report_for_others(const std::shared_ptr<Link>& link, const std::string& payload);
  void tap_answer(const std::shared_ptr<Link>& link, std::uint64_t id, std::string& bytes);
  std::vector<std::shared_ptr<Link>> live() const;
  Micros delay();

  Machine& machine_;
  std::uint64_t last_id_ = 0, messages_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Link>> links_;
  std::vector<std::weak_ptr<Link>> all_;  // also those that somebody has left
  std::map<std::string, std::weak_ptr<WorldDoor>> listeners_;
  std::map<std::pair<pid_t, std::string>, Micros> blocked_;
  // By the name of the agent: its process, the payload.
  std::map<std::string, std::pair<pid_t, std::string>> last_start_;
  std::map<std::string, std::string> last_listing_;                  // by uri
};

}  // namespace holon::world
