import type { Pod } from '../../../src/api/types.ts';
import { computeShutdownGroups, type ShutdownSettings } from '../../../src/engine/lifecycle/node-shutdown-groups.ts';
import { tableAdapter } from '../table-adapter.ts';

export const nodeShutdownGroups = tableAdapter<ShutdownSettings & { pods: Pod[] }>(
  'node-shutdown-groups',
  ({ pods, ...settings }) => ({
    groups: computeShutdownGroups(pods, settings).map((group) => ({
      ...group,
      pods: group.pods.map(({ metadata }) => metadata.uid),
    })),
  }),
);
