import type { Pod } from '../../api/types.ts';
import { declaredOrdinals, replicaPod } from '../../api/values/replica-pod.ts';
import type { ReplicatedWorkload } from '../../api/values/workload.ts';
import { podUIDHash } from '../config/load-manifest.ts';
import { effectiveWorkload } from './effective-workload.ts';
import type { WorkloadRecord } from './records/workload-record.ts';

interface Effective {
  record: WorkloadRecord;
  workload: ReplicatedWorkload;
}

/** The pods of workloads. An unchanged pod stays the same object, which is how the sources know that it is. */
export class ReplicaPods {
  private readonly effective = new WeakMap<ReplicatedWorkload, Effective>();
  private readonly pods = new WeakMap<ReplicatedWorkload, Map<number, Pod>>();

  /** Returns the workload with what operators requested. */
  effectiveOf(declared: ReplicatedWorkload, record: WorkloadRecord): ReplicatedWorkload {
    const known = this.effective.get(declared);
    if (known?.record === record) return known.workload;
    const workload = effectiveWorkload(declared, record);
    this.effective.set(declared, { record, workload });
    return workload;
  }

  podAt(workload: ReplicatedWorkload, ordinal: number): Pod {
    const pods = this.pods.get(workload) ?? new Map<number, Pod>();
    this.pods.set(workload, pods);
    const pod = pods.get(ordinal) ?? replicaPod(workload, ordinal, podUIDHash);
    pods.set(ordinal, pod);
    return pod;
  }

  declaredPods(workload: ReplicatedWorkload): Pod[] {
    return declaredOrdinals(workload).map((ordinal) => this.podAt(workload, ordinal));
  }
}
