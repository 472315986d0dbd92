// pulse.hpp - what a broker shows its supervisor while it works: that its beginning advances, that
// its loop turns, and which job it is at. A page of memory that both have; it is still there when
// the broker is gone, and costs the broker a store.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

// The job at which two or more brokers in a row failed.
struct Suspect {
  JobId job;
  bool began = false;  // all of them failed before their first turn

  bool operator==(const Suspect&) const = default;
};

class Pulse {
 public:
  // Makes the supervisor's. Errors: system.
  static Result<Pulse> create();
  // Opens the broker's, from the descriptor it inherited. Errors: system (it is no such page).
  static Result<Pulse> open(transport::UniqueFd fd);

  // The descriptor that a broker inherits; closed on exec otherwise.
  int fd() const { return fd_.get(); }

  // ---- the broker ----
  // The broker's beginning has advanced: it takes as long as there is to read.
  void beat() { page_->beats.fetch_add(1, std::memory_order_relaxed); }
  // Likewise, and the broker is at this job now; JobId(): at none.
  void beat_at(JobId job) {
    page_->job.store(job.value(), std::memory_order_relaxed);
    beat();
  }
  void turn() { page_->turns.fetch_add(1, std::memory_order_relaxed); }
  // Where the scheduler notes the number of the job it looks at; 0: none.
  std::atomic<std::uint64_t>& looking_at() { return page_->job; }
  // The suspect, once: it is forgotten then.
  std::optional<Suspect> take_suspect();
  // Agents that will not come: the processes that were to start them have failed.
  std::uint64_t lost_agents() const { return page_->lost.load(std::memory_order_relaxed); }
  // As the instance ends, an agent beside the broker is restarted only if the broker asks for it.
  void ask_for_agent(bool asks) { page_->asks.store(asks, std::memory_order_relaxed); }
  // No other agent will be started, asked for or not.
  bool agent_given_up() const { return page_->given_up.load(std::memory_order_relaxed) != 0; }

  // ---- the supervisor ----
  // Turns of the present broker; 0: its loop has not begun.
  std::uint64_t turns() const { return page_->turns.load(std::memory_order_relaxed); }
  // Changes while the broker works.
  std::uint64_t signs() const { return turns() + page_->beats.load(std::memory_order_relaxed); }
  // Call before a broker is started.
  void begin();
  // The broker hung or crashed; that counts against the job it was at.
  void failed();
  void lose_agents(std::uint64_t more) { page_->lost.fetch_add(more, std::memory_order_relaxed); }
  bool asks_for_agent() const { return page_->asks.load(std::memory_order_relaxed) != 0; }
  void give_up_agent() { page_->given_up.store(1, std::memory_order_relaxed); }

 private:
  struct Page {
    std::atomic<std::uint64_t> turns, beats, job, suspect, failures, beginnings, lost;
    // The page of an older version's supervisor, which may start a newer broker, has zeros here.
    std::atomic<std::uint64_t> asks, given_up;
  };
  struct Unmap {
    void operator()(Page* page) const;
  };
  Pulse(transport::UniqueFd fd, Page* page) : fd_(std::move(fd)), page_(page) {}
  static Result<Pulse> map(transport::UniqueFd fd);

  transport::UniqueFd fd_;
  std::unique_ptr<Page, Unmap> page_;
};

}  // namespace holon::instance
