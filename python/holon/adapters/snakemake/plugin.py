"""The executor plugin of Snakemake 8: found as the package snakemake_executor_plugin_holon.

Tried against a stub of snakemake-interface-executor-plugins 9 alone: Debian 12 has Snakemake 7.
"""
from __future__ import annotations

from typing import Any, AsyncGenerator, List

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings

from ...blocking import Instance
from ...errors import HolonError, NotFound

common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    pass_default_storage_provider_args=True,
    pass_default_resources_args=True,
    pass_envvar_declarations_to_cmd=False,
    auto_deploy_default_storage_provider=False,
)


class Executor(RemoteExecutor):
    """Jobs of a workflow as jobs of the instance that Instance.connect() finds."""

    def __post_init__(self) -> None:
        self._instance = Instance.connect()

    def run_job(self, job: Any) -> None:
        """Submits a job of the workflow."""
        options = {"cores": max(1, int(job.threads)), "name": job.name}
        if job.resources.get("mem_mb"):
            options["memory"] = "%dM" % int(job.resources["mem_mb"])
        if job.resources.get("runtime"):
            options["limit"] = "%gm" % float(job.resources["runtime"])
        if job.resources.get("gpu"):
            options["gpus"] = int(job.resources["gpu"])
        try:
            submitted = self._instance.submit(self.format_job_exec(job), **options)
        except HolonError as error:
            self.report_job_error(SubmittedJobInfo(job), msg="holon refuses it: %s" % error)
            return
        self.report_job_submission(SubmittedJobInfo(job, external_jobid=str(submitted.id)))

    async def check_active_jobs(self, active_jobs: List[Any]) -> AsyncGenerator[Any, None]:
        """Reports those that are over, and yields the others: one request for all of them."""
        async with self.status_rate_limiter:
            known = {}
            if active_jobs:
                try:
                    known = {record.id: record for record in self._instance.jobs(all=True, ids=[int(j.external_jobid) for j in active_jobs])}
                except NotFound:
                    pass  # none of them is there any more: each is reported below
        for job in active_jobs:
            record = known.get(int(job.external_jobid))
            if record is None:
                self.report_job_error(job, msg="holon knows nothing of job %s" % job.external_jobid)
            elif record.state != "INACTIVE":
                yield job
            elif record.result == "COMPLETED":
                self.report_job_success(job)
            else:
                self.report_job_error(job, msg="job %d: %s %s" % (record.id, record.result, record.reason))

    def cancel_jobs(self, active_jobs: List[Any]) -> None:
        """Cancels all of them in one request."""
        self._instance.cancel([int(job.external_jobid) for job in active_jobs], reason="Snakemake ends")
