import type { Emit } from '../view/event-bus.ts';
import { reasons } from '../view/reasons.ts';
import type { CgroupRefusal } from './cgroup-manager.ts';
import type { CgroupController } from './cgroup-mounts.ts';

/** Consequence of each missing controller, and the user's remedy. */
const meanings: Readonly<Record<CgroupController, string>> = {
  cpu: 'pods share CPU time without regard to their requests',
  memory:
    'pods as a whole have no memory limit; if the kernel lacks the controller, add "cgroup_enable=memory" to its command line',
  pids: 'the processes of a pod are not limited',
  hugetlb: 'huge pages of pods are not limited',
};

/** Reports refused limits once per controller, because the report is the same for all pods. */
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
