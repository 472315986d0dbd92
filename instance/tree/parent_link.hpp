// parent_link.hpp - the child's side: says hello at every connection, receives the grant, and sends
// changed job records up until the parent has them in its journal.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "instance/journal/journal.hpp"
#include "msg/instance.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class ParentLink {
 public:
  struct Identity {
    std::string token;
    JobId job;
    std::string uri;              // where this instance listens
    std::uint64_t epoch = 0;      // 0: no grant yet
    std::string invitation = {};  // for its agents on other nodes; "": there are none
  };
  struct Callbacks {
    std::function<void(const msg::Grant&)> granted;  // called after every hello
    std::function<void(const Error&)>
        denied;  // this instance is not the holder any more: it must end
    std::function<void()> lost;
    transport::RequestHandler request;  // from the parent, or from above through it
    // The present record of a job; nullopt: there is no such job.
    std::function<std::optional<msg::JobRecord>(const std::string& path)> record;
  };

  // Errors: invalid_argument (the uri).
  static Result<std::unique_ptr<ParentLink>> connect(transport::Reactor& reactor,
                                                     const std::string& uri,
                                                     transport::Options options, Identity identity,
                                                     Journal& journal, Callbacks callbacks,
                                                     Duration record_interval);

  // Marks the record of `path` as not yet known above; part of the turn's transaction.
  void changed(const std::string& path);
  // Loads the records that an earlier broker of this instance did not get acknowledged.
  void load_outbox();
  // Is there a connection over which the parent has taken this instance for its child?
  bool is_up() const { return welcome_; }
  // Tells the parent that this instance begins its end: silence is no loss from now on.
  void say_ending() { say_ending({false}); }
  // Sends the last word: the parent has all records. REQUIRES: all_sent(), and no job is active.
  void say_told_all() { say_ending({true}); }
  bool all_sent() const { return dirty_.empty() && in_flight_.empty(); }
  // Asks the parent; an error if it does not answer for a while, or the connection is lost.
  // REQUIRES: is_up().
  void ask(const char* topic, std::string payload, transport::ReplyHandler on_answer);
  // Sends a message that the parent acknowledges; lost if there is no connection.
  void tell(const char* topic, std::string payload);
  // Sends what is due. Call after the commit, lest the parent knows what this instance may forget.
  void flush();
  void send_now();
  // Ends the connection and all sending: calls fail, and requests received are cancelled, while
  // everything that they concern is still there.
  void close();
  // REQUIRES: close() was not called.
  void forward(const transport::Request& request, const std::string& path) {
    client_->forward(request, path);
  }

 private:
  ParentLink(transport::Reactor& reactor, Identity identity, Journal& journal, Callbacks callbacks,
             Duration record_interval);
  void say_hello();
  void say_hello_later();
  void say_ending(const msg::Ending& word);
  void schedule();
  void acknowledged(const Result<std::string>& answer);

  transport::Reactor& reactor_;
  Identity identity_;
  Journal& journal_;
  Callbacks callbacks_;
  Duration record_interval_;
  bool welcome_ = false;
  std::set<std::string> dirty_, in_flight_;
  Time sent_ = 0;     // when the last records were sent
  bool due_ = false;  // to be sent after the commit of this turn
  transport::Subscription timer_, hello_again_;
  // The last member, so that it ends first: the requests it still owes an answer are answered while
  // the others exist.
  std::unique_ptr<transport::Client> client_;
};

}  // namespace holon::instance
