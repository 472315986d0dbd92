#include "web/rows.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/hostlist.hpp"
#include "msg/job_filter.hpp"

namespace holon::web {
namespace {

constexpr std::int32_t kMostLanes = 256;  // of a row; more jobs than these share its last lane
constexpr std::size_t kNamedColours = 8;  // users, queues; the others have one colour together
const std::string kUndecided = "not decided";

// The meanings of a colouring, and that of each job.
class Colours {
 public:
  Colours(ColourBy by, const std::vector<const msg::JobRecord*>& jobs) : by_(by) {
    if (by == ColourBy::result)
      names_ = {"waiting", "running", "completed", "cancelled", "time limit", "failed"};
    else if (by == ColourBy::wait)
      names_ = {"below 1 min", "below 10 min", "below 1 h", "1 h or more"};
    else if (by == ColourBy::size)
      names_ = {"1 core", "below 8 cores", "below 64 cores", "64 cores or more"};
    else
      name_the_most(jobs);
  }
  const std::vector<std::string>& names() const { return names_; }

  std::uint8_t of(const msg::JobRecord& job, Time now) const {
    if (by_ == ColourBy::result) return of_result(job);
    if (by_ == ColourBy::size) return step_of(job.ncores, {2, 8, 64});
    if (by_ == ColourBy::wait) {
      const Time until = start_of(job) > 0 ? start_of(job) : is_over(job) ? job.t_inactive : now;
      return step_of(until - job.t_submit, {60'000, 600'000, 3'600'000});
    }
    const auto place = std::find(names_.begin(), names_.end(), key_of(job));
    return static_cast<std::uint8_t>(place == names_.end() ? names_.size() - 1
                                                           : place - names_.begin());
  }

 private:
  static std::uint8_t of_result(const msg::JobRecord& job) {
    if (!is_over(job)) return is_running(job) ? 1 : 0;
    if (job.result == "COMPLETED") return 2;
    if (job.result == "CANCELED") return 3;
    return job.result == "TIMEOUT" ? 4 : 5;
  }
  static std::uint8_t step_of(std::int64_t value, std::initializer_list<std::int64_t> steps) {
    std::uint8_t step = 0;
    for (const std::int64_t from : steps) step = static_cast<std::uint8_t>(step + (value >= from));
    return step;
  }
  const std::string& key_of(const msg::JobRecord& job) const {
    return by_ == ColourBy::user ? job.user : job.queue;
  }
  void name_the_most(const std::vector<const msg::JobRecord*>& jobs) {
    std::map<std::string, std::int64_t> counts;
    for (const auto* job : jobs) ++counts[key_of(*job)];
    std::vector<std::pair<std::int64_t, std::string>> most;
    for (const auto& [name, n] : counts) most.emplace_back(-n, name);
    std::sort(most.begin(), most.end());
    for (std::size_t i = 0; i < std::min(most.size(), kNamedColours); ++i)
      names_.push_back(most[i].second);
    if (most.size() > kNamedColours || names_.empty()) names_.emplace_back("others");
  }

  ColourBy by_;
  std::vector<std::string> names_;
};

// The rows of a layout, and how long each lane is taken.
class Lanes {
 public:
  explicit Lanes(Layout& layout) : layout_(layout) {}

  // `fixed`: the lanes that the row has; 0: as many as its jobs need.
  std::int32_t row(const std::string& name, std::int64_t fixed = 0) {
    const auto [place, is_new] = rows_.try_emplace(name, static_cast<std::int32_t>(taken_.size()));
    if (is_new) {
      const auto lanes = static_cast<std::int32_t>(std::clamp<std::int64_t>(fixed, 1, kMostLanes));
      layout_.rows.push_back({name, lanes});
      taken_.emplace_back(static_cast<std::size_t>(lanes), std::numeric_limits<Time>::min());
      fixed_.push_back(fixed > 0);
    }
    return place->second;
  }

  // Puts a piece with so many lanes in the first lanes that are free from its beginning on. Returns
  // the places of the pieces that it became: several where the free lanes are no neighbours.
  // `holder`: the instance whose job it is; one that has lanes of this row has its jobs in them.
  std::vector<std::size_t> put(Piece piece, std::int64_t wanted, const std::string& holder = "") {
    const auto held = held_.find({piece.row, holder});
    if (held != held_.end()) return put_inside(piece, wanted, held->second);
    auto& taken = taken_[static_cast<std::size_t>(piece.row)];
    auto lanes = static_cast<std::int32_t>(std::clamp<std::int64_t>(wanted, 1, kMostLanes));
    std::vector<std::int32_t> free;
    const auto has_all = [&] { return static_cast<std::int32_t>(free.size()) == lanes; };
    for (std::int32_t lane = 0; lane < size_of(taken) && !has_all(); ++lane)
      if (taken[static_cast<std::size_t>(lane)] <= piece.begin) free.push_back(lane);
    while (!has_all() && !fixed_[static_cast<std::size_t>(piece.row)] &&
           size_of(taken) < kMostLanes) {
      free.push_back(size_of(taken));
      taken.push_back(0);
    }
    if (free.empty()) free.push_back(size_of(taken) - 1);
    for (const std::int32_t lane : free) taken[static_cast<std::size_t>(lane)] = piece.end;
    layout_.rows[static_cast<std::size_t>(piece.row)].lanes = size_of(taken);
    return put_runs(piece, free);
  }

  // Gives the lanes of these pieces to an instance, for its jobs, until the end of the pieces.
  void hold(const std::string& instance, const std::vector<std::size_t>& places) {
    for (const std::size_t place : places) {
      const Piece& piece = layout_.pieces[place];
      auto& lanes = held_[{piece.row, instance}];
      for (auto lane = piece.lane; lane < piece.lane + piece.lanes; ++lane) {
        const auto [held, is_new] = lanes.try_emplace(lane);
        held->second.end = std::max(held->second.end, piece.end);
      }
    }
  }

 private:
  // A lane that an instance has until `end`; its jobs take it until `taken`.
  struct Held {
    Time taken = 0, end = 0;
  };
  std::vector<std::size_t> put_inside(const Piece& piece, std::int64_t wanted,
                                      std::map<std::int32_t, Held>& lanes) {
    std::vector<std::int32_t> free;
    for (const auto& [lane, held] : lanes)
      if (held.taken <= piece.begin && piece.begin < held.end &&
          static_cast<std::int64_t>(free.size()) < wanted)
        free.push_back(lane);
    if (free.empty()) free.push_back(lanes.rbegin()->first);
    for (const std::int32_t lane : free) lanes[lane].taken = piece.end;
    return put_runs(piece, free);
  }
  static std::int32_t size_of(const std::vector<Time>& taken) {
    return static_cast<std::int32_t>(taken.size());
  }
  std::vector<std::size_t> put_runs(Piece piece, const std::vector<std::int32_t>& lanes) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < lanes.size();) {
      std::size_t next = i + 1;
      while (next < lanes.size() && lanes[next] == lanes[next - 1] + 1) ++next;
      piece.lane = lanes[i];
      piece.lanes = static_cast<std::int32_t>(next - i);
      places.push_back(layout_.pieces.size());
      layout_.pieces.push_back(piece);
      i = next;
    }
    return places;
  }

  Layout& layout_;
  std::unordered_map<std::string, std::int32_t> rows_;
  std::vector<std::vector<Time>> taken_;
  std::vector<bool> fixed_;
  // By row and instance: the lanes that it has.
  std::map<std::pair<std::int32_t, std::string>, std::map<std::int32_t, Held>> held_;
};

class Layouter {
 public:
  explicit Layouter(const LayoutInput& input)
      : input_(input), colours_(input.colour, input.jobs), lanes_(layout_) {}

  Layout run() {
    layout_.colours = colours_.names();
    if (input_.rows == RowsBy::nodes)
      for (const Host& host : input_.hosts)
        lanes_.row(host.name, std::max<std::int64_t>(host.cores, 1));
    for (const auto* job : in_order_of_begin()) add(*job);
    for (const auto* span : input_.plan) add(*span);
    return std::move(layout_);
  }

 private:
  // When a job's first piece begins, if it has one: only rows of jobs show what has not started.
  std::optional<Time> begin_of(const msg::JobRecord& job) const {
    const Time start = start_of(job);
    const bool by_job = input_.rows == RowsBy::jobs;
    if (start == 0 && (!by_job || is_over(job))) return std::nullopt;
    return by_job ? job.t_submit : start;
  }

  // The jobs that have pieces. Most of a large instance's wait and have none: they are left out
  // before the rest is sorted, and each job's begin is read from its state once.
  std::vector<const msg::JobRecord*> in_order_of_begin() const {
    struct Begun {
      Time begin;
      const msg::JobRecord* job;
    };
    std::vector<Begun> begun;
    for (const auto* job : input_.jobs)
      if (const auto begin = begin_of(*job)) begun.push_back({*begin, job});
    std::sort(begun.begin(), begun.end(), [](const Begun& a, const Begun& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.job->id != b.job->id ? a.job->id < b.job->id : a.job->path < b.job->path;
    });
    std::vector<const msg::JobRecord*> jobs;
    jobs.reserve(begun.size());
    for (const Begun& each : begun) jobs.push_back(each.job);
    return jobs;
  }

  std::uint32_t subject_of(const std::string& path, std::string label) {
    layout_.subjects.push_back({path, std::move(label)});
    return static_cast<std::uint32_t>(layout_.subjects.size() - 1);
  }

  // The rows of something that has these nodes, or is of this job.
  std::vector<std::int32_t> rows_of(const std::string& nodelist, const std::string& path,
                                    const std::string& user) {
    switch (input_.rows) {
      case RowsBy::jobs:
        return {lanes_.row(path, 1)};
      case RowsBy::users:
        return {lanes_.row(user)};
      case RowsBy::instances:
        return {lanes_.row(instance_of(path))};
      case RowsBy::nodes:
        break;
    }
    const auto [place, is_new] = nodes_.try_emplace(nodelist);
    if (is_new) {
      const auto hosts = Hostlist::parse(nodelist);
      if (hosts && !hosts->empty() && hosts->count() <= 100'000)
        for (const std::string& host : hosts->hosts()) place->second.push_back(lanes_.row(host));
      else
        place->second.push_back(lanes_.row(kUndecided));
    }
    return place->second;
  }

  void add(const msg::JobRecord& job) {
    // Of a child instance its jobs are drawn, and where there are nodes, what it has of them.
    const auto grant = input_.grants.find(job.path);
    const std::string held_for = job.is_instance                ? job.path
                                 : grant != input_.grants.end() ? grant->second
                                                                : "";
    if (!held_for.empty() && input_.rows != RowsBy::jobs && input_.rows != RowsBy::nodes) return;
    Piece piece;
    piece.subject =
        subject_of(job.path, msg::label_of(job) + (job.name.empty() ? "" : " " + job.name));
    piece.colour = colours_.of(job, input_.now);
    const auto rows = rows_of(job.nodelist, job.path, job.user);
    if (input_.rows == RowsBy::jobs) {
      piece.row = rows.front();
      piece.kind = Kind::waited;
      piece.begin = job.t_submit;
      piece.end = start_of(job) > 0 ? start_of(job) : input_.now;
      if (piece.end > piece.begin) lanes_.put(piece, 1);
      if (start_of(job) == 0) return;
    }
    const std::int64_t share = std::max<std::int64_t>(1, job.ncores);
    const auto parts = static_cast<std::int64_t>(rows.size());
    const std::int64_t cores = input_.rows == RowsBy::jobs ? 1 : (share + parts - 1) / parts;
    for (const std::int32_t row : rows) add_run(job, piece, row, cores, held_for);
  }

  // From its start to its end, and from now to the end of its limit.
  // `held_for`: the child instance that has it; "": it runs for itself.
  void add_run(const msg::JobRecord& job, Piece piece, std::int32_t row, std::int64_t cores,
               const std::string& held_for) {
    const bool by_node = input_.rows == RowsBy::nodes;
    piece.row = row;
    piece.kind = !held_for.empty() && by_node ? Kind::given : Kind::ran;
    piece.begin = start_of(job);
    const Time end = std::max(end_of_run(job, input_.now), start_of(job));
    piece.end = is_over(job) ? end : job.expiration > 0 ? std::max(job.expiration, end) : kTimeMax;
    const auto places = lanes_.put(piece, cores, by_node ? instance_of(job.path) : "");
    if (piece.kind == Kind::given) lanes_.hold(held_for, places);
    for (const std::size_t place : places) {
      layout_.pieces[place].end = end;
      if (is_over(job) || piece.end == kTimeMax || piece.end <= end) continue;
      Piece rest = layout_.pieces[place];
      rest.kind = Kind::planned;
      rest.begin = end;
      rest.end = piece.end;
      layout_.pieces.push_back(rest);
    }
  }

  void add(const msg::Span& span) {
    if (span.kind == "allocation") return;  // its job runs
    const bool advance = span.kind == "advance";
    if (advance && input_.rows != RowsBy::nodes) return;
    Piece piece;
    piece.subject =
        subject_of(advance ? "" : span.path, advance ? "reserved: " + span.name : span.name);
    piece.kind = advance ? Kind::advance : Kind::reserved;
    piece.begin = std::max(span.begin, input_.now);
    piece.end = span.end > 0 ? span.end : kTimeMax;
    const auto rows = rows_of(span.nodelist, span.path, span.user);
    const auto parts = static_cast<std::int64_t>(rows.size());
    for (const std::int32_t row : rows) {
      piece.row = row;
      lanes_.put(piece, input_.rows == RowsBy::jobs
                            ? 1
                            : (std::max<std::int64_t>(1, span.cores) + parts - 1) / parts);
    }
  }

  const LayoutInput& input_;
  Layout layout_;
  Colours colours_;
  Lanes lanes_;
  std::unordered_map<std::string, std::vector<std::int32_t>> nodes_;  // rows by nodelist
};

}  // namespace

Layout lay_out(const LayoutInput& input) {
  return Layouter(input).run();
}

}  // namespace holon::web
