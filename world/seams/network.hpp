// network.hpp - the connections between the processes of a world.
//
// Each connection keeps the order of its messages; between connections there is none. A connection
// may break (what is on its way is lost), be held up, or end with one of its processes. One that
// leads to another host is held up while one of the two is cut off, and is silent when one dies.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "holdings/messages.hpp"
#include "launch/messages.hpp"
#include "transport/codec/envelope.hpp"
#include "transport/network.hpp"
#include "world/seams/timeline.hpp"

namespace holon::world {

class Machine;
class Process;
class WorldListener;
class WorldLine;

struct Link {
  std::uint64_t id = 0;
  std::string uri;
  Process* client = nullptr;  // nullptr: gone
  Process* server = nullptr;
  std::weak_ptr<WorldLine> line;
  std::weak_ptr<WorldListener> listener;
  bool dead = false;                          // nothing is delivered any more
  bool silent = false;                        // and neither end is told
  bool loses_up = false, loses_down = false;  // from now on
  std::string key_name;  // the server's name for the client's key; "": it has shown none
  bool unread = false;   // the server has left it
  Micros last_up = 0, last_down = 0, held_until = 0;
  // Topics of open requests, by the client and by the server.
  std::map<std::uint64_t, std::string> asked, asked_below;
};

class Wires {
 public:
  explicit Wires(Machine& machine) : machine_(machine) {}

  std::unique_ptr<transport::Network> port(Process& owner);
  // Ends the listeners and connections of a process that is no more.
  void gone(Process& process);

  // Faults: some connection, if there is any.
  void break_one();
  void hold_one(Micros duration);
  // The connection of this process to there.
  void hold_of(const Process& client, const std::string& uri, Micros duration);
  // Loses what is sent over a connection from now on, until it breaks.
  void lose_one(Micros duration);
  void heal();
  // Faults of hosts (hosts.hpp).
  void cut(int host, Micros duration);
  void host_died(int host);
  // The address for agents of other hosts of the broker that listens at this address.
  static std::string address_for_keys(const std::string& uri) { return "tcp://" + uri; }

  // Used by listeners and lines.
  Result<std::shared_ptr<transport::Listener>> listen(Process& owner, const std::string& uri,
                                                      transport::Listener::Events events);
  std::shared_ptr<transport::Listener> listen_for_keys(Process& owner, const std::string& address,
                                                       transport::Admission admission,
                                                       transport::Listener::Events events);
  std::shared_ptr<Link> connect(const std::shared_ptr<WorldLine>& line, Process& client,
                                const std::string& uri, const std::string& public_key);
  void send(const std::shared_ptr<Link>& link, bool up, std::string bytes);
  void hang_up(const std::shared_ptr<Link>& link, bool by_client);
  Machine& machine() { return machine_; }
  std::uint64_t messages() const { return messages_; }

 private:
  void carry(const std::shared_ptr<Link>& link, bool up, std::string bytes);
  void tell_broken(const std::shared_ptr<Link>& link, bool client, Micros when);
  // Changes a message by a planted fault. False: it is not to be carried.
  bool tap(const std::shared_ptr<Link>& link, bool up, std::string& bytes);
  void note_refusal(const Process& who, const std::string& topic,
                    const transport::Envelope& message);
  // Reports to the parent as if the child's task had ended.
  void report_child(const Link& child);
  // Says once more, or too early, what moves a grant.
  void tap_grant(const std::shared_ptr<Link>& link, bool up, const std::string& payload);
  void tell_of_grant(const std::shared_ptr<Link>& link, bool up, const holdings::Message& message,
                     const std::string& jgf);
  static std::string summary(const transport::Envelope& message);
  bool tap_request(const std::shared_ptr<Link>& link, bool up, std::string& bytes);
  void tell_past_end(const std::shared_ptr<Link>& link, const launch::msg::Report& report);
  // Reports as if all agents of that broker had sent it.
  void report_for_others(const std::shared_ptr<Link>& link, const std::string& payload);
  // Is it the connection of an agent on another host than its broker's?
  static bool is_of_far_agent(const Link& link);
  // Changes the hello of a far agent; false: it stays as it is.
  bool change_hello_of_far_agent(launch::msg::Hello& hello);
  void repeat_start(const std::shared_ptr<Link>& link, const std::string& answer);
  void tap_answer(const std::shared_ptr<Link>& link, std::uint64_t id, std::string& bytes);
  std::vector<std::shared_ptr<Link>> live() const;
  std::shared_ptr<Link> some_link();
  void break_link(const std::shared_ptr<Link>& link);
  void hold(const std::shared_ptr<Link>& link, Micros duration);
  Micros delay(const Link& link);

  Machine& machine_;
  std::uint64_t last_id_ = 0, messages_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Link>> links_;
  std::vector<std::weak_ptr<Link>> all_;  // also those that one end has left
  std::map<std::string, std::weak_ptr<WorldListener>> listeners_;
  std::map<std::pair<pid_t, std::string>, Micros> blocked_;
  // The last start by the name of the agent: its process, the payload.
  std::map<std::string, std::pair<pid_t, std::string>> last_start_;
  std::map<std::string, std::string> last_listing_;  // by uri
  std::string last_own_;                             // instance of somebody's own that was told
  struct Lent {
    holdings::Extend extend;
    std::string jgf;
    holdings::Release release;
  };
  std::map<std::string, Lent> lent_;  // last, by the name of the child's broker
  // By the broker's uri and the job.
  std::map<std::pair<std::string, std::uint64_t>, launch::msg::Finished> last_end_;
};

}  // namespace holon::world
