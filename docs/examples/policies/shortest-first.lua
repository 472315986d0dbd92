-- Short jobs first. Who has waited for a day goes before all of them, so that nobody waits for ever.
base = "easy"

local day = 24 * 3600

function priority(job)
  if job.waited > day then return job.waited, "it has waited for more than a day" end
  return -job.limit
end
