import type { Pod } from '../../../api/types.ts';
import { isWorkloadKind, maxReplicas, type WorkloadName } from '../../../api/values/workload.ts';
import { type CronRecord, isCronRecord } from './cron-record.ts';
import { isTemplate } from './is-template.ts';
import { isJobRecord, type JobRecord } from './job-record.ts';
import { isCount, isFlag, isListOf, isOneOf, isShallow, isShape, isText, isTime, optional } from './record-checks.ts';

/** What must survive a restart of one workload: the requests of operators, and what its Jobs did. */
export interface WorkloadRecord extends WorkloadName {
  version: 1;
  /** The count that an operator set, until the manifest changes its own. */
  scale?: { replicas: number; whileDeclared: number };
  /** The template that an operator went back to, until the manifest changes its own, named by its `revisionName`. */
  undo?: { template: Pod; whileDeclared: string };
  /** True while an operator paused its rollouts. */
  isPaused?: boolean;
  /** Of a Job. */
  job?: JobRecord;
  /** Of a CronJob. */
  cron?: CronRecord;
  /** Runs of a CronJob that operators requested and that have not begun; milliseconds since the epoch. */
  runsAt?: readonly number[];
  /** When an operator last requested new pods, as an annotation of the template; RFC 3339. */
  restartedAt?: string;
  /** Absent while a source declares the workload. */
  undeclared?: UndeclaredWorkload;
}

/** A workload that no source declares any more. */
export interface UndeclaredWorkload {
  /** Milliseconds since the epoch. */
  since: number;
  /** UID of its template as last declared. Absent if that was before the agent started. */
  uid?: string;
  /** True if the sources may be wrong, because they declare nothing that ran before. Absent otherwise. */
  isDoubtful?: true;
}

export function emptyWorkloadRecord({ kind, namespace, name }: WorkloadName): WorkloadRecord {
  return { version: 1, kind, namespace, name };
}

/** Deeper than any manifest. */
const maxDepth = 100;

const isWorkloadRecord = isShape<WorkloadRecord>({
  version: isOneOf(1),
  kind: (value) => typeof value === 'string' && isWorkloadKind(value),
  namespace: isText,
  name: isText,
  scale: optional(
    isShape<NonNullable<WorkloadRecord['scale']>>({ replicas: isCount(maxReplicas), whileDeclared: isCount() }),
  ),
  undo: optional(isShape<NonNullable<WorkloadRecord['undo']>>({ template: isTemplate, whileDeclared: isText })),
  isPaused: optional(isFlag),
  job: optional(isJobRecord),
  cron: optional(isCronRecord),
  runsAt: optional(isListOf(isTime)),
  restartedAt: optional(isText),
  undeclared: optional(
    isShape<UndeclaredWorkload>({ since: isTime, uid: optional(isText), isDoubtful: optional(isOneOf(true)) }),
  ),
});

/** Returns undefined if the bytes are not a record that this release understands. */
export function parseWorkloadRecord(bytes: Buffer): WorkloadRecord | undefined {
  const value: unknown = JSON.parse(bytes.toString('utf8'));
  return isShallow(value, maxDepth) && isWorkloadRecord(value) ? value : undefined;
}

/** True if the record has nothing that counts. */
export function isIdle(record: WorkloadRecord): boolean {
  return Object.keys(record).every((key) => ['version', 'kind', 'namespace', 'name'].includes(key));
}
