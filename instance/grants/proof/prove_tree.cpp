// A number of a job names one child in the book of its parent, and perhaps several lives of it: one
// that began again knowing nothing has a new link there, and its journal tells of the last alone.
// The links of former lives get numbers that no journal has, so that only the parent's side of them
// is looked at.
#include "instance/grants/proof/prove_tree.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/instance_path.hpp"
#include "instance/grants/grant_codec.hpp"
#include "instance/grants/proof/journal_copy.hpp"
#include "instance/grants/proof/kept_history.hpp"
#include "instance/journal/files.hpp"
#include "instance/process/state_claim.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
namespace h = holdings;
namespace he = holdings::entry;

constexpr int kMostReadings = 3;     // of a tree that changes
constexpr unsigned kLifeShift = 48;  // numbers of jobs are below that

// The child that an entry of its parent is about; null: none.
h::Peer* child_in(h::Entry& entry) {
  return std::visit(
      [](auto& e) -> h::Peer* {
        if constexpr (requires { e.child; }) return &e.child;
        if constexpr (requires { e.peer; }) return e.peer == h::kParent ? nullptr : &e.peer;
        return nullptr;
      },
      entry);
}

// Numbers of the folders of children, ascending. A link could lead back up.
std::vector<std::uint64_t> folders_of_children(const std::string& state_dir) {
  std::vector<std::uint64_t> all;
  std::error_code error;
  for (fs::directory_iterator at(state_dir + "/children", error), end; !error && at != end;
       at.increment(error)) {
    if (at->symlink_status(error).type() != fs::file_type::directory) continue;
    if (const auto id = job_number(at->path().filename().string())) all.push_back(*id);
  }
  std::sort(all.begin(), all.end());
  return all;
}

struct ReadInstance {
  TreeProof::Of of;
  std::optional<std::size_t> parent;
  h::Peer peer = h::kParent;
  bool is_readable = false;
  KeptHistory history;
  std::vector<h::Recorded> later;
  std::set<h::Peer> begun;       // children, by the journal
  std::map<h::Peer, Time> over;  // of these, since when, by the wall clock
};

// Tells the lives of each child apart, in what one journal has of them.
class LivesOfChildren {
 public:
  explicit LivesOfChildren(const std::vector<h::Recorded>& entries) {
    for (const h::Recorded& recorded : entries)
      if (const auto* began = std::get_if<he::Began>(&recorded.entry)) ++begun_[began->child];
  }
  // The last life in these entries keeps its number.
  void rename(std::vector<h::Recorded>& entries) {
    for (h::Recorded& recorded : entries) {
      h::Peer* const child = child_in(recorded.entry);
      if (child == nullptr) continue;
      const h::Peer known = *child;
      if (std::holds_alternative<he::Began>(recorded.entry)) ++at_[known];
      const std::uint64_t life = at_[known];
      if (life != begun_[known]) *child = h::Peer(known.value() | (life + 1) << kLifeShift);
    }
  }

 private:
  std::map<h::Peer, std::uint64_t> begun_, at_;
};

class ReadTree {
 public:
  explicit ReadTree(const std::string& state_dir) {
    visit(fs::path(state_dir).lexically_normal().string(), std::nullopt, h::kParent);
  }

  TreeProof prove() {
    std::vector<h::Journal> journals;
    for (ReadInstance& one : all_) journals.push_back(journal_of(one));
    const h::ProvenHistory proven = h::prove(journals);
    TreeProof proof;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      all_[i].of.looked_at = proven.looked_at[i];
      proof.instances.push_back(all_[i].of);
    }
    if (proven.breach) proof.breach = told(*proven.breach);
    return proof;
  }

 private:
  void visit(const std::string& state_dir, std::optional<std::size_t> parent, h::Peer peer) {
    const std::size_t at = all_.size();
    all_.emplace_back();
    all_[at].of.state_dir = state_dir;
    all_[at].parent = parent;
    all_[at].peer = peer;
    all_[at].of.path = parent ? path_below(all_[*parent].of.path, peer) : "/";
    read(all_[at]);
    std::set<std::uint64_t> children;
    for (const auto id : folders_of_children(state_dir)) children.insert(id);
    for (const auto id : children)
      visit(state_dir + "/children/" + std::to_string(id), at, h::Peer(id));
    for (const h::Peer child : all_[at].begun)
      if (!children.contains(child.value()) && !all_[at].over.contains(child))
        all_[at].of.not_kept.push_back(
            fmt::format("{} has what this instance gave it, and its journal is not here: there is "
                        "no folder {}/children/{}",
                        path_below(all_[at].of.path, child), state_dir, child.value()));
    if (all_[at].is_readable && all_[at].of.runs && !children.empty()) read_later(all_[at]);
  }

  static std::string path_below(const std::string& path, h::Peer child) {
    return (path == "/" ? "" : path) + "/" + std::to_string(child.value());
  }

  void read(ReadInstance& one) {
    one.of.runs = is_claimed(one.of.state_dir);
    const auto copy = JournalCopy::of(one.of.state_dir);
    auto history = copy ? read_history(*copy) : tl::unexpected(copy.error());
    // A child that begins has a folder first.
    const bool has_begun = !one.parent || all_[*one.parent].begun.contains(one.peer);
    if (!history && history.error().code == Errc::not_found && !has_begun) return;
    if (!history) {
      one.of.trouble.push_back(to_string(history.error()));
    } else {
      one.history = std::move(*history);
      take(one);
    }
    // People know the journal, and not its copy.
    for (std::string& line : one.of.trouble)
      if (copy) line = with_other_name(line, copy->state_dir(), one.of.state_dir);
  }

  static std::string with_other_name(std::string text, const std::string& name,
                                     const std::string& other) {
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), other);
      at += other.size();
    }
    return text;
  }

  // What the journal says of itself.
  void take(ReadInstance& one) {
    const std::string& path = one.history.path;
    const std::string file = journal_file(one.of.state_dir);
    if (!one.parent && !path.empty()) {
      one.of.path = path;
      if (const auto id = job_number(fs::path(path).filename().string())) one.peer = h::Peer(*id);
    }
    one.of.not_kept = one.history.not_kept;
    for (const std::string& damage : one.history.damage)
      one.of.trouble.push_back(fmt::format("{}: {}", file, damage));
    if (!path.empty() && path != one.of.path) {
      one.of.trouble.push_back(
          fmt::format("{}: it is the journal of {}, of another tree than this folder", file, path));
      return;
    }
    one.is_readable = one.of.trouble.empty();
    if (!one.is_readable) return;
    one.of.entries = one.history.entries.size();
    for (const h::Recorded& recorded : one.history.entries) {
      const Time when = recorded.time + one.history.offset;
      if (one.of.first == 0) one.of.first = when;
      one.of.last = when;
      if (recorded.begins_anew) all_over(one, when);
      if (const auto* began = std::get_if<he::Began>(&recorded.entry)) {
        one.begun.insert(began->child);
        one.over.erase(began->child);
      }
      if (const auto* over = std::get_if<he::Over>(&recorded.entry)) one.over[over->child] = when;
    }
    if (one.history.begins_again) all_over(one, one.of.last);
  }

  static void all_over(ReadInstance& one, Time when) {
    for (const h::Peer child : one.begun) one.over.try_emplace(child, when);
  }

  static void read_later(ReadInstance& one) {
    const auto copy = JournalCopy::of(one.of.state_dir);
    if (!copy) return;
    const std::int64_t last = one.history.numbers.empty() ? 0 : one.history.numbers.back();
    if (auto later = entries_behind(*copy, last)) one.later = std::move(*later);
  }

  // Is what the journal of its parent has of it there to be compared?
  bool is_linked(ReadInstance& one) {
    if (!one.parent) return false;
    const ReadInstance& parent = all_[*one.parent];
    if (!parent.is_readable || !one.is_readable || one.history.entries.empty()) return false;
    if (is_of_another_life(one, parent)) return false;
    if (parent.begun.contains(one.peer) || parent.history.not_kept.empty()) return true;
    one.of.not_kept.push_back(
        fmt::format("what {} had written of it is not kept any more", parent.of.path));
    return false;
  }

  // The parent has written nothing of a child that began after the one that it knows was over.
  static bool is_of_another_life(const ReadInstance& one, const ReadInstance& parent) {
    const auto over = parent.over.find(one.peer);
    return (over != parent.over.end() && over->second < one.of.first) ||
           std::any_of(parent.later.begin(), parent.later.end(), [&](const h::Recorded& later) {
             const auto* ends = std::get_if<he::Over>(&later.entry);
             return ends != nullptr && ends->child == one.peer;
           });
  }

  h::Journal journal_of(ReadInstance& one) {
    h::Journal journal{one.of.path, {}, one.peer, {}};
    if (!one.is_readable) return journal;
    if (is_linked(one)) journal.parent = one.parent;
    LivesOfChildren lives(one.history.entries);
    journal.entries = one.history.entries;
    journal.later = one.later;
    journal.uses = one.history.uses;
    for (h::Use& use : journal.uses) {
      use.begin += one.history.offset;
      if (use.end != kTimeMax) use.end += one.history.offset;
    }
    lives.rename(journal.entries);
    lives.rename(journal.later);
    for (auto* const entries : {&journal.entries, &journal.later})
      for (h::Recorded& recorded : *entries) recorded = by_wall_clock(recorded, one);
    return journal;
  }

  // Lengths stay what they are.
  static h::Recorded by_wall_clock(h::Recorded recorded, const ReadInstance& of) {
    const std::string text = instance::text_of(recorded.entry, 0);
    if (auto moved = parse_entry(text, of.history.offset)) recorded.entry = std::move(*moved);
    recorded.time += of.history.offset;
    return recorded;
  }

  TreeProof::Breach told(const h::BreachInHistory& found) const {
    const ReadInstance& at = all_[found.journal];
    TreeProof::Breach breach;
    breach.invariant = found.breach.invariant;
    breach.path = found.breach.path;
    breach.what = found.breach.what;
    breach.time = found.time;
    breach.number = at.history.numbers[found.entry];
    breach.entry = instance::text_of(by_wall_clock(at.history.entries[found.entry], at).entry, 0);
    breach.journal = journal_file(at.of.state_dir);
    return breach;
  }

  std::vector<ReadInstance> all_;
};

bool is_changing(const TreeProof& proof) {
  return std::any_of(proof.instances.begin(), proof.instances.end(),
                     [](const TreeProof::Of& one) { return one.runs; });
}

}  // namespace

bool TreeProof::holds() const {
  return !breach && std::all_of(instances.begin(), instances.end(),
                                [](const Of& one) { return one.trouble.empty(); });
}

// What is wrong with a tree that is not changing stays wrong.
TreeProof prove_tree(const std::string& state_dir) {
  TreeProof proof;
  for (int i = 0; i < kMostReadings; ++i) {
    proof = ReadTree(state_dir).prove();
    if (proof.holds() || !is_changing(proof)) break;
  }
  return proof;
}

}  // namespace holon::instance
