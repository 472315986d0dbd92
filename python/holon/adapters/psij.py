"""PSI/J: JobExecutor.get_instance("holon"). Tried against a stub of psij-python 0.9 alone: it is not in Debian 12.

register() makes it known; PSI/J's own discovery wants a file in psij-descriptors, which a site can add.
"""
from __future__ import annotations

import threading
from typing import Any, Dict, List, Optional

from psij import JobExecutor, JobState, JobStatus, SubmitException

from ..blocking import Instance
from ..errors import HolonError
from ..messages import JobRecord

_ENDS = {"COMPLETED": JobState.COMPLETED, "CANCELED": JobState.CANCELED}


class HolonJobExecutor(JobExecutor):
    """Jobs of PSI/J as jobs of an instance; `url`: its address (None: as Instance.connect())."""

    def __init__(self, url: Optional[str] = None, config: Any = None) -> None:
        super().__init__(url=url, config=config)
        self._instance = Instance.connect(url)

    @property
    def name(self) -> str:
        """Its name at PSI/J."""
        return "holon"

    @property
    def version(self) -> str:
        """Of this adapter."""
        return "0.1.0"

    def submit(self, job: Any) -> None:
        """Submits a job. Errors: SubmitException."""
        spec = job.spec
        command = [spec.executable, *(spec.arguments or [])]
        options: Dict[str, Any] = {"cwd": spec.directory and str(spec.directory), "inherit_env": spec.inherit_environment,
                                   "env": dict(spec.environment or {})}
        for theirs, ours in (("stdin_path", "stdin"), ("stdout_path", "stdout"), ("stderr_path", "stderr")):
            if getattr(spec, theirs, None):
                options[ours] = str(getattr(spec, theirs))
        if spec.name:
            options["name"] = spec.name
        asked = spec.resources
        if asked is not None:
            options.update(tasks=asked.computed_process_count or 1, cores=asked.cpu_cores_per_process or 1,
                           gpus=asked.gpu_cores_per_process or 0)
            if asked.node_count:
                options["nodes"] = asked.node_count
        attributes = spec.attributes
        if attributes is not None and attributes.duration:
            options["limit"] = attributes.duration
        if attributes is not None and attributes.queue_name:
            options["queue"] = attributes.queue_name
        try:
            submitted = self._instance.submit(command, **options)
        except HolonError as error:
            raise SubmitException(str(error)) from error
        job._native_id = submitted.id
        job.executor = self
        self._set_job_status(job, JobStatus(JobState.QUEUED))
        threading.Thread(target=self._follow, args=(job, submitted.id), daemon=True).start()

    def _follow(self, job: Any, number: int) -> None:
        try:
            for event in self._instance.job(number).events():
                if event.name == "start":
                    self._set_job_status(job, JobStatus(JobState.ACTIVE))
            record = self._instance.job(number).wait()
        except HolonError as error:
            self._set_job_status(job, JobStatus(JobState.FAILED, message=str(error)))
            return
        self._set_job_status(job, _status_of(record))

    def cancel(self, job: Any) -> None:
        """Cancels a job. Errors: SubmitException."""
        try:
            self._instance.cancel([job._native_id])
        except HolonError as error:
            raise SubmitException(str(error)) from error

    def list(self) -> List[str]:
        """The numbers of jobs that are active."""
        return [str(record.id) for record in self._instance.jobs()]

    def attach(self, job: Any, native_id: str) -> None:
        """Follows a job that was submitted by somebody else."""
        job._native_id = int(native_id)
        job.executor = self
        threading.Thread(target=self._follow, args=(job, int(native_id)), daemon=True).start()


def _status_of(record: JobRecord) -> Any:
    state = _ENDS.get(record.result, JobState.FAILED)
    return JobStatus(state, exit_code=record.exit_code if record.exit_code >= 0 else None, message=record.reason or None)


def register() -> None:
    """Makes the executor known to PSI/J as "holon"."""
    JobExecutor.register_executor(HolonJobExecutor, "holon")
