// messages.hpp - what a parent and a child say to each other about what the child holds.
//
// Every message has an `op`, by which a repeated one is known. A delta (extend, release) names the
// epoch it starts from, too: it is applied only if that is the epoch of the grant. Values with
// plain members, so that msg/ can pack them.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "holdings/holding.hpp"

namespace holon::holdings {

// How what is asked back is given up; each is harder than the one before. lost: the instance above
// knows that what ran there has ended, or has given up its agent there.
enum class RecallMode : std::uint8_t { idle, drain, kill, lost };

// ---- up, and not a delta

// What the child could use: `min` to `max` units of a shape, until a time.
struct Want {
  std::string shape{};
  std::int64_t min = 0, max = 0;
  Time until = kTimeMax;
  std::int64_t starts = 0;  // jobs that would start
  std::int64_t gain = 0;    // weighted seconds of wait saved
  bool operator==(const Want&) const = default;
};
struct Idle {
  Units units{};
  Time until = kTimeMax;
  bool operator==(const Idle&) const = default;
};
// A state, not a command: one that is lost, repeated or late harms nothing.
struct Demand {
  Op op = 0;
  std::vector<Want> wants{};
  std::vector<Idle> idle{};
  std::int64_t share = 0;  // thousandths of the dominant share
  std::int64_t pending = 0;
  Time ends_at = kTimeMax;  // when the child's queue would be empty
  bool operator==(const Demand&) const = default;
};
// Asked once. The answer is an extend that names this op, a promise or a no.
struct Ask {
  Op op = 0;
  std::string jobspec{};
  std::int64_t min = 0, max = 0;
  Time until = kTimeMax;
  Time by = kTimeMax;
  bool operator==(const Ask&) const = default;
};
// The child does without what it has asked for, if that is not on its way. Answered with a no.
struct Withdraw {
  Op op = 0;  // the ask's
  bool operator==(const Withdraw&) const = default;
};
// A child that has (again) a connection: the epoch of its journal.
struct Hello {
  Epoch epoch = 0;
  bool operator==(const Hello&) const = default;
};
// Who is asked says which units come when.
struct Due {
  Units units{};
  Time at = 0;
  bool operator==(const Due&) const = default;
};
struct Will {
  Op op = 0;  // the recall's
  std::vector<Due> units{};
  bool operator==(const Will&) const = default;
};
// What a child has lent is to come back before its time: what nobody uses at once, the rest as it
// is given up, or, with the mode kill, by a time. It is said again after each hello until it is
// back.
struct Reclaim {
  Op op = 0;
  Units units{};
  Time by = 0;
  RecallMode mode = RecallMode::drain;
  std::string why{};
  bool operator==(const Reclaim&) const = default;
};
// The second phase of an extend: the child's agents are there, or will never be.
struct Ready {
  Op op = 0;  // the extend's
  bool failed = false;
  std::string why{};
  bool operator==(const Ready&) const = default;
};

// ---- deltas, and their answers

struct Extend {
  Op op = 0;
  Epoch from = 0;
  Units units{};
  Source source = Source::extra;
  Time until = kTimeMax;
  Duration notice = 0;
  Op answers = 0;      // the ask's op; 0: none was asked
  Units replaces{};    // of a spare: the units that are no longer the child's
  Duration fence = 0;  // Holding::fence
  bool operator==(const Extend&) const = default;
};
struct Taken {
  Op op = 0;
  bool operator==(const Taken&) const = default;
};
struct Refused {
  Op op = 0;
  std::string why{};
  bool operator==(const Refused&) const = default;
};
struct Release {
  Op op = 0;
  Epoch from = 0;
  Units units{};
  Time back_at = kTimeMax;  // a loan, until then; kTimeMax: for good
  Duration notice = 0;
  bool operator==(const Release&) const = default;
};
struct Ack {
  Op op = 0;
  bool operator==(const Ack&) const = default;
};
// The release starts from another epoch, or was crossed by an extend. Nothing has changed; the
// child makes it again.
struct Stale {
  Op op = 0;
  bool operator==(const Stale&) const = default;
};

// ---- down, and not a delta

struct Recall {
  Op op = 0;
  Units units{};
  Time by = 0;
  RecallMode mode = RecallMode::drain;
  std::string why{};  // and for whom, for people
  bool operator==(const Recall&) const = default;
};
struct Lease {
  Op op = 0;
  Time until = kTimeMax;
  bool operator==(const Lease&) const = default;
};
// What the child held up to `epoch` was taken from it, but for what it keeps, and for what it has
// lent and is still to have back.
struct Fenced {
  Epoch epoch = 0;
  std::string why{};
  Units keeps{};
  Units lent{};
  bool operator==(const Fenced&) const = default;
};
struct Welcome {
  Epoch epoch = 0;
  bool operator==(const Welcome&) const = default;
};
struct Promise {
  Op op = 0;  // the ask's
  Time at = 0;
  bool operator==(const Promise&) const = default;
};
struct No {
  Op op = 0;  // the ask's
  std::string why{}, help{};
  bool never = false;  // there will be none of this kind; otherwise another ask may be met
  bool operator==(const No&) const = default;
};

using Message = std::variant<Demand, Ask, Hello, Will, Ready, Extend, Taken, Refused, Release, Ack,
                             Stale, Recall, Lease, Fenced, Welcome, Promise, No, Withdraw, Reclaim>;

}  // namespace holon::holdings
