"""The columns of `squeue`, `sacct` and `sinfo`: what users call them, their titles, and the names of their values.

A row is a dictionary of texts. A column that Slurm has and HAI knows nothing of is empty, and so is one that a later
Slurm may have: a program that asks for it gets its other columns.
"""

from __future__ import annotations

#: Letters of `squeue --format`: the title, which is also the name of the value in a row.
SQUEUE_LETTERS = {
    "a": "ACCOUNT", "A": "JOBID", "b": "TRES_PER_NODE", "B": "EXEC_HOST", "c": "MIN_CPUS", "C": "CPUS",
    "d": "MIN_TMP_DISK", "D": "NODES", "e": "END_TIME", "E": "DEPENDENCY", "f": "FEATURES", "F": "ARRAY_JOB_ID",
    "g": "GROUP", "G": "GROUP", "h": "OVER_SUBSCRIBE", "H": "SOCKETS_PER_NODE", "i": "JOBID", "I": "CORES_PER_SOCKET",
    "j": "NAME", "J": "THREADS_PER_CORE", "k": "COMMENT", "K": "ARRAY_TASK_ID", "l": "TIME_LIMIT", "L": "TIME_LEFT",
    "m": "MIN_MEMORY", "M": "TIME", "n": "REQ_NODES", "N": "NODELIST", "o": "COMMAND", "O": "CONTIGUOUS",
    "p": "PRIORITY", "P": "PARTITION", "q": "QOS", "Q": "PRIORITY", "r": "REASON", "R": "NODELIST(REASON)",
    "S": "START_TIME", "t": "ST", "T": "STATE", "u": "USER", "U": "UID", "v": "RESERVATION", "V": "SUBMIT_TIME",
    "w": "WCKEY", "W": "LICENSES", "x": "EXC_NODES", "X": "CORE_SPEC", "y": "NICE", "Y": "SCHEDNODES", "z": "S:C:T",
    "Z": "WORK_DIR",
}  # fmt: skip
#: Names of `squeue --Format`; a name that is not here is its own title.
SQUEUE_NAMES = {
    "jobid": "JOBID", "jobarrayid": "JOBID", "arrayjobid": "ARRAY_JOB_ID", "arraytaskid": "ARRAY_TASK_ID",
    "name": "NAME", "username": "USER", "userid": "UID", "groupname": "GROUP", "account": "ACCOUNT", "state": "STATE",
    "statecompact": "ST", "partition": "PARTITION", "qos": "QOS", "priority": "PRIORITY", "prioritylong": "PRIORITY",
    "nodes": "NODES", "numnodes": "NODES", "numcpus": "CPUS", "nodelist": "NODELIST", "reason": "REASON",
    "reasonlist": "NODELIST(REASON)", "batchhost": "EXEC_HOST", "submittime": "SUBMIT_TIME", "starttime": "START_TIME",
    "endtime": "END_TIME", "timeused": "TIME", "timelimit": "TIME_LIMIT", "timeleft": "TIME_LEFT",
    "workdir": "WORK_DIR", "command": "COMMAND", "comment": "COMMENT", "exit_code": "EXIT_CODE",
    "restartcnt": "RESTART_COUNT", "tres-per-node": "TRES_PER_NODE", "gres": "TRES_PER_NODE",
}  # fmt: skip
_FIELDS = (
    "Account AdminComment AllocCPUS AllocNodes AllocTRES AssocID AveCPU AveCPUFreq AveDiskRead AveDiskWrite AvePages "
    "AveRSS AveVMSize BlockID Cluster Comment Constraints ConsumedEnergy ConsumedEnergyRaw Container CPUTime "
    "CPUTimeRAW DBIndex DerivedExitCode Elapsed ElapsedRaw Eligible End ExitCode Flags GID Group JobID JobIDRaw "
    "JobName Layout MaxDiskRead MaxDiskReadNode MaxDiskReadTask MaxDiskWrite MaxDiskWriteNode MaxDiskWriteTask "
    "MaxPages MaxPagesNode MaxPagesTask MaxRSS MaxRSSNode MaxRSSTask MaxVMSize MaxVMSizeNode MaxVMSizeTask McsLabel "
    "MinCPU MinCPUNode MinCPUTask NCPUS NNodes NodeList NTasks Partition Planned Priority QOS QOSRAW Reason "
    "ReqCPUFreq ReqCPUFreqGov ReqCPUFreqMax ReqCPUFreqMin ReqCPUS ReqMem ReqNodes ReqTRES Reservation ReservationId "
    "Reserved Restarts ResvCPU ResvCPURAW Start State Submit SubmitLine Suspended SystemComment SystemCPU Timelimit "
    "TimelimitRaw TotalCPU TRESUsageInAve TRESUsageInMax TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMin "
    "TRESUsageInMinNode TRESUsageInMinTask TRESUsageInTot TRESUsageOutAve TRESUsageOutMax TRESUsageOutMaxNode "
    "TRESUsageOutMaxTask TRESUsageOutMin TRESUsageOutMinNode TRESUsageOutMinTask TRESUsageOutTot UID User UserCPU "
    "WCKey WCKeyID WorkDir "
)
#: The fields of `sacct`, as `--helpformat` prints them.
SACCT_FIELDS = tuple(_FIELDS.split())
#: The values of those that HAI fills.
SACCT_VALUES = {
    "JobID": "JOBID", "JobIDRaw": "JOBID", "JobName": "NAME", "User": "USER", "Account": "ACCOUNT",
    "Comment": "COMMENT",
    "Partition": "PARTITION", "State": "STATE", "ExitCode": "EXITCODE", "DerivedExitCode": "EXITCODE",
    "NodeList": "NODELIST", "NNodes": "NODES", "AllocNodes": "NODES", "ReqNodes": "NODES", "Elapsed": "ELAPSED",
    "ElapsedRaw": "ELAPSED_RAW", "Timelimit": "TIMELIMIT", "TimelimitRaw": "TIMELIMIT_RAW", "Submit": "SUBMIT_TIME",
    "Eligible": "SUBMIT_TIME", "Start": "START", "End": "END", "QOS": "QOS", "Priority": "PRIORITY",
    "WorkDir": "WORK_DIR", "Reason": "REASON", "Restarts": "RESTART_COUNT",
}  # fmt: skip
#: Widths of those that are not 10 wide; a negative one is aligned left.
SACCT_WIDTHS = {
    "JobID": -12, "JobIDRaw": 12, "ExitCode": 8, "DerivedExitCode": 15, "NodeList": 15, "User": 9, "NNodes": 8,
    "Submit": 19, "Eligible": 19, "Start": 19, "End": 19, "Comment": 14, "WorkDir": 20, "Reason": 22,
}  # fmt: skip
#: Letters of `sinfo --format`, and names of `sinfo --Format`.
SINFO_LETTERS = {
    "a": "AVAIL", "A": "NODES(A/I)", "b": "ACTIVE_FEATURES", "B": "MAX_CPUS_PER_NODE", "c": "CPUS",
    "C": "CPUS(A/I/O/T)",
    "d": "TMP_DISK", "D": "NODES", "e": "FREE_MEM", "E": "REASON", "f": "AVAIL_FEATURES", "F": "NODES(A/I/O/T)",
    "g": "GROUPS", "G": "GRES", "h": "OVERSUBSCRIBE", "H": "TIMESTAMP", "l": "TIMELIMIT", "L": "DEFAULTTIME",
    "m": "MEMORY", "n": "HOSTNAMES", "N": "NODELIST", "o": "NODE_ADDR", "O": "CPU_LOAD", "P": "PARTITION",
    "R": "PARTITION_NAME", "s": "JOB_SIZE", "S": "ALLOCNODES", "t": "STATE", "T": "STATE_LONG", "u": "USER",
    "U": "USER", "v": "VERSION", "w": "WEIGHT", "X": "SOCKETS", "Y": "CORES", "z": "S:C:T", "Z": "THREADS",
}  # fmt: skip
SINFO_NAMES = {
    "available": "AVAIL", "gres": "GRES", "gresused": "GRES_USED", "nodeaddr": "NODE_ADDR", "nodehost": "HOSTNAMES",
    "nodelist": "NODELIST", "nodes": "NODES", "nodeai": "NODES(A/I)", "nodeaiot": "NODES(A/I/O/T)",
    "partition": "PARTITION", "partitionname": "PARTITION_NAME", "reason": "REASON", "statecompact": "STATE",
    "statelong": "STATE_LONG", "time": "TIMELIMIT",
}  # fmt: skip
#: Titles that differ from the names of their values.
TITLES = {"PARTITION_NAME": "PARTITION", "STATE_LONG": "STATE"}
#: Short names of the states of a job.
SHORT = {
    "PENDING": "PD", "RUNNING": "R", "SUSPENDED": "S", "COMPLETED": "CD", "CANCELLED": "CA", "FAILED": "F",
    "TIMEOUT": "TO", "NODE_FAIL": "NF", "PREEMPTED": "PR", "BOOT_FAIL": "BF", "DEADLINE": "DL", "OUT_OF_MEMORY": "OOM",
    "COMPLETING": "CG", "CONFIGURING": "CF", "RESIZING": "RS", "REQUEUED": "RQ", "REVOKED": "RV", "SPECIAL_EXIT": "SE",
    "STAGE_OUT": "SO", "STOPPED": "ST",
}  # fmt: skip
#: States of jobs that have ended.
ENDED = frozenset({"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE",
                   "OUT_OF_MEMORY", "REVOKED", "SPECIAL_EXIT"})  # fmt: skip
