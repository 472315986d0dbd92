// resource_database.hpp - RFC 16's database: the resources and who holds them when, in one SQLite
// file that other programs can read too.
//
// Tables: meta (options, subsystems), vertices with properties, paths and edges of other
// subsystems, allocations with shares and labels; docs/formats.md describes them. A save is one
// transaction: after a crash the file holds what the last complete save has written.
#pragma once
#include <memory>
#include <string>

#include "base/result.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class ResourceDatabase {
 public:
  enum class Open { existing, create };  // create: also if the file exists
  enum class Extent { all, changed };

  // Errors: not_found (existing: there is no such file), invalid_argument (another program's
  // database, another version, no database), busy (locked), system; all with the file as the place.
  static Result<ResourceDatabase> open(const std::string& file, Open how);
  ResourceDatabase(ResourceDatabase&&) noexcept;
  ResourceDatabase& operator=(ResourceDatabase&&) noexcept;
  ~ResourceDatabase();

  // Writes the store, or what has changed in it since this object last saved it; the first save of
  // a store writes all. All or nothing. O(V + holdings); `changed`: O(changes + holdings) to look,
  // and writes changes only. Errors: busy, system.
  Status save(const resource::ResourceStore& store, Extent extent);

  // The store as it was saved: graph, options, allocations and reservations. Errors:
  // invalid_argument for a damaged database, with the table and row or the vertex as the place;
  // system.
  Result<resource::ResourceStore> load() const;

 private:
  struct State;
  explicit ResourceDatabase(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace holon::instance
