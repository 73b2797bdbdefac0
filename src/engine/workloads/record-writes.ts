import { type WorkloadName, workloadKey } from '../../api/values/workload.ts';
import { errorMessage } from '../../errors.ts';
import type { Emit } from '../view/event-bus.ts';
import { reasons } from '../view/reasons.ts';
import type { WorkloadCondition } from '../view/snapshot.ts';
import type { WorkloadEvent } from './workload-decision.ts';
import type { WorkloadRecord } from './records/workload-record.ts';
import type { WorkloadRecords } from './records/workload-records.ts';

interface Deps {
  records: Pick<WorkloadRecords, 'ask'>;
  emit: Emit;
  /** Called after each record that was written. */
  onWritten: () => void;
}

/** Writes the records that decisions need, at most one per workload at a time. The caller retries failed writes. */
export class RecordWrites {
  private readonly pending = new Set<string>();
  /** Errors of the last writes, by the keys of their workloads. */
  private readonly failures = new Map<string, string>();

  constructor(private readonly deps: Deps) {}

  isPending(workload: WorkloadName): boolean {
    return this.pending.has(workloadKey(workload));
  }

  /** True while a record is being written or the last write of it failed. */
  isWaiting(workload: WorkloadName): boolean {
    return this.isPending(workload) || this.failures.has(workloadKey(workload));
  }

  /** True if the last write of any record failed. */
  get areFailing(): boolean {
    return this.failures.size > 0;
  }

  /** Returns a condition if the record of a workload cannot be written. */
  conditionsOf(workload: WorkloadName): WorkloadCondition[] {
    const error = this.failures.get(workloadKey(workload));
    if (error === undefined) return [];
    return [
      { type: 'ReplicaFailure', status: 'True', reason: reasons.recordNotWritten, message: failureMessage(error) },
    ];
  }

  /** Writes a record, then emits the events. Does nothing while another write of this record is pending. */
  write(
    workload: WorkloadName,
    change: (record: WorkloadRecord) => WorkloadRecord,
    events: readonly WorkloadEvent[] = [],
  ): void {
    const key = workloadKey(workload);
    if (this.pending.has(key)) return;
    this.pending.add(key);
    const { emit, onWritten, records } = this.deps;
    const { kind, namespace, name } = workload;
    records.ask(workload, change).then(
      () => {
        this.pending.delete(key);
        this.failures.delete(key);
        for (const event of events) emit({ type: 'Recorded', ...event, object: { kind, namespace, name } });
        onWritten();
      },
      (error: unknown) => {
        this.pending.delete(key);
        this.fail(workload, errorMessage(error));
      },
    );
  }

  /** Drops the failure of a workload that is no longer declared. */
  drop(workload: WorkloadName): void {
    this.failures.delete(workloadKey(workload));
  }

  /** Emits an event for the first of several failures. */
  private fail({ kind, namespace, name }: WorkloadName, error: string): void {
    const object = { kind, namespace, name };
    const key = workloadKey(object);
    const isNew = !this.failures.has(key);
    this.failures.set(key, error);
    if (!isNew) return;
    const message = `${kind} ${namespace}/${name}: ${failureMessage(error)}`;
    this.deps.emit({ type: 'Recorded', eventType: 'Warning', reason: reasons.recordNotWritten, message, object });
  }
}

const failureMessage = (error: string): string => `its record cannot be written, trying again: ${error}`;
