import type { Emit } from '../view/event-bus.ts';
import { reasons } from '../view/reasons.ts';
import type { CgroupRefusal } from './cgroup-manager.ts';
import type { CgroupController } from './cgroup-mounts.ts';

/** What nobody holds a pod to without the controller, and what may be done about it. */
const meanings: Readonly<Record<CgroupController, string>> = {
  cpu: 'pods get CPU time as they ask for it, not by their requests',
  memory:
    'pods as a whole have no memory limit; where the kernel lacks the controller, "cgroup_enable=memory" on its command line brings it',
  pids: 'the processes of a pod are not limited',
  hugetlb: 'huge pages of pods are not limited',
};

/** Says which limits this machine refuses, once for each controller: every pod would have the same to say. */
export class CgroupRefusalReport {
  private readonly emit: Emit;
  private readonly reported = new Set<CgroupController>();

  constructor(deps: { emit: Emit }) {
    this.emit = deps.emit;
  }

  report(refusals: readonly CgroupRefusal[]): void {
    for (const { controller, path, error } of refusals) {
      if (this.reported.has(controller)) continue;
      this.reported.add(controller);
      this.emit({
        type: 'Recorded',
        eventType: 'Warning',
        reason: reasons.cgroupLimitRefused,
        message: `cgroup controller ${controller}: ${meanings[controller]} (${path}: ${error.message})`,
      });
    }
  }
}
