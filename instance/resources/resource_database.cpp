// SQLiteCpp throws; every public call catches at its edge.
#include "instance/resources/resource_database.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <unordered_set>

#include "instance/journal/database_kind.hpp"
#include "instance/resources/resource_rows.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {

using resource::Holding;
using resource::ResourceGraph;
using resource::ResourceStore;
using resource::VertexId;

namespace {

constexpr const char* kSchema = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE vertices(uniq_id INTEGER PRIMARY KEY, slot INTEGER NOT NULL, parent INTEGER, type TEXT NOT NULL,
                      basename TEXT NOT NULL, name TEXT, id INTEGER NOT NULL, rank INTEGER NOT NULL,
                      size INTEGER NOT NULL, unit TEXT, up INTEGER NOT NULL, extensions TEXT);
CREATE TABLE properties(uniq_id INTEGER, key TEXT, value TEXT NOT NULL, PRIMARY KEY(uniq_id, key)) WITHOUT ROWID;
CREATE TABLE paths(uniq_id INTEGER, subsystem INTEGER, path TEXT NOT NULL, PRIMARY KEY(uniq_id, subsystem)) WITHOUT ROWID;
CREATE TABLE edges(place INTEGER PRIMARY KEY, subsystem INTEGER NOT NULL, source INTEGER NOT NULL, target INTEGER NOT NULL);
CREATE TABLE allocations(job INTEGER PRIMARY KEY, begin INTEGER NOT NULL, end INTEGER NOT NULL,
                         held_begin INTEGER NOT NULL, held_end INTEGER NOT NULL, reserved INTEGER NOT NULL);
CREATE TABLE shares(job INTEGER, place INTEGER, uniq_id INTEGER NOT NULL, amount INTEGER NOT NULL,
                    exclusive INTEGER NOT NULL, PRIMARY KEY(job, place)) WITHOUT ROWID;
CREATE TABLE labels(job INTEGER, place INTEGER, uniq_id INTEGER NOT NULL, label TEXT NOT NULL,
                    PRIMARY KEY(job, place)) WITHOUT ROWID;
)";

constexpr DatabaseKind kKind{"resource database", 0x484f4c52 /* "HOLR" */, 1, kSchema};

Error error_of(const SQLite::Exception& e, const std::string& file) {
  switch (e.getErrorCode()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Errc::busy, "another program is writing this database", file};
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:  // a table or column that should be there is not
      return {Errc::invalid_argument, fmt::format("a damaged resource database: {}", e.what()),
              file};
    default:
      return {Errc::system, e.what(), file};
  }
}

}  // namespace

struct ResourceDatabase::State {
  SQLite::Database db;
  std::string file;
  // The store that was last saved, and how far its changes had come.
  std::shared_ptr<const void> saved{};
  std::uint64_t token = 0;
  std::uint64_t shape = 0;
  std::vector<JobId> jobs{};

  void save_all(RowWriter& writer, const ResourceStore& store) const {
    writer.clear();
    writer.meta();
    for (const VertexId v : store.graph().in_preorder()) writer.vertex(v);
    writer.shape();
    for (const JobId job : store.jobs()) writer.holding(*store.holding(job));
  }

  // Writes changed jobs: those of which anything held has changed.
  void save_changed(RowWriter& writer, const ResourceStore& store) const {
    const ResourceGraph& graph = store.graph();
    const auto changed = store.changed_since(token);
    const std::unordered_set<std::int64_t> is_changed(changed.begin(), changed.end());
    writer.meta();
    for (const std::int64_t uniq_id : changed) writer.vertex(*graph.find_uniq(uniq_id));
    if (graph.shape_version() != shape) writer.shape();
    const auto now = store.jobs();
    for (const JobId job : jobs)
      if (!std::binary_search(now.begin(), now.end(), job)) writer.drop(job);
    for (const JobId job : now) {
      const auto& shares = store.find(job)->shares;
      const bool is_new = !std::binary_search(jobs.begin(), jobs.end(), job);
      if (!is_new && std::none_of(shares.begin(), shares.end(), [&](const resource::Share& share) {
            return is_changed.contains(share.uniq_id);
          }))
        continue;
      writer.drop(job);
      writer.holding(*store.holding(job));
    }
  }
};

ResourceDatabase::ResourceDatabase(std::unique_ptr<State> state) : state_(std::move(state)) {}
ResourceDatabase::ResourceDatabase(ResourceDatabase&&) noexcept = default;
ResourceDatabase& ResourceDatabase::operator=(ResourceDatabase&&) noexcept = default;
ResourceDatabase::~ResourceDatabase() = default;

Result<ResourceDatabase> ResourceDatabase::open(const std::string& file, Open how) {
  std::error_code ignored;
  if (how == Open::existing && !std::filesystem::exists(file, ignored))
    return fail(Errc::not_found, "there is no such file", file);
  try {
    SQLite::Database db(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    if (auto ours = adopt_schema(db, kKind, file); !ours) return tl::unexpected(ours.error());
    return ResourceDatabase(std::make_unique<State>(State{std::move(db), file}));
  } catch (const SQLite::Exception& e) {
    return tl::unexpected(error_of(e, file));
  }
}

Status ResourceDatabase::save(const ResourceStore& store, Extent extent) {
  State& state = *state_;
  try {
    SQLite::Transaction whole(state.db);
    RowWriter writer(state.db, store);
    if (extent == Extent::changed && state.saved == store.identity())
      state.save_changed(writer, store);
    else
      state.save_all(writer, store);
    whole.commit();
  } catch (const SQLite::Exception& e) {
    return tl::unexpected(error_of(e, state.file));
  }
  state.saved = store.identity();
  state.token = store.change_token();
  state.shape = store.graph().shape_version();
  state.jobs = store.jobs();
  return {};
}

Result<ResourceStore> ResourceDatabase::load() const {
  const State& state = *state_;
  const auto located = [&](Error error) {
    error.where = error.where.empty() ? state.file : state.file + ": " + error.where;
    return tl::unexpected(std::move(error));
  };
  try {
    SQLite::Statement check(state.db, "PRAGMA quick_check(1)");
    if (check.executeStep() && check.getColumn(0).getString() != "ok")
      return located({Errc::invalid_argument, check.getColumn(0).getString(), ""});
    RowReader reader(state.db);
    auto options = reader.options();
    if (!options) return located(options.error());
    const auto graph = reader.graph();
    if (!graph) return located(graph.error());
    auto store = ResourceStore::load(*graph, *std::move(options));
    if (!store) return located(store.error());
    for (const Holding& holding : reader.holdings())
      if (auto ok = store->update(holding); !ok)
        return located({ok.error().code, ok.error().what,
                        fmt::format("table allocations, job {}", holding.allocation.job.value())});
    return store;
  } catch (const SQLite::Exception& e) {
    return tl::unexpected(error_of(e, state.file));
  }
}

}  // namespace holon::instance
