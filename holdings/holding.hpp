// holding.hpp - what an instance holds from its parent, and what it has given to its children.
//
// The life of a holding is the same on both sides. The parent has it under the child, the child
// under the parent:
//
//   offered -taken-> held -recall-> asked back -drain-> draining -release-> returned -gone-> free
//      |              |                 |                   |                  |
//      |              +-----------------+----- fence -------+------------------+
//      |                                      |
//      +-refused-> free                       v
//                                            lost -gone-> free
//
// A unit that is offered or returned is in flight: nobody schedules on it. `gone` is what the
// parent's own agents say about the processes of the child there. The word of the child is not
// enough. A holding that is free is no longer in the book.
//
// A unit is whatever can be lent by itself: a node, a core, a GPU, a GiB of a pool. The root gives
// each a number, which stays the same all the way down.
#pragma once
#include <cstdint>
#include <string>

#include "base/idset.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"

namespace holon::holdings {

using Units = Idset;
using Peer = JobId;  // a child is the job that it is in its parent
inline constexpr Peer kParent{};

using Epoch = std::uint64_t;  // counts the changes of a grant
using Op = std::uint64_t;     // what a side of a link has sent, counted from 1

enum class Side : std::uint8_t { received, given };
// owned: until the end of the lease. extra: above that, recallable always. returned: a loan that
// comes back. spare: in place of a unit that is sick or lost.
enum class Source : std::uint8_t { owned, extra, returned, spare };
enum class State : std::uint8_t { offered, held, asked_back, draining, returned, lost };

const char* name_of(Source source);
const char* name_of(State state);

struct Holding {
  Units units{};
  Peer peer = kParent;
  Side side = Side::received;
  Source source = Source::owned;
  Time until =
      kTimeMax;  // a lease's end, a loan's, a reservation's: no later than the holder's own
  State state = State::held;
  Epoch epoch = 0;      // of the change that brought it
  std::string why{};    // why it is asked back or lost, for people
  Duration notice = 0;  // how long before it must be back the holder is told
  // After how long without a word of the holder it may be taken by a fence; 0: never. A holder that
  // has had no word for half of it uses it for nothing new.
  Duration fence = 0;

  bool operator==(const Holding&) const = default;
};

// ---- sets of units

Units all_of(const Units& a, const Units& b);  // in either
bool has_all(const Units& outer, const Units& inner);
bool have_none_in_common(const Units& a, const Units& b);

}  // namespace holon::holdings
