import { podQOSClass } from '../../../src/api/values/qos.ts';
import type { Pod } from '../../../src/api/types.ts';
import {
  type CgroupDriver,
  cgroupPath,
  podCgroupName,
  podUIDOfCgroup,
  qosCgroups,
} from '../../../src/engine/container-manager/cgroup-names.ts';
import { tableAdapter } from '../table-adapter.ts';

type In = { driver: CgroupDriver; cgroupRoot: string } & (
  { kind: 'pod'; pod: Pod } | { kind: 'tiers' } | { kind: 'isPod'; path: string }
);

export const cgroupNames = tableAdapter<In>('cgroup-names', (input) => {
  const { driver, cgroupRoot } = input;
  switch (input.kind) {
    case 'pod': {
      const name = podCgroupName(cgroupRoot, podQOSClass(input.pod), input.pod.metadata.uid);
      const path = cgroupPath(name, driver);
      return { name, path, lastComponent: path.slice(path.lastIndexOf('/') + 1) };
    }
    case 'tiers': {
      const tiers = qosCgroups(cgroupRoot);
      return {
        root: cgroupPath(tiers.root, driver),
        guaranteed: cgroupPath(tiers.Guaranteed, driver),
        burstable: cgroupPath(tiers.Burstable, driver),
        bestEffort: cgroupPath(tiers.BestEffort, driver),
        nodeAllocatableRoot: cgroupPath(tiers.root, driver),
        nodeAllocatableRootWithoutQOS: cgroupPath(tiers.root.slice(0, -1), driver),
      };
    }
    case 'isPod': {
      const uid = podUIDOfCgroup(input.path, cgroupRoot, driver);
      return { isPod: uid !== undefined, uid: uid ?? '' };
    }
  }
});
