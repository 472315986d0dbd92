// pulse.hpp - what a broker shows its supervisor while it works: that its beginning gets on, that
// its loop turns, and at which job it is. A page of memory that both have; it is still there when
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

// The job at which two brokers in a row failed, or more.
struct Suspect {
  JobId job;
  bool began = false;  // all of them did so before their first turn

  bool operator==(const Suspect&) const = default;
};

class Pulse {
 public:
  // The supervisor's. Errors: system.
  static Result<Pulse> create();
  // The broker's, of the descriptor it inherited. Errors: system (it is no such page).
  static Result<Pulse> open(transport::UniqueFd fd);

  // What a broker inherits; closed on exec otherwise.
  int fd() const { return fd_.get(); }

  // ---- the broker ----
  // Its beginning has got on: that takes as long as there is to read.
  void beat() { page_->beats.fetch_add(1, std::memory_order_relaxed); }
  // The same, at this job now; JobId(): at none.
  void beat_at(JobId job) {
    page_->job.store(job.value(), std::memory_order_relaxed);
    beat();
  }
  void turn() { page_->turns.fetch_add(1, std::memory_order_relaxed); }
  // Where the scheduler notes the number of the job it looks at; 0: none.
  std::atomic<std::uint64_t>& looking_at() { return page_->job; }
  // Asked once: it is forgotten then.
  std::optional<Suspect> take_suspect();
  // Agents that will not come: what was to start them has failed.
  std::uint64_t lost_agents() const { return page_->lost.load(std::memory_order_relaxed); }
  // As the instance ends another agent beside the broker is started only if the broker asks for it.
  void ask_for_agent(bool asks) { page_->asks.store(asks, std::memory_order_relaxed); }
  // No other one will be started, asked for or not.
  bool agent_given_up() const { return page_->given_up.load(std::memory_order_relaxed) != 0; }

  // ---- the supervisor ----
  // Of the broker there is now; 0: its loop has not begun.
  std::uint64_t turns() const { return page_->turns.load(std::memory_order_relaxed); }
  // Another number than before: it works.
  std::uint64_t signs() const { return turns() + page_->beats.load(std::memory_order_relaxed); }
  // Before a broker is started.
  void begin();
  // The broker hung or crashed: that counts against the job it was at.
  void failed();
  void lose_agents(std::uint64_t more) { page_->lost.fetch_add(more, std::memory_order_relaxed); }
  bool asks_for_agent() const { return page_->asks.load(std::memory_order_relaxed) != 0; }
  void give_up_agent() { page_->given_up.store(1, std::memory_order_relaxed); }

 private:
  struct Page {
    std::atomic<std::uint64_t> turns, beats, job, suspect, failures, beginnings, lost;
    // Not in the page of an older version's supervisor, which may start a newer broker: zero there.
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
