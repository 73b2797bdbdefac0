import type { Pod } from '../../../api/types.ts';
import { type DeclaredJob, maxCompletions, maxParallelism } from '../../../api/values/job.ts';
import { countIndexes, type IndexRanges } from '../../../api/values/index-ranges.ts';
import { revisionName } from '../../operations/pod-record.ts';
import { isCount, isListOf, isMapOf, isOneOf, isShape, isText, isTime, optional } from './record-checks.ts';

/** What must survive a restart of a Job. It is on disk before a pod of it starts. */
export interface JobRecord {
  /** Of the template when the Job began. The UIDs of its pods derive from it, wherever the Job is declared now. */
  uid: string;
  /** The template when it began. If this changes, the Job begins anew. */
  content: string;
  /** The UID of the template as last declared. It depends on where that is. */
  declaredUID: string;
  /** `indexed` if its pods know their index. If that changes, the Job begins anew. Earlier versions wrote `single`. */
  names: 'single' | 'many' | 'indexed';
  /** When it began or was resumed, in milliseconds since the epoch. Absent while it is suspended. */
  startedAt?: number;
  /** When it was last suspended. Absent if it never was. */
  suspendedAt?: number;
  /** Indexes of pods that succeeded. */
  succeeded: IndexRanges;
  /** Indexes that are given up. */
  failedIndexes: IndexRanges;
  /** Failed pods that count. */
  failed: number;
  /** Failed pods since the last one that succeeded, and when the last of them failed. */
  failuresInRow: number;
  lastFailedAt?: number;
  /** Pods that began, by their index. Without first pods that succeeded. */
  slots: Record<number, JobSlot>;
  /** UIDs of pods that must stop and may still run. */
  stopping: string[];
  /** Why and when it was decided that no pod starts any more. */
  outcome?: JobOutcome;
  /** When all pods had stopped after that. */
  finishedAt?: number;
}

/** The newest pod of an index. */
export interface JobSlot {
  attempt: number;
  /** `stopped`: because of the Job, not by itself. */
  state: 'active' | 'succeeded' | 'failed' | 'stopped';
  /** Failures that count, and when the last was. */
  failures: number;
  lastFailedAt?: number;
  /** True while the finished pod runs again, because an operator requested it. Absent otherwise. */
  isRetried?: true;
}

export interface JobOutcome {
  result: 'Complete' | 'Failed';
  reason: string;
  message: string;
  decidedAt: number;
}

/** True for the number of an index, or for how many there are. */
export const isIndexCount = isCount(maxCompletions);

/** True for ascending ranges that do not overlap. */
export function areIndexes(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  let next = 0;
  return value.every((range: unknown) => {
    if (!Array.isArray(range) || range.length !== 2 || !range.every(isIndexCount)) return false;
    const [first, last] = range as [number, number];
    const isAscending = first >= next && last >= first;
    next = last + 1;
    return isAscending;
  });
}

const isSlot = isShape<JobSlot>({
  attempt: isCount(),
  state: isOneOf('active', 'succeeded', 'failed', 'stopped'),
  failures: isCount(),
  lastFailedAt: optional(isTime),
  isRetried: optional(isOneOf(true)),
});

/** Not more pods than a Job runs at once, or an operator retries. */
const maxActive = 2 * maxParallelism;

function areSlots(value: unknown): boolean {
  if (!isMapOf(isSlot)(value)) return false;
  // Safe cast: they were checked.
  const slots = Object.entries(value as JobRecord['slots']);
  const areIndexed = slots.every(([slot]) => /^(0|[1-9]\d*)$/.test(slot) && isIndexCount(Number(slot)));
  return areIndexed && slots.filter(([, { state }]) => state === 'active').length <= maxActive;
}

/** True if a release wrote this, and no decision about it takes long. */
export const isJobRecord = isShape<JobRecord>({
  uid: isText,
  content: isText,
  declaredUID: isText,
  names: isOneOf('single', 'many', 'indexed'),
  startedAt: optional(isTime),
  suspendedAt: optional(isTime),
  succeeded: areIndexes,
  failedIndexes: areIndexes,
  failed: isCount(),
  failuresInRow: isCount(),
  lastFailedAt: optional(isTime),
  slots: areSlots,
  stopping: isListOf(isText),
  outcome: optional(
    isShape<JobOutcome>({ result: isOneOf('Complete', 'Failed'), reason: isText, message: isText, decidedAt: isTime }),
  ),
  finishedAt: optional(isTime),
});

export function newJobRecord(job: DeclaredJob): JobRecord {
  return {
    uid: job.template.metadata.uid,
    content: contentOf(job),
    declaredUID: job.template.metadata.uid,
    names: job.rules.isIndexed ? 'indexed' : 'many',
    succeeded: [],
    failedIndexes: [],
    failed: 0,
    failuresInRow: 0,
    slots: {},
    stopping: [],
  };
}

/**
 * Returns the record if it is that of this Job: of the same manifest, or of the same template from another place.
 * Returns undefined if the Job begins anew.
 */
export function recordOfSame(job: DeclaredJob, record: JobRecord | undefined): JobRecord | undefined {
  if (record === undefined || (record.names === 'indexed') !== job.rules.isIndexed) return undefined;
  const { uid } = job.template.metadata;
  const content = contentOf(job);
  if (record.declaredUID !== uid && record.content !== content) return undefined;
  return { ...record, declaredUID: uid, content };
}

/** Names the template wherever it is declared, and whatever the name of the node is. */
function contentOf({ name, template }: DeclaredJob): string {
  return revisionName({ ...template, metadata: { ...template.metadata, name }, spec: withoutNode(template.spec) });
}

const withoutNode = ({ nodeName: _nodeName, ...spec }: Pod['spec']): Pod['spec'] => spec;

/** Returns the Job with the UIDs of the pods that it began with. */
export function withPodsOf(record: JobRecord, job: DeclaredJob): DeclaredJob {
  const { template } = job;
  if (record.uid === template.metadata.uid) return job;
  return { ...job, template: { ...template, metadata: { ...template.metadata, uid: record.uid } } };
}

/** Returns how many pods succeeded. Without those of indexes that a Job no longer has. */
export function countSucceeded({ rules }: DeclaredJob, { succeeded }: JobRecord): number {
  return rules.isIndexed ? countIndexes(succeeded, rules.completions) : countIndexes(succeeded);
}
