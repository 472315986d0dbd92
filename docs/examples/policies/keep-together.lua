-- Jobs of one campaign (holon submit --attr campaign=NAME) near each other: on the nodes where it runs already, else
-- beside these, in the same rack. Who has no neighbours yet goes where most is free.
base = "easy"

local function neighbours(job, place)
  local name = job.attributes.campaign
  if not name then return 0 end
  return 1000 * place.running("campaign", name) + place.near("campaign", name)
end

function score(job, place)
  return neighbours(job, place) + place.free / place.cores
end
