#include "tests/holdings/small_tree.hpp"

#include <algorithm>

namespace holon::holdings {

namespace {

Peer peer_of(std::size_t instance) {
  return Peer{instance};
}

Units unit(std::size_t u) {
  Units one;
  one.insert(u);
  return one;
}

SmallTree root_with_all(Bounds bounds) {
  SmallTree tree;
  tree.left = bounds;
  Units all;
  all.insert(0, kUnits - 1);
  tree.books[0] = *commit({}, {{entry::Granted{all, kTimeMax}}, {}, {}});
  tree.journals[0] = {entry::Granted{all, kTimeMax}};
  for (Ground& ground : tree.ground) ground.agent[0] = true;
  return tree;
}

bool is_below(const SmallTree& tree, std::size_t instance, std::size_t above) {
  for (std::optional<std::size_t> at = instance; at; at = tree.parent[*at])
    if (*at == above) return true;
  return false;
}

class Moves {
 public:
  Moves(const SmallTree& tree, const Code& code) : tree_(tree), code_(code) {}

  std::vector<Move> all() {
    deliveries();
    agents_look();
    for (std::size_t i = 0; i < kInstances; ++i) work_of(i);
    releases_of_what_is_asked_back();
    returns_of_what_is_wanted_back();
    if (tree_.left.acts > 0) acts();
    for (std::size_t child = 1; child < kInstances; ++child) cut(child);
    return std::move(moves_);
  }

 private:
  // ---- one turn of an instance

  void step(const std::string& name, SmallTree before, std::size_t who, const Turn& turn) {
    if (before.left.crashes > 0 && !turn.sent.empty()) {
      SmallTree dead = before;
      --dead.left.crashes;
      written(dead, who, turn);
      restart(dead, who);
      moves_.push_back({name + ", and dies before it sends", std::move(dead)});
    }
    written(before, who, turn);
    for (const Sent& sent : turn.sent) fly(before, who, sent);
    moves_.push_back({name, std::move(before)});
  }
  void written(SmallTree& tree, std::size_t who, const Turn& turn) {
    const Result<Book> after = code_.commit(tree.books[who], turn);
    if (!after) {
      tree.failed = to_string(after.error());
      return;
    }
    tree.books[who] = *after;
    if (tree.keeps_journals)
      for (const Entry& entry : turn.entries) tree.journals[who].push_back(entry);
    for (const Entry& entry : turn.entries)
      if (const auto* took = std::get_if<entry::Took>(&entry)) start_agents(tree, who, *took);
  }
  void start_agents(SmallTree& tree, std::size_t who, const entry::Took& took) {
    for (const std::uint64_t u : took.extend.units.ids()) {
      Ground& ground = tree.ground[u];
      const bool allowed = !code_.heeds_bar || took.extend.from + 1 > ground.bar[who];
      ground.agent[who] = ground.agent[*tree.parent[who]] && allowed;
    }
  }
  void fly(SmallTree& tree, std::size_t from, const Sent& sent) {
    const std::size_t to = sent.to == kParent ? *tree.parent[from] : sent.to.value();
    const Flying flying{from, to, sent.message};
    if (std::find(tree.net.begin(), tree.net.end(), flying) == tree.net.end())
      tree.net.push_back(flying);
  }
  // What was sent to it is lost; it says hello, and so do its children.
  void restart(SmallTree& tree, std::size_t who) {
    std::erase_if(tree.net, [who](const Flying& flying) { return flying.to == who; });
    for (std::size_t i = 1; i < kInstances; ++i)
      if (i == who || tree.parent[i] == who)
        for (const Sent& sent : hello(tree.books[i]).sent) fly(tree, i, sent);
  }

  // ---- the network

  void deliveries() {
    for (std::size_t i = 0; i < tree_.net.size(); ++i) {
      const Flying& flying = tree_.net[i];
      const Peer from = tree_.parent[flying.to] == flying.from ? kParent : peer_of(flying.from);
      const Turn turn = code_.receive(tree_.books[flying.to], from, flying.message);
      const std::string name = "message " + std::to_string(flying.message.index()) + " from " +
                               std::to_string(flying.from) + " to " + std::to_string(flying.to);
      SmallTree before = tree_;
      before.net.erase(before.net.begin() + static_cast<std::ptrdiff_t>(i));
      step(name, std::move(before), flying.to, turn);
      if (tree_.left.repeats == 0) continue;
      before = tree_;
      --before.left.repeats;
      step(name + ", which comes again", std::move(before), flying.to, turn);
    }
  }
  void cut(std::size_t child) {
    const std::size_t above = *tree_.parent[child];
    const auto between = [&](const Flying& flying) {
      return std::minmax(flying.from, flying.to) == std::minmax(above, child);
    };
    if (tree_.left.cuts == 0 || std::none_of(tree_.net.begin(), tree_.net.end(), between)) return;
    SmallTree after = tree_;
    --after.left.cuts;
    std::erase_if(after.net, between);
    for (const Sent& sent : hello(after.books[child]).sent) fly(after, child, sent);
    moves_.push_back({"cut of " + std::to_string(child), std::move(after)});
  }

  // ---- the nodes

  void agents_look() {
    for (std::size_t child = 1; child < kInstances; ++child) {
      const std::size_t above = *tree_.parent[child];
      const Link& link = link_to(tree_.books[above], peer_of(child));
      for (const std::uint64_t u : to_clear(link).ids()) look(child, u, link);
    }
  }
  // Agents wait for what is returned, and end what is lost. What the child has lent, and was to
  // have back as the fence fell, nobody ends: it is given back.
  void look(std::size_t child, std::uint64_t u, const Link& link) {
    const bool lost = units_in(link, State::lost).contains(u);
    if (lost && lent_on(link).contains(u)) return;
    SmallTree after = tree_;
    Ground& ground = after.ground[u];
    for (std::size_t i = 0; i < kInstances; ++i) {
      if (!is_below(tree_, i, child)) continue;
      if (ground.process[i] && !lost) return;
      ground.process[i] = ground.agent[i] = false;
    }
    ground.bar[child] = link.epoch;
    const std::size_t above = *tree_.parent[child];
    const auto turn = gone(tree_.books[above], peer_of(child), unit(u));
    if (turn) step("unit " + std::to_string(u) + " is clear", std::move(after), above, *turn);
  }

  // ---- jobs

  void work_of(std::size_t who) {
    const Book& book = tree_.books[who];
    for (std::size_t u = 0; u < kUnits; ++u) {
      const Ground& ground = tree_.ground[u];
      if (tree_.left.jobs > 0 && free_in(book).contains(u) && ground.agent[who] &&
          !ground.process[who]) {
        SmallTree before = tree_;
        --before.left.jobs;
        before.ground[u].process[who] = true;
        step("a job begins", std::move(before), who, *place(book, unit(u)));
      }
      if (book.busy.contains(u)) step("a job ends", tree_, who, vacate(book, unit(u)));
      if (ground.process[who] && !book.busy.contains(u)) {
        SmallTree after = tree_;
        after.ground[u].process[who] = false;
        moves_.push_back({"a process ends", std::move(after)});
      }
    }
  }

  // ---- what instances decide

  void releases_of_what_is_asked_back() {
    for (std::size_t child = 1; child < kInstances; ++child) {
      const Book& book = tree_.books[child];
      const Link& up = link_to(book, kParent);
      const Units back = all_of(units_in(up, State::asked_back), units_in(up, State::draining));
      give_back(child, without(back, all_of(book.busy, given_by(book))));
      const Units in_the_way = common(back, given_by(book));
      for (std::size_t below = 1; below < kInstances; ++below)
        if (tree_.parent[below] == child)
          ask_back(child, below, common(in_the_way, in_hand(link_to(book, peer_of(below)))),
                   hardest(up.recalls), tree_);
    }
  }
  void give_back(std::size_t child, const Units& units, Time back_at = kTimeMax) {
    Release wanted;
    wanted.units = units;
    wanted.back_at = back_at;
    SmallTree before = tree_;
    if (const auto turn = release(tree_.books[child], wanted))
      step(std::to_string(child) + " gives back " + units.str(), std::move(before), child, *turn);
  }
  static RecallMode hardest(const std::vector<Recall>& recalls) {
    RecallMode mode = RecallMode::idle;
    for (const Recall& recall : recalls) mode = std::max(mode, recall.mode);
    return mode;
  }
  void ask_back(std::size_t above, std::size_t child, const Units& units, RecallMode mode,
                SmallTree before) {
    Recall wanted;
    wanted.units = units;
    wanted.mode = mode;
    const auto turn = recall(before.books[above], peer_of(child), wanted);
    if (turn && !turn->entries.empty())
      step("recall of " + units.str(), std::move(before), above, *turn);
  }

  SmallTree with_an_act_less() const {
    SmallTree before = tree_;
    --before.left.acts;
    return before;
  }
  void acts() {
    for (std::size_t child = 1; child < kInstances; ++child) {
      const std::size_t above = *tree_.parent[child];
      const Book& book = tree_.books[above];
      extends(above, child);
      const Link& link = link_to(book, peer_of(child));
      for (const RecallMode mode : {RecallMode::drain, RecallMode::kill})
        ask_back(above, child, without(in_hand(link), own_of(link)), mode, with_an_act_less());
      if (!without(units_of(link), to_clear(link)).empty()) fence_off(above, child);
      lend(child);
      want_back(child);
      come_back(child, lent_on(link), with_an_act_less());
    }
  }
  // All, or only what is asked back.
  void fence_off(std::size_t above, std::size_t child) {
    const Book& book = tree_.books[above];
    const Link& link = link_to(book, peer_of(child));
    step("fence of " + std::to_string(child), with_an_act_less(), above,
         fence(book, peer_of(child), "silent"));
    const Units back = all_of(units_in(link, State::asked_back), units_in(link, State::draining));
    if (!back.empty() && back != units_of(link))
      step("fence of " + std::to_string(child) + " around " + back.str(), with_an_act_less(), above,
           fence(book, peer_of(child), "silent", back));
  }
  // One unit, of those that look alike the first.
  void extends(std::size_t above, std::size_t child) {
    std::vector<Ground> seen;
    for (const std::uint64_t u : free_in(tree_.books[above]).ids()) {
      if (tree_.ground[u].process[above]) continue;  // its own agents tell it so
      if (std::find(seen.begin(), seen.end(), tree_.ground[u]) != seen.end()) continue;
      seen.push_back(tree_.ground[u]);
      Extend wanted;
      wanted.units = unit(u);
      if (const auto turn = extend(tree_.books[above], peer_of(child), wanted))
        step("unit " + std::to_string(u) + " to " + std::to_string(child), with_an_act_less(),
             above, *turn);
    }
  }
  // What is the child's own is not asked back.
  static Units own_of(const Link& link) {
    Units own;
    for (const Holding& holding : link.holdings)
      if (holding.source == Source::owned) own = all_of(own, holding.units);
    return own;
  }
  // A loan comes again, as the child's own: what is free of it at the root, which nobody recalls.
  void come_back(std::size_t child, const Units& lent, SmallTree before) {
    if (tree_.parent[child] != 0U) return;
    const Book& book = tree_.books[*tree_.parent[child]];
    Extend wanted;
    const Link& link = link_to(book, peer_of(child));
    for (const std::uint64_t u : common(all_of(free_in(book), to_clear(link)), lent).ids())
      if (!tree_.ground[u].process[*tree_.parent[child]]) wanted.units.insert(u);
    wanted.until = until_of(book, wanted.units);
    if (const auto turn = code_.give_back(book, peer_of(child), wanted))
      step("what " + std::to_string(child) + " has lent comes back", std::move(before),
           *tree_.parent[child], *turn);
  }
  void returns_of_what_is_wanted_back() {
    for (std::size_t child = 1; child < kInstances; ++child) {
      const Link& link = link_to(tree_.books[*tree_.parent[child]], peer_of(child));
      Units wanted;
      for (const Reclaim& open : link.reclaims) wanted = all_of(wanted, open.units);
      // It was coming back.
      wanted = all_of(wanted, common(units_in(link, State::lost), lent_on(link)));
      come_back(child, wanted, tree_);
    }
  }
  void want_back(std::size_t child) {
    const Book& book = tree_.books[child];
    const Link& up = link_to(book, kParent);
    if (tree_.parent[child] != 0U || up.loans.empty() || !up.reclaims.empty()) return;
    Reclaim wanted;
    wanted.units = up.loans.front().units;
    if (const auto turn = reclaim(book, wanted))
      step(std::to_string(child) + " wants back what it has lent", with_an_act_less(), child,
           *turn);
  }
  // The child lends one unit of those that it has no use for.
  void lend(std::size_t child) {
    const Book& book = tree_.books[child];
    const Units idle = free_in(book);
    if (idle.empty()) return;
    Release wanted;
    wanted.units = unit(idle.first());
    wanted.back_at = 100;
    if (const auto turn = release(book, wanted))
      step(std::to_string(child) + " lends", with_an_act_less(), child, *turn);
  }

  const SmallTree& tree_;
  const Code& code_;
  std::vector<Move> moves_;
};

// ---- what must never be

std::vector<Member> members_of(const SmallTree& tree) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < kInstances; ++i)
    members.push_back({"/" + std::to_string(i), tree.parent[i], Peer{i}, tree.books[i]});
  return members;
}

std::string trouble_on_the_ground(const SmallTree& tree) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    const auto& process = tree.ground[u].process;
    const std::string name = "unit " + std::to_string(u);
    if (std::count(process.begin(), process.end(), true) > 1) return name + ": two instances run";
    for (std::size_t i = 0; i < kInstances; ++i)
      if (free_in(tree.books[i]).contains(u) && tree.ground[u].agent[i])
        for (std::size_t other = 0; other < kInstances; ++other)
          if (other != i && process[other])
            return name + " is free in " + std::to_string(i) + ", and a process of " +
                   std::to_string(other) + " is there";
  }
  return "";
}

std::string trouble_at_rest(const SmallTree& tree) {
  for (std::size_t i = 0; i < kInstances; ++i)
    for (const auto& [peer, link] : tree.books[i].links) {
      const std::string name =
          "the link of " + std::to_string(i) + " to " + std::to_string(peer.value());
      if (link.extending || link.releasing) return name + " is never settled";
      if (!to_clear(link).empty()) return name + ": units never come free";
      if (!link.recalls.empty() || !units_in(link, State::asked_back).empty())
        return name + ": what is asked back is never given";
      if (peer != kParent && !link.reclaims.empty())
        return name + ": what was lent is asked back, and never comes";
    }
  return "";
}

// ---- bytes

struct Writer {
  std::string out;

  void number(std::uint64_t n) {
    out += std::to_string(n);
    out += ' ';
  }
  void text(const std::string& s) {
    out += s;
    out += ';';
  }
  void units(const Units& u) { text(u.str()); }
  void due(const Due& d) {
    units(d.units);
    number(static_cast<std::uint64_t>(d.at));
  }

  void operator()(const Demand& m) { number(m.op); }
  void operator()(const Ask& m) { number(m.op); }
  void operator()(const Hello& m) { number(m.epoch); }
  void operator()(const Will& m) {
    number(m.op);
    for (const Due& d : m.units) due(d);
  }
  void operator()(const Ready& m) { number(m.op); }
  void operator()(const Extend& m) {
    number(m.op);
    number(m.from);
    units(m.units);
    number(static_cast<std::uint64_t>(m.source));
  }
  void operator()(const Reclaim& m) {
    number(m.op);
    units(m.units);
  }
  void operator()(const Taken& m) { number(m.op); }
  void operator()(const Refused& m) { number(m.op); }
  void operator()(const Release& m) {
    number(m.op);
    number(m.from);
    units(m.units);
    number(static_cast<std::uint64_t>(m.back_at));
  }
  void operator()(const Ack& m) { number(m.op); }
  void operator()(const Stale& m) { number(m.op); }
  void operator()(const Recall& m) {
    number(m.op);
    units(m.units);
    number(static_cast<std::uint64_t>(m.mode));
  }
  void operator()(const Lease& m) { number(m.op); }
  void operator()(const Fenced& m) {
    number(m.epoch);
    units(m.keeps);
    units(m.lent);
  }
  void operator()(const Welcome& m) { number(m.epoch); }
  void operator()(const Promise& m) { number(m.op); }
  void operator()(const No& m) { number(m.op); }
  void operator()(const Withdraw& m) { number(m.op); }
  void message(const Message& m) {
    number(m.index());
    std::visit(*this, m);
  }

  void link(const Link& l) {
    number(l.epoch);
    number(l.fence);
    for (const Holding& h : l.holdings) {
      units(h.units);
      number(static_cast<std::uint64_t>(h.state));
      number(h.epoch);
      number(static_cast<std::uint64_t>(h.source));
    }
    if (l.extending) (*this)(*l.extending);
    out += '/';
    if (l.releasing) (*this)(*l.releasing);
    out += '/';
    for (const Recall& recall : l.recalls) (*this)(recall);
    out += '/';
    for (const Kept& kept : l.kept) {
      number(kept.op);
      number(kept.answer.index());
    }
    for (const Due& d : l.loans) due(d);
    for (const Reclaim& reclaim : l.reclaims) (*this)(reclaim);
  }
  void book(const Book& b) {
    number(b.last_op);
    units(b.busy);
    for (const auto& [peer, l] : b.links) {
      number(peer.value());
      link(l);
    }
  }
  void ground(const Ground& g) {
    for (std::size_t i = 0; i < kInstances; ++i) {
      out += static_cast<char>('a' + 2 * g.agent[i] + g.process[i]);
      number(g.bar[i]);
    }
  }
};

}  // namespace

SmallTree fork_of_three(Bounds bounds) {
  SmallTree tree = root_with_all(bounds);
  tree.parent = {std::nullopt, 0, 0};
  return tree;
}

SmallTree chain_of_three(Bounds bounds) {
  SmallTree tree = root_with_all(bounds);
  tree.parent = {std::nullopt, 0, 1};
  return tree;
}

std::vector<Move> moves_from(const SmallTree& tree, const Code& code) {
  return Moves(tree, code).all();
}

std::string trouble_in(const SmallTree& tree, bool at_rest) {
  if (!tree.failed.empty()) return tree.failed;
  if (const auto breach = check(members_of(tree)))
    return breach->path + ": " + breach->what + " (invariant " + std::to_string(breach->invariant) +
           ")";
  if (std::string ground = trouble_on_the_ground(tree); !ground.empty()) return ground;
  return at_rest ? trouble_at_rest(tree) : "";
}

std::string bytes_of(const SmallTree& tree) {
  Writer writer;
  for (const Book& book : tree.books) {
    writer.book(book);
    writer.out += '|';
  }
  std::vector<std::string> flying;
  for (const Flying& f : tree.net) {
    Writer one;
    one.number(f.from);
    one.number(f.to);
    one.message(f.message);
    flying.push_back(std::move(one.out));
  }
  std::sort(flying.begin(), flying.end());
  for (const std::string& f : flying) writer.text(f);
  for (const Ground& ground : tree.ground) writer.ground(ground);
  const Bounds& left = tree.left;
  for (const int n : {left.acts, left.repeats, left.cuts, left.crashes, left.jobs})
    writer.number(static_cast<std::uint64_t>(n));
  return std::move(writer.out);
}

std::vector<Journal> journals_of(const SmallTree& tree) {
  std::vector<Journal> journals;
  for (std::size_t i = 0; i < kInstances; ++i) {
    Journal journal{"/" + std::to_string(i), tree.parent[i], Peer{i}, {}};
    for (const Entry& entry : tree.journals[i]) journal.entries.push_back({0, entry});
    journals.push_back(std::move(journal));
  }
  return journals;
}

}  // namespace holon::holdings
