"""Jobspecs (RFC 14) as Python people write jobs: what to run, how much of what, for how long."""
from __future__ import annotations

import datetime
import fnmatch
import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import InvalidArgument

Limit = Union[int, float, str, datetime.timedelta]
Memory = Union[int, str]
Command = Union[str, Sequence[str]]

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MOST = 4_294_967_295  # of one resource
# What says where the job around this process runs, and how much it has; a task that found it would start processes there.
_OUTER = ("HOLON_*", "SLURM_*", "SLURMD_*", "PBS_NODEFILE", "PBS_GPUFILE", "PBS_NUM_*", "PBS_NP", "PBS_*NODENUM", "PBS_TASKNUM",
          "PBS_MOMPORT", "PBS_JOBCOOKIE", "PBS_ENVIRONMENT", "NCPUS", "LSB_HOSTS", "LSB_MCPU_HOSTS", "LSB_DJOB_*",
          "LSB_*_HOSTFILE", "LSB_BIND_*", "LSB_PJL_*", "LSF_PM_*", "LS_JOBPID", "PE_HOSTFILE", "PE", "NHOSTS", "NSLOTS", "NQUEUES",
          "SGE_BINDING", "SGE_HGR_*", "OAR_*FILE*", "OAR_CPUSET", "COBALT_*", "LOADL_*", "FLUX_TASK_*", "FLUX_JOB_*",
          "FLUX_KVS_NAMESPACE", "ALPS_APP_*", "PALS_*", "PMI_*", "PMIX_*", "HYDI_CONTROL_FD", "OMPI_COMM_WORLD_*",
          "OMPI_UNIVERSE_SIZE", "OMPI_MCA_orte_*", "OMPI_MCA_ess*", "PRTE_*", "MPI_LOCAL*", "NOTIFY_SOCKET", "WATCHDOG_*", "LISTEN_*",
          "JOURNAL_STREAM")
_KEPT = ("SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_ACCOUNT", "SLURM_JOB_PARTITION", "SLURM_JOB_QOS", "SLURM_JOB_USER",
         "SLURM_JOB_*TIME", "SLURM_ARRAY_*", "SLURM_SUBMIT_*", "SLURM_CLUSTER*", "SLURM_CONF", "PMI_DEBUG", "PMIX_MCA_*", "PRTE_MCA_*")
_OUTER_RE = re.compile("|".join(map(fnmatch.translate, _OUTER)))
_KEPT_RE = re.compile("|".join(map(fnmatch.translate, _KEPT)))


def seconds(limit: Limit) -> float:
    """A time in s: of a number of seconds, a timedelta, or text ("30s", "5m", "1.5h", "2d"). Errors: InvalidArgument."""
    if isinstance(limit, datetime.timedelta):
        value = limit.total_seconds()
    elif isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([smhd])\s*", limit)
        if match is None:
            raise InvalidArgument("%r is no time; accepted are seconds, a timedelta, '30s', '5m', '1.5h', '2d'" % limit, "limit")
        value = float(match.group(1)) * _SECONDS[match.group(2)]
    elif isinstance(limit, bool) or not isinstance(limit, (int, float)):
        raise InvalidArgument("%r is no time; accepted are seconds, a timedelta, '30s', '5m', '1.5h', '2d'" % (limit,), "limit")
    else:
        value = float(limit)
    if not 0 <= value < 1e11:
        raise InvalidArgument("%r is no time that can be waited for" % (limit,), "limit")
    return value


def size_in_bytes(memory: Memory) -> int:
    """A size in bytes: of a number of bytes, or text ("512M", "4G"; powers of 1024). Errors: InvalidArgument."""
    if isinstance(memory, int) and not isinstance(memory, bool) and memory >= 0:
        return memory
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)(?:i?B)?\s*", memory, re.IGNORECASE) if isinstance(memory, str) else None
    if match is None:
        raise InvalidArgument("%r is no size; accepted are bytes, '512M', '4G'" % (memory,), "memory")
    return int(float(match.group(1)) * _BYTES[match.group(2).upper()])


def environment_for_tasks(environment: Optional[Mapping[str, str]] = None) -> Dict[str, str]:
    """An environment (this process's) without what says where the job around runs, and without what is no text."""
    given = os.environ if environment is None else environment
    kept = {}
    for name, value in given.items():
        if _OUTER_RE.match(name) and not _KEPT_RE.match(name):
            continue
        try:
            (name + value).encode("utf-8")
        except UnicodeEncodeError:
            continue
        kept[name] = value
    return kept


@dataclass
class Spec:
    """A job, or what the jobs of an array have in common.

    command: words, or one line for the shell. cores, gpus, memory (bytes, or "4G") are of each task; tasks: how many (1,
    or one a node); nodes: spread over so many (0: wherever there is room); exclusive: the whole of each. limit: s, a
    timedelta or "5m" (None: none). env: variables on top of this process's, None takes one out; inherit_env: False:
    these alone. depends: jobs, ids, or "afterany:7". requires: properties that a node must have, a hostlist behind
    "host:". requeue: so many times again when a node is lost, and for exit codes in retry_on ("75", "any"). stdout,
    stderr, stdin: names of files, "{{id}}", "{{name}}", "{{taskid}}" stand for the job's. system: what else belongs into
    the jobspec's attributes.system.holon.
    """

    command: Command
    cores: int = 1
    gpus: int = 0
    memory: Memory = 0
    nodes: int = 0
    tasks: Optional[int] = None
    exclusive: bool = False
    limit: Optional[Limit] = None
    name: Optional[str] = None
    queue: str = ""
    urgency: int = 16
    depends: Sequence[Any] = ()
    requires: Sequence[str] = ()
    env: Optional[Mapping[str, Optional[str]]] = None
    inherit_env: bool = True
    cwd: Optional[str] = None
    stdout: Optional[str] = None
    stderr: Optional[str] = None
    stdin: Optional[str] = None
    requeue: int = 0
    retry_on: str = ""
    system: Mapping[str, Any] = field(default_factory=dict)

    def words(self) -> List[str]:
        """The command's words. Errors: InvalidArgument."""
        words = ["/bin/sh", "-c", self.command] if isinstance(self.command, str) else [os.fspath(w) for w in self.command]
        if not words or not words[0] or (isinstance(self.command, str) and not self.command.strip()):
            raise InvalidArgument("there is no command", "command")
        for word in words:
            _check_text(word, "command")
        return words

    def document(self) -> Dict[str, Any]:
        """The jobspec. Errors: InvalidArgument, with the argument."""
        words = self.words()
        tasks = self.tasks if self.tasks is not None else max(self.nodes, 1)
        for value, least, where in ((self.cores, 1, "cores"), (self.gpus, 0, "gpus"), (self.nodes, 0, "nodes"), (tasks, 1, "tasks"),
                                    (self.requeue, 0, "requeue")):
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
                raise InvalidArgument("%r is not accepted; a whole number from %d on is" % (value, least), where)
        return {
            "version": 1,
            "resources": self._resources(tasks),
            "tasks": [{"command": words, "slot": "task", "count": {"per_slot": 1}}],
            "attributes": {"system": self._system(words)},
        }

    def _resources(self, tasks: int) -> List[Dict[str, Any]]:
        of_slot: List[Dict[str, Any]] = [{"type": "core", "count": self.cores}]
        if self.gpus:
            of_slot.append({"type": "gpu", "count": self.gpus})
        memory = size_in_bytes(self.memory)
        if memory:
            of_slot.append({"type": "memory", "count": -(-memory // _BYTES["G"])})
        slots = tasks
        if self.nodes:
            slots, rest = divmod(tasks, self.nodes)
            if rest:
                raise InvalidArgument("%d tasks cannot be spread evenly over %d nodes" % (tasks, self.nodes), "tasks")
        slot = {"type": "slot", "count": slots, "label": "task", "with": of_slot}
        if not self.nodes:
            if self.exclusive:
                raise InvalidArgument("whole nodes are asked for with nodes=N", "exclusive")
            return [slot]
        node: Dict[str, Any] = {"type": "node", "count": self.nodes, "with": [slot]}
        if self.exclusive:
            node["exclusive"] = True
        return [node]

    def _system(self, words: List[str]) -> Dict[str, Any]:
        named = self.command.split()[0] if isinstance(self.command, str) else words[0]
        name = self.name if self.name is not None else os.path.basename(named)
        _check_text(name, "name")
        cwd = os.path.abspath(os.fspath(self.cwd) if self.cwd is not None else os.getcwd())
        system: Dict[str, Any] = {
            "duration": seconds(self.limit) if self.limit is not None else 0,
            "cwd": cwd,
            "environment": self._environment(),
            "job": {"name": name},
        }
        if self.queue:
            system["queue"] = self.queue
        if self.depends:
            system["dependencies"] = [_dependency(item) for item in self.depends]
        if self.requires:
            system["constraints"] = _constraints(self.requires)
        shell = self._files(cwd)
        if shell:
            system["shell"] = {"options": shell}
        ours = dict(self.system)
        memory = size_in_bytes(self.memory)
        if memory:
            ours["memory"] = memory
        if self.requeue:
            ours["requeue"] = self.requeue
        if self.retry_on:
            if not self.requeue:
                raise InvalidArgument("needs requeue=N: so many times at most", "retry_on")
            ours["retry_on"] = self.retry_on
        if ours:
            system["holon"] = ours
        return system

    def _files(self, cwd: str) -> Dict[str, Any]:
        shell: Dict[str, Any] = {}
        for stream, kind, name in (("stdout", "output", self.stdout), ("stderr", "output", self.stderr), ("stdin", "input", self.stdin)):
            if name is not None:
                path = os.path.join(cwd, os.fspath(name))
                _check_text(path, stream)
                shell.setdefault(kind, {})[stream] = {"type": "file", "path": path}
        return shell

    def _environment(self) -> Dict[str, str]:
        environment = environment_for_tasks() if self.inherit_env else {}
        for name, value in (self.env or {}).items():
            if value is None:
                environment.pop(name, None)
                continue
            if not isinstance(value, str) or not isinstance(name, str) or not name or "=" in name:
                raise InvalidArgument("%r: %r is not accepted; names and values are text" % (name, value), "env")
            _check_text(name + value, "env")
            environment[name] = value
        return environment


def _check_text(text: Any, where: str) -> None:
    if not isinstance(text, str):
        raise InvalidArgument("%r is not accepted; text is" % (text,), where)
    if "\0" in text:
        raise InvalidArgument("has a zero byte; a jobspec cannot hold it", where)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidArgument("not UTF-8; a jobspec cannot hold it", where) from None


def _dependency(item: Any) -> Dict[str, str]:
    """RFC 26's {scheme, value} of a job, an id (both: afterok) or "SCHEME:VALUE"."""
    if isinstance(item, str):
        scheme, _, value = item.partition(":")
        if not scheme or (not value and scheme != "singleton"):
            raise InvalidArgument("%r is not accepted; a job, its id, 'afterany:7' and 'singleton' are" % item, "depends")
        return {"scheme": scheme, "value": value}
    number = getattr(item, "id", item)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidArgument("%r is not accepted; a job, its id, 'afterany:7' and 'singleton' are" % (item,), "depends")
    return {"scheme": "afterok", "value": str(number)}


def _constraints(requires: Sequence[str]) -> Dict[str, Any]:
    if isinstance(requires, str):
        requires = [requires]
    properties = [word for word in requires if not word.startswith("host:")]
    hosts = [word[len("host:"):] for word in requires if word.startswith("host:")]
    both: List[Tuple[str, List[str]]] = [("properties", properties), ("hostlist", hosts)]
    terms: List[Dict[str, Any]] = [{op: values} for op, values in both if values]
    return terms[0] if len(terms) == 1 else {"and": terms}
